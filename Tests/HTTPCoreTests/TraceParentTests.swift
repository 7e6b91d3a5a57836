import HTTPCore
import Testing

@Suite("The field traceparent")
struct TraceParentTests {
  private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
  private static let parent = "00f067aa0ba902b7"

  private static func parsed(_ fields: [String]) throws -> TraceParent? {
    var parser = RequestParser(limits: ParserLimits())
    let lines = fields.map { "traceparent: \($0)\r\n" }.joined()
    Array("GET / HTTP/1.1\r\nHost: a\r\n\(lines)\r\n".utf8).withUnsafeBytes { parser.append($0) }
    guard case .request(let request) = try parser.next() else { throw ParseError.malformedField }
    return TraceParent(request.head)
  }

  @Test(
    "a valid field names the trace and the caller's span",
    arguments: [
      "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
      "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00",
      "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-ff",
      // Later versions may add members after a hyphen.
      "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
      "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what-the-future-will-be-like",
    ])
  func valid(_ text: String) throws {
    let found = try #require(try Self.parsed([text]))
    #expect(found.traceID == Self.trace && found.parentID == Self.parent)
  }

  @Test("leading zeros of the identifiers are kept")
  func zeros() throws {
    let trace = String(repeating: "0", count: 31) + "1"
    let found = try #require(try Self.parsed(["00-\(trace)-0000000000000001-01"]))
    #expect(found.traceID == trace && found.parentID == "0000000000000001")
  }

  @Test(
    "an invalid field is ignored",
    arguments: [
      "", "00", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
      "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",
      "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x",
      "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01.",
      "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01.more",
      "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
      "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
      "00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01",
      "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
      "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
      "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0g",
      "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
      "0g-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    ])
  func invalid(_ text: String) throws { #expect(try Self.parsed([text]) == nil) }

  @Test("a field that is sent twice, or longer than 256 bytes, is ignored; the request is answered all the same")
  func bounded() throws {
    let valid = "cc-\(Self.trace)-\(Self.parent)-01"
    #expect(try Self.parsed([valid, valid]) == nil)
    #expect(try Self.parsed([valid + "-" + String(repeating: "a", count: 200)]) != nil)
    #expect(try Self.parsed([valid + "-" + String(repeating: "a", count: 201)]) == nil)
  }
}
