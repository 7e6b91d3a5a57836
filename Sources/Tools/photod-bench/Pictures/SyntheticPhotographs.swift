import Foundation
import PhotoFixtures

/// Generated photographs of all kinds that differ in cost, with as many bytes per pixel as a camera's.
enum SyntheticPhotographs {
  /// Writes the set into a folder, unless it exists.
  static func write(to folder: String) throws {
    let mark = folder + "/complete"
    if FileManager.default.fileExists(atPath: mark) { return }
    FileHandle.standardError.write(Data("making photographs in \(folder), once; this takes a minute or two\n".utf8))
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    func save(_ name: String, _ bytes: [UInt8]) throws {
      try Data(bytes).write(to: URL(filePath: folder + "/" + name), options: .atomic)
    }
    // One landscape is enough. Larger ones consist of it and its mirror images; enlarging it would make them faster to
    // decode.
    let scene = Scene(seed: 5, grain: 26).pixels(width: 4000, height: 3000)
    func part(_ width: Int, _ height: Int) -> Pixels {
      func mirrored(_ i: Int, _ side: Int) -> Int { i / side % 2 == 0 ? i % side : side - 1 - i % side }
      return scene.mapped(width: width, height: height) { (mirrored($0, scene.width), mirrored($1, scene.height)) }
    }
    let baseline = JPEGFile { _ in }
    try save("a02mp-420.jpg", baseline.encoded(part(1920, 1200)))
    try save("b04mp-444.jpg", JPEGFile { $0.sampling = (1, 1) }.encoded(part(2560, 1600)))
    try save(
      "c08mp-prog422.jpg",
      JPEGFile {
        $0.sampling = (2, 1)
        $0.isProgressive = true
      }.encoded(part(3840, 2160)))
    try save("d08mp-420.jpg", baseline.encoded(part(3264, 2448)))
    try save("e12mp-420.jpg", baseline.encoded(scene))
    try save("f12mp-prog420.jpg", JPEGFile { $0.isProgressive = true }.encoded(scene))
    let turned = JPEGFile { file in
      file.exif = EXIFBlock { exif in
        exif.orientation = 6
        exif.thumbnail = DemoLibrary.thumbnail(of: scene)
      }
    }
    try save("g12mp-o6-thumb.jpg", turned.encoded(scene))
    try save("h24mp-420.jpg", baseline.encoded(part(6000, 4000)))
    try save("i36mp-6019.jpg", baseline.encoded(part(6019, 6019)))
    try save("j48mp-420.jpg", baseline.encoded(part(8064, 6048)))
    try save("p08mp-rgb.png", PNGFile(.rgb(depth: 8)).encoded(part(3840, 2160)))
    try save("q15mp-rgba.png", PNGFile(.rgba(depth: 8)).encoded(withAlpha(part(5120, 2880))))
    try save("r02mp-palette.png", PNGFile(.palette(depth: 8)).encoded(part(1918, 1078)))
    try save("s02mp-rgb16.png", PNGFile(.rgb(depth: 16)).encoded(part(1918, 1078)))
    try Data().write(to: URL(filePath: mark))
  }

  /// Makes the left and right edges transparent.
  private static func withAlpha(_ pixels: Pixels) -> Pixels {
    var out = Pixels(width: pixels.width, height: pixels.height, channels: 4)
    for y in 0..<pixels.height {
      for x in 0..<pixels.width {
        let (from, to) = ((y * pixels.width + x) * 3, (y * pixels.width + x) * 4)
        for c in 0..<3 { out.bytes[to + c] = pixels.bytes[from + c] }
        out.bytes[to + 3] = UInt8(min(255, min(x, pixels.width - 1 - x) / 2))
      }
    }
    return out
  }
}
