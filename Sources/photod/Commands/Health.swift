import ArgumentParser
import HTTPServer

#if canImport(Glibc)
  import Glibc
#endif

struct Health: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Check whether a running daemon is ready; for container health checks. Exits with 0 if it is.")

  @OptionGroup var common: CommonOptions

  @Option(help: "The daemon's address. Default: the first address in the setting listen.")
  var listen: String?

  func run() async throws {
    let settings = try common.settings(["listen": listen])
    guard let text = settings.listen.first, let address = ListenAddress(text) else {
      throw CommandFailure(description: "no daemon address given; set --listen")
    }
    guard let answer = Self.ask(address) else { throw CommandFailure(description: "no response from \(address.text)") }
    guard answer.hasPrefix("HTTP/1.1 200") else {
      throw CommandFailure(description: "not ready: \(answer.split(separator: "\r\n").last ?? "")")
    }
    print("ready")
  }

  /// Sends one request on a new connection. Returns the whole response, or `nil` if there is none within five seconds.
  private static func ask(_ address: ListenAddress) -> String? {
    guard let descriptor = address.connect(timeoutSeconds: 5) else { return nil }
    defer { close(descriptor) }
    let request = Array("GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8)
    guard send(descriptor, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else { return nil }
    var answer: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = recv(descriptor, &chunk, chunk.count, 0)
      guard count > 0 else { break }
      answer += chunk[..<count]
    }
    return answer.isEmpty ? nil : String(decoding: answer, as: UTF8.self)
  }
}
