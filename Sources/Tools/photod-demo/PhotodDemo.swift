import ArgumentParser
import FoundationEssentials
import PhotoFixtures

/// Generates a demo library, or one photograph-like picture for a benchmark.
@main
struct PhotodDemo: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "photod-demo", abstract: "Generate pictures.", subcommands: [Library.self, Photo.self])

  struct Library: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Write a demo library into a folder.")

    @Argument(help: "The folder; it is created if needed.")
    var folder: String

    @Option(help: "Scales the sides of all photographs.") var scale = 1.0

    func validate() throws {
      guard (0.1...4).contains(scale) else { throw ValidationError("--scale must be between 0.1 and 4.") }
    }

    func run() throws {
      for path in try DemoLibrary.write(to: folder, scale: scale) { print(path) }
    }
  }

  struct Photo: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Write one JPEG.")

    @Argument(help: "The file.")
    var path: String

    @Option var width = 4000
    @Option var height = 3000
    @Option var seed = 1
    @Flag var progressive = false
    @Flag(help: "Add a thumbnail of 160x120 to the EXIF block, as cameras do.") var thumbnail = false

    func run() throws {
      let scene = Scene(seed: seed, grain: 14).pixels(width: width, height: height)
      let file = JPEGFile { file in
        file.isProgressive = progressive
        if thumbnail { file.exif = EXIFBlock { $0.thumbnail = DemoLibrary.thumbnail(of: scene) } }
      }
      let bytes = file.encoded(scene)
      try Data(bytes).write(to: URL(filePath: path))
    }
  }
}
