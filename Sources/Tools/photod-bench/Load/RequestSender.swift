/// One request, and the connection that it is made on.
struct RequestSender {
  private let client: HTTPClient
  private let request: [UInt8]

  /// - Parameter header: more lines of the head.
  init(_ url: String, header: String = "") throws {
    let (port, target) = try LoadGenerator.parts(of: url)
    client = HTTPClient(port: port)
    request = HTTPClient.request(target, header: header)
  }

  /// Throws where the answer is no success.
  func ask() throws -> BenchResponse { try Self.checked(client.ask(request)) }

  /// Asks for each in turn, on one connection to the first one's server.
  static func ask(_ urls: [String]) throws -> [BenchResponse] {
    let parts = try urls.map { try LoadGenerator.parts(of: $0) }
    guard let port = parts.first?.port else { return [] }
    let client = HTTPClient(port: port)
    return try parts.map { try checked(client.ask(HTTPClient.request($0.target))) }
  }

  private static func checked(_ answer: BenchResponse) throws -> BenchResponse {
    guard answer.status == 200, answer.frames.allSatisfy({ !$0.isProblem }) else {
      throw BenchError(description: "answered \(answer.outcome): \(String(decoding: answer.kept, as: UTF8.self))")
    }
    return answer
  }
}
