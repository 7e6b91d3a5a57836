import StoreFixtures
import Testing

@testable import ObjectStores

/// What a store's failures become. Each server speaks as its case says; the clock jumps over all delays.
@Suite struct MisbehavingStoreTests {
  typealias Step = ScriptedServer.Step
  typealias Request = ScriptedServer.Request

  private static let bytes = pattern(200_000)
  private static let tag = "\"v1\""
  private static let identity = ObjectIdentity(size: 200_000, version: .entityTag(tag))
  private static let whole = ObjectRange(offset: 0, length: 200_000)

  private struct Outcome {
    let result: Result<[UInt8], ObjectStoreError>
    let requests: [Request]
    let delays: [Duration]
  }

  /// The default limits, except that the breaker stays closed.
  private static var limits: RemoteLimits {
    var limits = RemoteLimits()
    limits.breaker.failures = 100
    return limits
  }

  private static func origin(
    _ server: ScriptedServer, _ clock: JumpingClock, rules: TransferRules = .loopback, limits: RemoteLimits = limits
  ) throws -> HTTPObjectStore {
    try required(HTTPObjectStore(address: server.address, rules: rules, limits: limits, clock: clock.clock))
  }

  private static func read(
    _ range: ObjectRange = whole, limits: RemoteLimits = limits,
    _ answer: @escaping @Sendable (Request, Int) -> [Step]
  ) throws -> Outcome {
    let server = ScriptedServer(answer: answer)
    defer { server.stop() }
    let clock = JumpingClock()
    let store = try origin(server, clock, limits: limits)
    let result = Result { () throws(ObjectStoreError) in try store.waitForBytes("a.jpg", range, of: identity) }
    return Outcome(result: result, requests: server.requests, delays: clock.delays)
  }

  /// What an honest server answers to a request.
  private static func honest(_ request: Request) -> Step {
    guard let range = request.fields["range"] else {
      return .head(200, ["ETag": tag, "Content-Length": "200000"], bytes)
    }
    let ends = range.dropFirst(6).split(separator: "-").compactMap { Int($0) }
    let fields = [
      "ETag": tag, "Content-Range": "bytes \(ends[0])-\(ends[1])/200000", "Content-Length": "\(ends[1] - ends[0] + 1)",
    ]
    return .head(206, fields, Array(bytes[ends[0]...ends[1]]))
  }

  struct Case: Sendable, CustomTestStringConvertible {
    let name: String
    let error: ObjectStoreError
    let requests: Int
    var range = MisbehavingStoreTests.whole
    let steps: [Step]
    var testDescription: String { name }
  }

