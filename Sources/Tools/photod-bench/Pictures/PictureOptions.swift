import ArgumentParser
import Foundation

#if canImport(Glibc)
  import Glibc
#endif

/// What the benchmarks of pictures have in common: which photographs, and who is asked.
struct PictureOptions: ParsableArguments {
  @Option(help: .hidden)
  var photod: String

  @Option(help: "A folder of JPEGs and PNGs; else a set of all kinds is made, once.")
  var photos: String?

  @Option(help: "Only photographs whose name has this in it; may be given several times.")
  var only: [String] = []

  @Option(help: "A Python that has pyvips: adds libvips as a warm server, where CPU and memory are measured.")
  var vipsPython: String?

  /// Where the made set is kept between runs, below the checkout.
  private static let madeFolder = ".build/bench-photographs"

  /// The folder that is named, or one with the made set.
  static func folder(_ named: String?) throws -> String {
    if let named { return named }
    try SyntheticPhotographs.write(to: madeFolder)
    return madeFolder
  }

  /// Does `work` with a folder of its own, which is removed.
  func withWorkFolder(_ work: (BenchWorkspace) throws -> Void) throws {
    // libvips has opinions of odd EXIF.
    setenv("VIPS_WARNING", "1", 1)
    let photographs = try Self.folder(photos)
    try TemporaryFolder.with { folder in
      try work(BenchWorkspace(options: self, folder: folder, photographsFolder: photographs))
    }
  }
}

/// The photographs of one run, and where its files go.
struct BenchWorkspace {
  let folder: String
  let photographsFolder: String
  let photod: PhotodCommand
  /// In the order of their names.
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

  /// - Parameter data: the folder that another daemon has left; else one is made.
  func photodServer(data: String? = nil) throws -> PhotodServer {
    try PhotodServer(binary: photod.binary, photographs: photographsFolder, workFolder: folder, data: data)
  }

  /// `nil` where no Python was named.
  func vipsServer() throws -> VipsServer? {
    try vipsPython.map { try VipsServer(python: $0, photographs: photographs) }
  }

  /// The first lines of a benchmark that has libvips as a server.
  func printTitle(_ title: String, vips: VipsServer?) throws {
    try printTitle(title, extra: vips.map { ", warm libvips \($0.version) over HTTP" })
    if vips == nil { print("No warm libvips: --vips-python names a Python that has pyvips.\n") }
  }

  /// The first lines of every benchmark: what is measured, and on which machine.
  func printTitle(_ title: String, extra: String? = nil) throws {
    print("\(title)\n\n\(try Machine.line())\(extra ?? "")\n")
  }
}
