import HTTPCore
import Testing

@Suite("Dates")
struct HTTPDateTests {
  @Test(
    "the three date forms of RFC 9110 parse to the same time",
    arguments: ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"])
  func forms(_ text: String) { #expect(HTTPDate.seconds(text) == 784_111_777) }

  @Test(
    "dates are written as IMF-fixdate",
    arguments: [
      (0, "Thu, 01 Jan 1970 00:00:00 GMT"), (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
      (1_709_164_800, "Thu, 29 Feb 2024 00:00:00 GMT"), (-1, "Wed, 31 Dec 1969 23:59:59 GMT"),
    ])
  func written(_ seconds: Int, _ text: String) { #expect(HTTPDate.string(secondsSince1970: Int64(seconds)) == text) }

  @Test("a written date parses to the same time")
  func roundTrip() {
    for seconds in stride(from: Int64(-2_000_000_000), to: 4_000_000_000, by: 12_345_677) {
      #expect(HTTPDate.seconds(HTTPDate.string(secondsSince1970: seconds)) == seconds)
    }
  }

  @Test(
    "malformed dates are rejected",
    arguments: [
      "", "yesterday", "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Abc 1994 08:49:37 GMT",
      "Sun, 06 Nov 9223372036854775807 08:49:37 GMT", "Sun, 06 Nov 199 08:49:37 GMT", "Sun, +6 Nov 1994 08:49:37 GMT",
      "Sun, 06 Nov 1994 -8:49:37 GMT", "Sun, 99999999999999999999 Nov 1994 08:49:37 GMT",
    ])
  func nonsense(_ text: String) { #expect(HTTPDate.seconds(text) == nil) }
}

@Suite("Accept")
struct AcceptTests {
  @Test(
    "the most specific media range determines the quality",
    arguments: [
      (nil, 1000), ("*/*", 1000), ("image/*;q=0.5, */*;q=0.1", 500), ("image/jpeg;q=0, image/*", 0),
      ("text/html", 0), ("image/jpeg ; q=0.25 , */*", 250), ("IMAGE/JPEG", 1000), ("image/jpeg;q=2", 0), ("", 1000),
      (" , ", 1000), ("*/*;q=.2", 200), ("text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2", 1000),
      ("text/html, image/gif, *; q=.2, */*; q=.2", 200), ("*;q=0.25", 250), ("image/jpeg;q=0.12345", 123),
      ("image/jpeg;q=1.0000", 1000), ("image/jpeg;q=0.0009", 0), ("image/jpeg;q=.", 0),
      ("image/jpeg;q=1.001", 0), ("image/jpeg;q=0.1x", 0), ("image/jpeg;q=-0.5", 0), ("*/jpeg", 1000), ("jpeg", 0),
    ] as [(String?, Int)])
  func quality(_ field: String?, _ expected: Int) { #expect(Accept(field).quality(of: "image/jpeg") == expected) }
}

@Suite("Text of field values")
struct FieldTextTests {
  @Test(
    "a value is UTF-8, or else ISO 8859-1",
    arguments: [
      ([0x61, 0x20, 0xC3, 0xA9], "a \u{E9}"), ([0x61, 0x20, 0xE9], "a \u{E9}"), ([0xFF, 0x61], "\u{FF}a"),
      ([0xF0, 0x9F, 0x98, 0x80], "\u{1F600}"),
    ] as [([UInt8], String)])
  func decoded(_ value: [UInt8], _ text: String) throws {
    var parser = RequestParser(limits: ParserLimits())
    let bytes = Array("GET / HTTP/1.1\r\nHost: a\r\nContent-Disposition: ".utf8) + value + Array("\r\n\r\n".utf8)
    bytes.withUnsafeBytes { parser.append($0) }
    guard case .request(let request) = try parser.next() else { throw ParseError.malformedField }
    #expect(request.head.value(of: .contentDisposition) == text)
    #expect(request.head.values(of: .contentDisposition) == [text])
  }
}

@Suite("Content-Disposition")
struct ContentDispositionTests {
  @Test(
    "a name keeps its letters, and nothing that leads elsewhere or looks like another name",
    arguments: [
      ("a b.jpg", "filename=\"a b.jpg\""), ("../a.jpg", "filename=\".._a.jpg\""), ("..", "filename=\"download\""),
      ("\u{E9}.jpg", "filename=\"_.jpg\"; filename*=UTF-8''%C3%A9.jpg"),
      ("a\u{202E}gpj.exe", "filename=\"a_gpj.exe\""), ("a\u{200D}b.jpg", "filename=\"a_b.jpg\""),
      ("\u{6CC}\u{200C}\u{62E}.jpg", "filename=\"___.jpg\"; filename*=UTF-8''%DB%8C%E2%80%8C%D8%AE.jpg"),
    ])
  func table(_ name: String, _ expected: String) {
    #expect(ContentDisposition.value(.inline, name: name) == "inline; " + expected)
  }
}

@Suite("Preconditions")
struct PreconditionTests {
  private static let tag = "\"abc\""
  private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"

  @Test(
    "preconditions are evaluated in the order of RFC 9110",
    arguments: [
      ("", PreconditionOutcome.proceed), ("If-None-Match: \"abc\"", .notModified),
      ("If-None-Match: W/\"abc\"", .notModified),
      ("If-None-Match: \"x\", \"abc\"", .notModified), ("If-None-Match: *", .notModified),
      ("If-None-Match: \"x\"", .proceed),
      ("If-Match: \"abc\"", .proceed), ("If-Match: W/\"abc\"", .failed), ("If-Match: \"x\"", .failed),
      ("If-Match: *", .proceed),
      ("If-Modified-Since: \(date)", .notModified), ("If-Modified-Since: Sun, 06 Nov 1994 08:49:36 GMT", .proceed),
      ("If-None-Match: \"x\"\r\nIf-Modified-Since: \(date)", .proceed), ("If-Unmodified-Since: \(date)", .proceed),
      ("If-Unmodified-Since: Sun, 06 Nov 1994 08:49:36 GMT", .failed), ("If-Modified-Since: nonsense", .proceed),
    ])
  func table(_ fields: String, _ expected: PreconditionOutcome) throws {
    var parser = RequestParser(limits: ParserLimits())
    let message = "GET / HTTP/1.1\r\nHost: a\r\n" + (fields.isEmpty ? "" : fields + "\r\n") + "\r\n"
    Array(message.utf8).withUnsafeBytes { parser.append($0) }
    guard case .request(let request) = try parser.next() else {
      Issue.record("no request")
      return
    }
    let validators = Validators(entityTag: Self.tag, lastModified: 784_111_777)
    #expect(Preconditions.evaluate(request.head, validators) == expected)
  }
}

@Suite("The memory of a body")
struct BodyMemoryTests {
  @Test("bytes that are sent in segments count as a whole, and their largest segment as far as it may wait")
  func segments() {
    var memory = BodyMemory()
    memory.add(10)
    memory.add(1000, inSegmentsOf: 64)
    #expect(memory == BodyMemory(totalBytes: 1010, largestBytes: 64))
    memory.add(5, inSegmentsOf: 64)
    memory.add(100)
    #expect(memory == BodyMemory(totalBytes: 1115, largestBytes: 100))
  }
}