  static let cases: [Case] = [
    Case(name: "gone", error: .notFound, requests: 1, steps: [.answer(404)]),
    Case(name: "replaced", error: .changed, requests: 1, steps: [.answer(412)]),
    Case(name: "shorter than the range", error: .changed, requests: 1, steps: [.answer(416)]),
    Case(name: "not for this key", error: .accessDenied(.forbidden), requests: 1, steps: [.answer(403)]),
    Case(name: "asks for a login", error: .accessDenied(.forbidden), requests: 1, steps: [.answer(401)]),
    Case(
      name: "redirects elsewhere", error: .redirected(status: 302), requests: 1,
      steps: [.answer(302, ["Location": "http://169.254.169.254/latest/meta-data"])]),
    Case(name: "always busy", error: .slowDown, requests: 4, steps: [.answer(503)]),
    Case(name: "always failing", error: .failed(status: 500), requests: 4, steps: [.answer(500)]),
    Case(name: "a teapot", error: .malformed(.unexpectedStatus(418)), requests: 1, steps: [.answer(418)]),
    Case(
      name: "a page of HTML", error: .malformed(.noEntityTag), requests: 1,
      steps: [.answer(200, ["Content-Type": "text/html"], "<html>Please log in</html>")]),
    Case(
      name: "a page of HTML with an entity tag", error: .changed, requests: 1,
      steps: [.answer(200, ["Content-Type": "text/html", "ETag": "\"page\""], "<html>Please log in</html>")]),
    Case(
      name: "another version that ignores If-Match", error: .changed, requests: 1,
      steps: [.answer(200, ["ETag": "\"v2\""], bytes)]),
    Case(
      name: "another length under the same entity tag", error: .changed, requests: 1,
      steps: [.answer(200, ["ETag": tag], Array(bytes.dropLast()))]),
    Case(
      name: "the whole for a range", error: .malformed(.wrongRange), requests: 1,
      range: ObjectRange(offset: 10, length: 10), steps: [.answer(200, ["ETag": tag], bytes)]),
    Case(
      name: "another range", error: .malformed(.wrongRange), requests: 1, range: ObjectRange(offset: 10, length: 10),
      steps: [.answer(206, ["ETag": tag, "Content-Range": "bytes 0-9/200000"], Array(bytes[..<10]))]),
    Case(
      name: "a range of another size", error: .changed, requests: 1, range: ObjectRange(offset: 10, length: 10),
      steps: [.answer(206, ["ETag": tag, "Content-Range": "bytes 10-19/100"], Array(bytes[10..<20]))]),
    Case(
      name: "a range with a length of its own", error: .malformed(.wrongLength), requests: 4,
      range: ObjectRange(offset: 10, length: 10),
      steps: [
        .head(206, ["ETag": tag, "Content-Range": "bytes 10-19/200000", "Content-Length": "9"], Array(bytes[10..<19]))
      ]),
    Case(
      name: "more bytes than asked for", error: .malformed(.wrongRange), requests: 1,
      steps: [
        .head(
          200, ["ETag": tag, "Transfer-Encoding": "chunked"],
          Array("30D41\r\n".utf8) + bytes + [0] + Array("\r\n0\r\n\r\n".utf8)),
        .close,
      ]),
    Case(
      name: "no HTTP", error: .malformed(.protocolError), requests: 4,
      steps: [.send(Array("SSH-2.0-x\r\n".utf8)), .close]),
    Case(name: "closes at once", error: .unreachable(.interrupted), requests: 4, steps: [.close]),
    Case(
      name: "fields without end", error: .limitExceeded(.headerBytes), requests: 1,
      steps: [
        .head(200, Dictionary(uniqueKeysWithValues: (0..<900).map { ("X-\($0)", String(repeating: "a", count: 90)) }))
      ]),
  ]

  @Test(arguments: cases) func `A read from a bad store fails, after as many requests as make sense`(_ test: Case)
    throws
  {
    let outcome = try Self.read(test.range) { _, _ in test.steps }
    #expect(outcome.result == .failure(test.error))
    #expect(outcome.requests.count == test.requests)
  }

  @Test func `A read asks for exactly its state, and for no coding`() throws {
    let outcome = try Self.read(ObjectRange(offset: 5, length: 7)) { request, _ in [Self.honest(request)] }
    #expect(outcome.result == .success(Array(Self.bytes[5..<12])))
    #expect(outcome.requests[0].fields["if-match"] == Self.tag)
    #expect(outcome.requests[0].fields["range"] == "bytes=5-11")
    #expect(outcome.requests[0].fields["accept-encoding"] == "identity")
  }

