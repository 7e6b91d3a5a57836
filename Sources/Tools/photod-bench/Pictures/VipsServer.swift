import Foundation

/// Warm libvips behind HTTP, one picture at a time in one thread, as in an image proxy.
final class VipsServer: ImageServer {
  let width = 1
  let version: String
  private let url: String
  private let indexes: [String: Int]
  private let process: ServerProcess

  var identifier: Int32 { process.identifier }

  /// The path in the checkout, where `scripts/bench` runs.
  private static let program = "scripts/bench.d/vips-server.py"

  /// - Parameter python: an interpreter with pyvips.
  init(python: String, photographs: [Photograph]) throws {
    process = try ServerProcess(
      [python, Self.program, "\(CodecFloor.quality)"] + photographs.map(\.path), environment: ["VIPS_CONCURRENCY": "1"],
      printsWhenReady: true, showsErrors: true)
    let words = process.firstLine.split(separator: " ")
    guard words.count == 2 else { throw BenchError(description: "\(python) has no pyvips") }
    url = "http://127.0.0.1:\(words[0])"
    version = words[1].trimmingCharacters(in: .whitespacesAndNewlines)
    indexes = Dictionary(uniqueKeysWithValues: photographs.enumerated().map { ($1.name, $0) })
  }

  func url(of benchPicture: BenchPicture) throws -> String {
    guard let index = indexes[benchPicture.photograph.name] else {
      throw BenchError(description: "\(benchPicture.photograph.name) is unknown to the server")
    }
    let target = benchPicture.target
    return "\(url)/\(index)/\(target.size.width)/\(target.size.height)/\(target.mode)/\(benchPicture.format)"
  }
}

/// The installed `vipsthumbnail`: a process for each picture, with its default number of threads.
enum Vipsthumbnail {
  static func command(_ benchPicture: BenchPicture, to output: String) -> Command {
    let target = benchPicture.target
    let options = output.hasSuffix(".png") ? "[strip]" : "[Q=\(CodecFloor.quality),strip]"
    return Command(
      ["vipsthumbnail", benchPicture.photograph.path, "-s", "\(target.size.description)>", "-o", output + options]
        + (target.mode == "aspectFill" ? ["--smartcrop", "centre"] : []))
  }

  static func contestant(_ benchPicture: BenchPicture, folder: String) -> Contestant {
    Contestant { pictures in
      try (0..<pictures).reduce(0) { sum, _ in
        try sum + command(benchPicture, to: "\(folder)/vips.\(benchPicture.format)").run()
      }
    }
  }
}
