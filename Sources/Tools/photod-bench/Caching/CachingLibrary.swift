import Foundation
import PhotoFixtures

/// Ten thousand photographs of 12 megapixels: a few dozen pictures, each written many times with a different comment,
/// so that every asset has its own file, content version and decode. Kept between runs.
struct CachingLibrary {
  private static let pictures = 24
  private static let (width, height) = (4000, 3000)

  let path: String
  /// Sorted like the names in the catalogue.
  let names: [String]
  let bytes: Int

  init(_ count: Int, in folder: String) throws {
    path = folder + "/library-\(count)"
    names = (0..<count).map { String(format: "%03d/p%06d.jpg", $0 / 1000, $0) }
    let manager = FileManager.default
    let sizes = path + ".bytes"
    if let known = manager.contents(atPath: sizes), let size = Int(String(decoding: known, as: UTF8.self)) {
      bytes = size
      return
    }
    let originals = (0..<Self.pictures).map { seed in
      let pixels = Scene(seed: seed, grain: 5).pixels(width: Self.width, height: Self.height)
      return JPEGFile {
        $0.quality = 80
        $0.exif = EXIFBlock { $0.thumbnail = DemoLibrary.thumbnail(of: pixels) }
      }.encoded(pixels)
    }
    var total = 0
    for (index, name) in names.enumerated() {
      if index % 1000 == 0 {
        try manager.createDirectory(
          atPath: "\(path)/\((name as NSString).deletingLastPathComponent)", withIntermediateDirectories: true)
      }
      let file = Self.file(originals[index % originals.count], comment: name)
      total += file.count
      try Data(file).write(to: URL(filePath: "\(path)/\(name)"))
    }
    bytes = total
    try Data("\(total)".utf8).write(to: URL(filePath: sizes))
  }

  /// Inserts a comment after the last metadata segment, before the first quantization table (T.81 §B.2.4.5).
  private static func file(_ original: [UInt8], comment: String) -> [UInt8] {
    var place = 2
    while original[place + 1] != 0xDB { place += 2 + Int(original[place + 2]) << 8 + Int(original[place + 3]) }
    let text = Array(comment.utf8)
    let segment: [UInt8] =
      [0xFF, 0xFE, UInt8((text.count + 2) >> 8), UInt8((text.count + 2) & 255)] + text
    return Array(original[..<place]) + segment + original[place...]
  }
}
