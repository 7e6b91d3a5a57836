/// A request and its connection.
struct RequestSender {
  private let client: HTTPClient
  private let request: [UInt8]

  /// - Parameter header: additional header lines.
  init(_ url: String, header: String = "") throws {
    let (port, target) = try LoadGenerator.parts(of: url)
    client = HTTPClient(port: port)
    request = HTTPClient.request(target, header: header)
  }

  /// Sends the request. Throws unless the response is a success.
  func perform() throws -> BenchResponse { try Self.checked(client.perform(request)) }

  /// Requests all URLs in turn, on one connection to the server of the first.
  static func perform(_ urls: [String]) throws -> [BenchResponse] {
    let parts = try urls.map { try LoadGenerator.parts(of: $0) }
    guard let port = parts.first?.port else { return [] }
    let client = HTTPClient(port: port)
    return try parts.map { try checked(client.perform(HTTPClient.request($0.target))) }
  }

  private static func checked(_ answer: BenchResponse) throws -> BenchResponse {
    guard answer.status == 200, answer.frames.allSatisfy({ !$0.isProblem }) else {
      throw BenchError(description: "answered \(answer.outcome): \(String(decoding: answer.kept, as: UTF8.self))")
    }
    return answer
  }
}
