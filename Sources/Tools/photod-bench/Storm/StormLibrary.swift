import Foundation
import PhotoFixtures

/// The library of a storm: ordinary photographs, and expensive ones.
struct StormLibrary {
  /// File names of ordinary and of expensive photographs.
  let ordinary, giants: [String]

  private static let hundredMegapixels = (width: 12_288, height: 8192)

  /// Assembles a library in a folder, which is created.
  ///
  /// - Parameter photographs: a folder of ordinary photographs.
  init(photographs: String, in folder: String) throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    ordinary = try FileManager.default.contentsOfDirectory(atPath: photographs).sorted().filter {
      ["jpg", "jpeg", "png"].contains(($0 as NSString).pathExtension.lowercased())
    }
    if ordinary.isEmpty { throw BenchError(description: "no photographs in \(photographs)") }
    for name in ordinary { try TemporaryFolder.place(photographs + "/" + name, as: folder + "/" + name) }
    // As many bytes per pixel as a camera's; enlarged with mirror images of the tile.
    let tile = Scene(seed: 8, grain: 26).pixels(width: 2048, height: 1365)
    let (width, height) = Self.hundredMegapixels
    let files: [(name: String, file: JPEGFile, width: Int, height: Int)] = [
      ("giant-100mp.jpg", JPEGFile { _ in }, width, height),
      ("giant-100mp-progressive.jpg", JPEGFile { $0.isProgressive = true }, width, height),
      ("giant-100mp-turned.jpg", JPEGFile { $0.exif = EXIFBlock { $0.orientation = 6 } }, width, height),
      ("giant-6019.jpg", JPEGFile { _ in }, 6019, 6019),
    ]
    for (name, file, width, height) in files {
      file.write(mirroring: tile, width: width, height: height, to: folder + "/" + name)
    }
    // Interlaced: the whole picture must be decoded before its first row can be sent.
    let interlaced = PNGFile(.rgb(depth: 8)) { $0.isInterlaced = true }
    try Data(interlaced.encoded(tile)).write(to: URL(filePath: folder + "/giant-interlaced.png"))
    giants = files.map(\.name) + ["giant-interlaced.png"]
  }
}
