import Foundation

/// Warm libvips behind HTTP, one picture at a time in one thread: what an image proxy does for each request.
final class VipsServer: ImageServer {
  let width = 1
  let version: String
  private let url: String
  private let indexes: [String: Int]
  private let process = Process()

  var identifier: Int32 { process.processIdentifier }

  /// Prints its port and libvips's version. The operation cache is off, as every picture is to be made.
  private static let program = """
    import sys, pyvips
    from http.server import BaseHTTPRequestHandler, HTTPServer
    pyvips.cache_set_max(0)
    class Handler(BaseHTTPRequestHandler):
        protocol_version = 'HTTP/1.1'
        def log_message(self, *arguments): pass
        def do_GET(self):
            _, index, width, height, mode, format = self.path.split('/')
            image = pyvips.Image.thumbnail(sys.argv[1:][int(index)], int(width), height=int(height), size='down',
                                           crop='centre' if mode == 'aspectFill' else 'none')
            body = (image.jpegsave_buffer(Q=\(Limit.quality), strip=True) if format == 'jpeg'
                    else image.pngsave_buffer(strip=True))
            self.send_response(200)
            self.send_header('Content-Length', str(len(body)))
            self.end_headers()
            self.wfile.write(body)
    server = HTTPServer(('127.0.0.1', 0), Handler)
    print(server.server_port, '.'.join(str(pyvips.version(i)) for i in range(3)), flush=True)
    server.serve_forever()
    """

  /// - Parameter python: an interpreter with pyvips.
  init(python: String, photographs: [Photograph]) throws {
    process.executableURL = URL(filePath: python)
    process.arguments = ["-c", Self.program] + photographs.map(\.path)
    process.environment = ProcessInfo.processInfo.environment.merging(
      ["VIPS_CONCURRENCY": "1"]) { _, new in new }
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let words = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self).split(separator: " ")
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
