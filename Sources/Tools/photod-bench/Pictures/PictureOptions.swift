import ArgumentParser
import Foundation

#if canImport(Glibc)
  import Glibc
#endif

/// The common options of the benchmarks of pictures: photographs and contestants.
struct PictureOptions: ParsableArguments {
  @Option(help: .hidden)
  var photod = ".build/release/photod"

  @Option(help: "A folder of JPEGs and PNGs. Default: a generated set, kept between runs.")
  var photos: String?

  @Option(help: "Only photographs whose names contain this. Repeatable.")
  var only: [String] = []

  @Option(help: "A Python with pyvips: adds libvips as a warm server to measurements of CPU and memory.")
  var vipsPython: String?

  /// The folder of the generated set between runs, below the checkout.
  private static let generatedFolder = ".build/bench-photographs"

  /// The named folder, or one with the generated set.
  static func folder(_ named: String?) throws -> String {
    if let named { return named }
    try SyntheticPhotographs.write(to: generatedFolder)
    return generatedFolder
  }

  /// Runs `work` with a temporary folder, which is removed afterwards.
  func withWorkFolder(_ work: (BenchWorkspace) throws -> Void) throws {
    // Silences libvips's warnings about unusual EXIF.
    setenv("VIPS_WARNING", "1", 1)
    let photographs = try Self.folder(photos)
    try TemporaryFolder.with { folder in
      try work(BenchWorkspace(options: self, folder: folder, photographsFolder: photographs))
    }
  }
}

/// The photographs of one run, and its folder for files.
struct BenchWorkspace {
  let folder: String
  let photographsFolder: String
  let photod: PhotodCommand
  /// Sorted by name.
  let photographs: [Photograph]
  private let vipsPython: String?

  fileprivate init(options: PictureOptions, folder: String, photographsFolder: String) throws {
    self.folder = folder
    self.photographsFolder = photographsFolder
    vipsPython = options.vipsPython
    let photod = PhotodCommand(binary: options.photod, folder: folder)
    self.photod = photod
    let names = try FileManager.default.contentsOfDirectory(atPath: photographsFolder).sorted().filter { name in
      ["jpg", "jpeg", "png"].contains((name as NSString).pathExtension.lowercased())
        && (options.only.isEmpty || options.only.contains { name.contains($0) })
    }
    photographs = try names.map { try Photograph(path: photographsFolder + "/" + $0, photod: photod) }
    if photographs.isEmpty { throw BenchError(description: "no photographs in \(photographsFolder)") }
  }

  /// The photograph with the fewest pixels.
  var smallest: Photograph {
    photographs.min { $0.storedSize.width * $0.storedSize.height < $1.storedSize.width * $1.storedSize.height }
      ?? photographs[0]
  }

  /// - Parameter data: the data folder of another daemon; `nil` creates one.
  func photodServer(data: String? = nil) throws -> PhotodServer {
    try PhotodServer(binary: photod.binary, photographs: photographsFolder, workFolder: folder, data: data)
  }

  /// `nil` if no Python was named.
  func vipsServer() throws -> VipsServer? {
    try vipsPython.map { try VipsServer(python: $0, photographs: photographs) }
  }

  /// Prints the first lines of a benchmark with libvips as a server.
  func printTitle(_ title: String, vips: VipsServer?) throws {
    try printTitle(title, extra: vips.map { ", warm libvips \($0.version) over HTTP" })
    if vips == nil { print("No warm libvips: --vips-python names a Python that has pyvips.\n") }
  }

  /// Prints the first lines of a benchmark: what is measured, and on which machine.
  func printTitle(_ title: String, extra: String? = nil) throws {
    print("\(title)\n\n\(try Machine.line())\(extra ?? "")\n")
  }
}
