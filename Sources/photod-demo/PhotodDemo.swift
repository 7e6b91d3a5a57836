import ArgumentParser
import FoundationEssentials
import PhotoFixtures

/// Makes a demo library, or one photograph-like picture for a benchmark.
@main
struct PhotodDemo: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "photod-demo", abstract: "Make pictures from nothing.", subcommands: [Library.self, Photo.self])

  struct Library: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Write a demo library into a folder.")

    @Argument(help: "The folder; it is made.")
    var folder: String

    func run() throws {
      for path in try DemoLibrary.write(to: folder) { print(path) }
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

    func run() throws {
      let scene = Scene(seed: seed, grain: 14).pixels(width: width, height: height)
      let bytes = JPEGFile { $0.isProgressive = progressive }.encoded(scene)
      try Data(bytes).write(to: URL(filePath: path))
    }
  }
}