  @Test func `A broken connection is continued where it broke`() throws {
    let outcome = try Self.read { request, number in
      if number > 2 { return [Self.honest(request)] }
      // A quarter of what is missing, and the end.
      let start = request.fields["range"].map { Int($0.dropFirst(6).prefix { $0 != "-" }) ?? 0 } ?? 0
      let fields = [
        "ETag": Self.tag, "Content-Length": "\(200_000 - start)", "Content-Range": "bytes \(start)-199999/200000",
      ]
      return [.head(start == 0 ? 200 : 206, fields, Array(Self.bytes[start..<start + 50_000])), .close]
    }
    #expect(outcome.result == .success(Self.bytes))
    #expect(
      outcome.requests.map { $0.fields["range"] ?? "all" } == [
        "all", "bytes=50000-199999", "bytes=100000-199999", "bytes=150000-199999",
      ])
    #expect(outcome.requests.allSatisfy { $0.fields["if-match"] == Self.tag })
  }

  @Test func `An object that changes during the read is not mixed`() throws {
    let outcome = try Self.read { _, number in
      number == 0
        ? [.head(200, ["ETag": Self.tag, "Content-Length": "200000"], Array(Self.bytes[..<1000])), .close]
        : [.answer(412)]
    }
    #expect(outcome.result == .failure(.changed))
    #expect(outcome.requests.count == 2)
  }

  @Test func `A store that flaps is asked again, later each time, and as late as it asks for`() throws {
    let outcome = try Self.read { request, number in
      switch number {
      case 0: [.answer(500)]
      case 1: [.answer(503, ["Retry-After": "3"])]
      case 2: [.answer(502)]
      default: [Self.honest(request)]
      }
    }
    #expect(outcome.result == .success(Self.bytes))
    #expect(outcome.delays == [.milliseconds(100), .seconds(3), .milliseconds(400)])
  }

  @Test func `A store that is silent, or stops in the middle, is out of time`() throws {
    let gate = Gate()
    defer { gate.open() }
    var limits = Self.limits
    // libcurl measures it with the system's clock, in seconds.
    limits.transfers.stallTimeout = .seconds(1)
    limits.retries.attempts = 1
    for isSilent in [true, false] {
      let outcome = try Self.read(limits: limits) { _, _ in
        let head = Step.head(200, ["ETag": Self.tag, "Content-Length": "200000"], Array(Self.bytes[..<10]))
        return isSilent ? [.wait(gate)] : [head, .wait(gate)]
      }
      #expect(outcome.result == .failure(.timedOut), "\(isSilent)")
    }
  }

  @Test func `A document that is too long is not read to its end`() throws {
    let server = ScriptedServer { _, _ in
      [.answer(200, [:], Array(repeating: UInt8(ascii: " "), count: 3_000_000))]
    }
    defer { server.stop() }
    var limits = Self.limits
    limits.documentBytes = 100_000
    let clock = JumpingClock()
    let origin = try Self.origin(server, clock, limits: limits)
    #expect(throws: ObjectStoreError.limitExceeded(.documentBytes)) { try origin.waitForPage(from: nil) }
    let bucket = try StorePeer.bucket(
      endpoint: server.address, usesPathStyle: true, prefix: "", limits: limits, clock: clock.clock)
    #expect(throws: ObjectStoreError.limitExceeded(.documentBytes)) { try bucket.waitForPage(from: nil) }
  }

  @Test(
    arguments: [
      ("SignatureDoesNotMatch", 403, .accessDenied(.wrongSignature), 1),
      ("RequestTimeTooSkewed", 403, .accessDenied(.clockSkew), 1),
      ("InvalidAccessKeyId", 403, .accessDenied(.unknownKey), 1),
      ("ExpiredToken", 400, .accessDenied(.expiredToken), 1), ("NoSuchBucket", 404, .notFound, 1),
      ("SlowDown", 503, .slowDown, 4), ("RequestTimeout", 400, .failed(status: 408), 4),
      ("InternalError", 500, .failed(status: 500), 4), ("PermanentRedirect", 301, .redirected(status: 301), 1),
      ("SomethingNew", 400, .malformed(.unexpectedStatus(400)), 1),
    ] as [(String, Int, ObjectStoreError, Int)]) func `An error of S3 is known by its code`(
      _ code: String, _ status: Int, _ error: ObjectStoreError, _ requests: Int
    ) throws
  {
    let server = ScriptedServer { _, _ in
      [.answer(status, [:], "<?xml version=\"1.0\"?><Error><Code>\(code)</Code></Error>")]
    }
    defer { server.stop() }
    let bucket = try StorePeer.bucket(
      endpoint: server.address, usesPathStyle: true, prefix: "", limits: Self.limits, clock: JumpingClock().clock)
    #expect(throws: error) { try bucket.waitForPage(from: nil) }
    #expect(server.requests.count == requests)
  }

  @Test func `A copy that fails after it has begun has failed`() throws {
    let server = ScriptedServer { _, _ in [.answer(200, [:], "<Error><Code>InternalError</Code></Error>")] }
    defer { server.stop() }
    let bucket = try StorePeer.bucket(
      endpoint: server.address, usesPathStyle: true, prefix: "", limits: Self.limits, clock: JumpingClock().clock)
    #expect(throws: ObjectStoreError.failed(status: 500)) {
      try bucket.waitToCopy("a", of: Self.identity, to: "b")
    }
  }

  @Test func `A dead store is asked no more, until its time has come`() throws {
    let server = ScriptedServer { _, number in [.answer(number < 6 ? 500 : 404)] }
    defer { server.stop() }
    let clock = JumpingClock()
    var limits = Self.limits
    limits.retries.attempts = 1
    limits.breaker.failures = 5
    let store = try Self.origin(server, clock, limits: limits)
    for _ in 0..<5 {
      #expect(throws: ObjectStoreError.failed(status: 500)) { try store.waitForHead("a.jpg") }
    }
    #expect(throws: ObjectStoreError.suspended(retryAfter: .seconds(5))) { try store.waitForHead("a.jpg") }
    #expect(server.requests.count == 5)
    clock.advance(.seconds(5))
    #expect(throws: ObjectStoreError.failed(status: 500)) { try store.waitForHead("a.jpg") }
    #expect(throws: ObjectStoreError.suspended(retryAfter: .seconds(10))) { try store.waitForHead("a.jpg") }
    clock.advance(.seconds(10))
    // The store works again: 404 is an answer.
    #expect(throws: ObjectStoreError.notFound) { try store.waitForHead("a.jpg") }
    #expect(throws: ObjectStoreError.notFound) { try store.waitForHead("a.jpg") }
  }

  @Test func `A private address is not connected to unless the rules allow it`() throws {
    let server = ScriptedServer { request, _ in [Self.honest(request)] }
    defer { server.stop() }
    let clock = JumpingClock()
    for host in ["127.0.0.1", "localhost"] {
      let store = try required(
        HTTPObjectStore(
          address: "http://\(host):\(server.port)", rules: TransferRules(allowedHosts: [host]), limits: Self.limits,
          clock: clock.clock))
      #expect(throws: ObjectStoreError.addressNotAllowed) { try store.waitForHead("a.jpg") }
    }
    #expect(server.requests.isEmpty)
  }

  @Test func `Objects without a size or a strong entity tag are named in a list`() throws {
    let rows = [
      "<Key>a.jpg</Key><ETag>&quot;x&quot;</ETag><Size>1</Size>",
      "<Key>b.jpg</Key><ETag>W/&quot;x&quot;</ETag><Size>1</Size>", "<Key>c.jpg</Key><ETag>&quot;x&quot;</ETag>",
      "<Key>../d.jpg</Key>", "<Key>.hidden/e.jpg</Key>", "<Key>f/</Key><Size>0</Size>",
    ]
    let text = rows.map { "<Contents>\($0)</Contents>" }.joined()
    let server = ScriptedServer { _, _ in
      [.answer(200, [:], "<ListBucketResult><IsTruncated>false</IsTruncated>\(text)</ListBucketResult>")]
    }
    defer { server.stop() }
    let page = try StorePeer.bucket(endpoint: server.address, usesPathStyle: true, prefix: "").waitForPage(from: nil)
    #expect(page.entries.map(\.key) == ["a.jpg"])
    #expect(page.unidentified == ["b.jpg", "c.jpg"])
    #expect(page.skipped == 3)
  }

  @Test func `A host that is not in the list is not asked`() throws {
    let server = ScriptedServer { request, _ in [Self.honest(request)] }
    defer { server.stop() }
    let store = try Self.origin(
      server, JumpingClock(), rules: TransferRules(allowedHosts: ["example.org"], allowsPrivateAddresses: true))
    #expect(throws: ObjectStoreError.hostNotAllowed) { try store.waitForHead("a.jpg") }
    #expect(server.requests.isEmpty)
  }

  @Test func `A receiver that takes nothing holds the store back, not memory`() throws {
    let sent = SentBytes()
    let total = 64 << 20
    let server = ScriptedServer { _, _ in
      [
        .head(200, ["ETag": Self.tag, "Content-Length": "\(total)"]),
        .sendCounting([UInt8](repeating: 7, count: total)) { sent.set($0) }, .close,
      ]
    }
    defer { server.stop() }
    let store = try Self.origin(server, JumpingClock())
    let receiver = RefusingReceiver()
    let operation = store.read(
      "a.jpg", nil, of: ObjectIdentity(size: Int64(total), version: .entityTag(Self.tag)), into: receiver)
    // What the sockets hold, and libcurl's buffer.
    #expect(sent.wait() < 16 << 20)
    operation.cancel()
    receiver.wait()
  }

  @Test func `Waiting transfers have a limit`() throws {
    let gate = Gate()
    let server = ScriptedServer { request, _ in [.wait(gate), Self.honest(request)] }
    defer { server.stop() }
    var limits = Self.limits
    limits.transfers.transfers = 2
    let store = try Self.origin(server, JumpingClock(), limits: limits)
    let receivers = (0..<2).map { _ in PausingReceiver() }
    let operations = receivers.map { store.read("a.jpg", Self.whole, of: Self.identity, into: $0) }
    #expect(throws: ObjectStoreError.limitExceeded(.pendingOperations)) { try store.waitForHead("a.jpg") }
    gate.open()
    for (receiver, operation) in zip(receivers, operations) {
      receiver.resumed(by: operation)
      #expect(try receiver.wait() == Self.bytes)
    }
  }
}
