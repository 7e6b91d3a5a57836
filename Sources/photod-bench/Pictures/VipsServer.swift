import Foundation

/// Warm libvips behind HTTP, one picture at a time in one thread: what an image proxy does for each request.
final class VipsServer: ImageServer {
  let width = 1
  let version: String
  private let url: String
  private let indexes: [String: Int]
  private let process = Process()

  var identifier: Int32 { process.processIdentifier }

  /// From the checkout, where `scripts/bench` runs.
  private static let program = "scripts/bench.d/vips-server.py"

  /// - Parameter python: an interpreter with pyvips.
  init(python: String, photographs: [Photograph]) throws {
    process.executableURL = URL(filePath: python)
    process.arguments = [Self.program, "\(Limit.quality)"] + photographs.map(\.path)
    process.environment = ProcessInfo.processInfo.environment.merging(
      ["VIPS_CONCURRENCY": "1"]) { _, new in new }
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    var line = Data()
    while line.last != 0x0A, case let more = output.fileHandleForReading.availableData, !more.isEmpty { line += more }
    let words = String(decoding: line, as: UTF8.self).split(separator: " ")
    guard words.count == 2 else { throw BenchError(description: "\(python) has no pyvips") }
    url = "http://127.0.0.1:\(words[0])"
    version = words[1].trimmingCharacters(in: .whitespacesAndNewlines)
    indexes = Dictionary(uniqueKeysWithValues: photographs.enumerated().map { ($1.name, $0) })
  }

  deinit {
    process.terminate()
    process.waitUntilExit()
  }

  func url(of rendition: Rendition) throws -> String {
    guard let index = indexes[rendition.photograph.name] else {
      throw BenchError(description: "\(rendition.photograph.name) was not announced")
    }
    let target = rendition.target
    return "\(url)/\(index)/\(target.size.width)/\(target.size.height)/\(target.mode)/\(rendition.format)"
  }
}

/// `vipsthumbnail` as it is installed: a process a picture, with as many threads as it likes.
enum Vipsthumbnail {
  static func command(_ rendition: Rendition, to output: String) -> Command {
    let target = rendition.target
    let options = output.hasSuffix(".png") ? "[strip]" : "[Q=\(Limit.quality),strip]"
    return Command(
      ["vipsthumbnail", rendition.photograph.path, "-s", "\(target.size.description)>", "-o", output + options]
        + (target.mode == "aspectFill" ? ["--smartcrop", "centre"] : []))
  }

  static func contestant(_ rendition: Rendition, folder: String) -> Contestant {
    Contestant { pictures in
      try (0..<pictures).reduce(0) { sum, _ in
        try sum + command(rendition, to: "\(folder)/vips.\(rendition.format)").run()
      }
    }
  }
}
