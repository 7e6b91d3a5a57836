import Dispatch
import ImageService
import Logging
import ObjectStores
import PhotoFixtures
import PhotoModel
import StoreFixtures
import Synchronization
import Testing

@testable import SharedDerivatives

/// A bucket on a loopback port, the shared derivatives in it, and a manual clock.
private final class SharedHarness: Sendable {
  let server = MemoryServer(root: "/small", isBucket: true)
  let shared: SharedDerivatives
  private let time: ManualTime
  private let log: KeptLines

  init(_ change: (inout SharedDerivatives.Limits) -> Void = { _ in }) throws {
    var limits = SharedDerivatives.Limits()
    change(&limits)
    var remote = RemoteLimits()
    remote.retries.attempts = 1
    // The breaker of the connections is as strict as the one under test.
    remote.breaker.failures = 1000
    let bucket = try #require(
      S3Bucket(name: "small", prefix: "", region: "us-east-1", endpoint: server.address, usesPathStyle: true))
    let store = S3ObjectStore(
      bucket: bucket,
      credentials: try S3Credentials(environment: [
        "AWS_ACCESS_KEY_ID": "AKIDFORTESTS", "AWS_SECRET_ACCESS_KEY": "never-in-a-log",
      ]), rules: TransferRules(allowedHosts: ["127.0.0.1"], allowsPrivateAddresses: true), limits: remote)
    let log = KeptLines()
    self.log = log
    let time = ManualTime()
    self.time = time
    shared = SharedDerivatives(
      store, limits: limits, logger: Logger(label: "test") { _ in LineKeeper(lines: log) },
      now: { time.now.withLock { $0 } })
  }

  deinit { server.stop() }

  func advance(_ duration: Duration) { time.now.withLock { $0 += duration } }
  var lines: [String] { log.lines.withLock { $0 } }

  /// Reads an object and waits; `nil` if the store was not asked.
  @discardableResult
  func read(_ name: String, take: @escaping @Sendable ([UInt8]) -> String? = { _ in nil }) -> [UInt8]?? {
    let bytes = Mutex<[UInt8]?>(nil)
    let ended = DispatchSemaphore(value: 0)
    let read = shared.read(
      name,
      take: { content in
        bytes.withLock { $0 = content }
        return take(content)
      }, ended: { ended.signal() })
    guard read != nil else { return .none }
    ended.wait()
    return .some(bytes.withLock { $0 })
  }

  /// Waits until a count has a value.
  func until(_ what: String, _ isSo: (SharedDerivatives.Counts) -> Bool) throws {
    try eventually("after \(shared.counts), \(what)") { isSo(shared.counts) }
  }
}

private final class ManualTime: Sendable {
  let now = Mutex(Duration.seconds(1))
}

private final class KeptLines: Sendable {
  let lines = Mutex<[String]>([])
}

private struct LineKeeper: LogHandler {
  let lines: KeptLines
  var metadata: Logger.Metadata = [:]
  var logLevel = Logger.Level.trace

  init(lines: KeptLines) { self.lines = lines }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    let metadata = event.metadata ?? [:]
    let fields = metadata.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
    lines.lines.withLock { $0.append("\(event.message)\(fields)") }
  }
}

@Suite("The store of shared derivatives")
struct SharedDerivativesTests {
  @Test func `What is written can be read, and a missing object is not asked for again for a minute`() throws {
    let harness = try SharedHarness()
    #expect(harness.read("3f/2-a") == .some(nil))
    #expect(harness.read("3f/2-a") == .none)
    #expect(harness.server.requests.count == 1)
    harness.shared.write("3f/2-a") { [1, 2, 3] }
    try harness.until("it is written") { $0.written == 1 }
    #expect(harness.server.bytes(of: "3f/2-a") == [1, 2, 3])
    #expect(harness.read("3f/2-a") == [1, 2, 3])
    // It is known to be there.
    harness.shared.write("3f/2-a") { [4] }
    #expect(harness.shared.waitForPresence(of: "3f/2-a") == true)
    #expect(harness.server.requests.count == 3)
    #expect(harness.shared.counts.hits == 1 && harness.shared.counts.misses == 2)
    #expect(harness.read("00/2-b") == .some(nil))
    harness.server.set("00/2-b", [5])
    harness.advance(.seconds(59))
    #expect(harness.read("00/2-b") == .none)
    harness.advance(.seconds(2))
    #expect(harness.read("00/2-b") == [5])
  }

  @Test func `All who want an object wait for one read, which ends with the last of them`() throws {
    let harness = try SharedHarness()
    harness.server.set("3f/2-a", [1])
    let gate = Gate()
    let server = harness.server
    server.misbehave { [weak server] request in server.map { [.wait(gate), $0.usual(request)] } }
    let ended = DispatchSemaphore(value: 0)
    let takes = Mutex(0)
    func read() -> RemoteWait? {
      harness.shared.read(
        "3f/2-a",
        take: { _ in
          takes.withLock { $0 += 1 }
          return nil
        }, ended: { ended.signal() })
    }
    let reads = (0..<3).map { _ in read() }
    #expect(reads.allSatisfy { $0 != nil })
    reads[0]?.cancel()
    gate.open()
    for _ in 0..<2 { #expect(ended.wait(timeout: .now() + 20) == .success) }
    #expect(takes.withLock { $0 } == 1 && server.requests.count == 1)

    let second = Gate()
    defer { second.open() }
    server.misbehave { _ in [.wait(second), .close] }
    read()?.cancel()
    // A cancelled read is no failure, and the next one is a new request.
    server.misbehave(nil)
    #expect(harness.read("3f/2-a") == [1])
    #expect(harness.shared.counts.failedReads == 0 && takes.withLock { $0 } == 1)
  }

  @Test func `A damaged object is counted, logged, and replaced`() throws {
    let harness = try SharedHarness()
    harness.server.set("3f/2-a", [9])
    harness.read("3f/2-a", take: { _ in "checksum" })
    #expect(harness.shared.counts.damaged == 1 && harness.shared.counts.hits == 0)
    #expect(harness.lines == ["damaged shared derivatives object=3f/2-a reason=checksum"])
    // For background work it is not there.
    #expect(harness.shared.waitForPresence(of: "3f/2-a") == false)
    harness.shared.write("3f/2-a") { [1] }
    try harness.until("it is replaced") { $0.written == 1 }
    #expect(harness.read("3f/2-a") == [1])
    harness.server.set("3f/2-b", [UInt8](repeating: 0, count: (4 << 20) + 1))
    #expect(harness.read("3f/2-b") == .some(nil))
    #expect(harness.shared.counts.damaged == 2)
  }

  @Test(arguments: [
    (status: 500, code: "InternalError", text: "status 500"),
    (status: 403, code: "SignatureDoesNotMatch", text: "check the secret"),
  ])
  func `A store that fails or refuses is not asked after five failures, and then tried once`(
    _ status: Int, _ code: String, _ text: String
  ) throws {
    let harness = try SharedHarness()
    harness.server.misbehave { _ in [.answer(status, [:], "<Error><Code>\(code)</Code></Error>")] }
    for number in 0..<5 { #expect(harness.read("00/2-\(number)") == .some(nil)) }
    #expect(harness.read("00/2-5") == .none)
    #expect(harness.shared.waitForPresence(of: "00/2-5") == nil)
    #expect(harness.server.requests.count == 5 && harness.shared.counts.isSuspended)
    #expect(harness.shared.counts.failedReads == 5 && harness.shared.counts.suspendedReads == 1)
    // One line for all of them.
    #expect(harness.lines.count == 1 && harness.lines[0].contains(text), "\(harness.lines)")
    #expect(!harness.lines[0].contains("never-in-a-log"))
    harness.advance(.seconds(6))
    harness.server.misbehave(nil)
    #expect(harness.read("00/2-5") == .some(nil))
    #expect(!harness.shared.counts.isSuspended)
    #expect(harness.read("00/2-6") == .some(nil))
  }

  @Test func `A key that may not write goes on reading`() throws {
    let harness = try SharedHarness()
    harness.server.set("3f/2-a", [1])
    let server = harness.server
    server.misbehave { [weak server] request in
      request.method == "PUT"
        ? [.answer(403, [:], "<Error><Code>AccessDenied</Code></Error>")]
        : server.map { [$0.usual(request)] }
    }
    for number in 0..<10 { harness.shared.write("00/2-\(number)") { [1] } }
    try harness.until("all are left out") { $0.failedWrites + $0.droppedWrites == 10 }
    #expect(harness.shared.counts.failedWrites >= 5 && harness.shared.counts.droppedWrites > 0)
    #expect(harness.read("3f/2-a") == [1])
  }

  @Test func `Writes that are too many or too large are dropped and counted`() throws {
    let harness = try SharedHarness {
      $0.waitingWrites = 3
      $0.writes = 1
      $0.objectBytes = 10
    }
    let gate = Gate()
    let server = harness.server
    server.misbehave { [weak server] request in server.map { [.wait(gate), $0.usual(request)] } }
    harness.shared.write("00/2-0") { [0] }
    try harness.until("the first is on its way") { $0.waitingWrites == 0 }
    for number in 1..<10 { harness.shared.write("00/2-\(number)") { [1] } }
    // The same name waits once.
    harness.shared.write("00/2-1") { [1] }
    #expect(harness.shared.counts.droppedWrites == 6 && harness.shared.counts.waitingWrites == 3)
    gate.open()
    try harness.until("the accepted ones are written") { $0.written == 4 }
    harness.shared.write("00/2-large") { [UInt8](repeating: 0, count: 11) }
    try harness.until("the large one is dropped") { $0.droppedWrites == 7 }
    // Nothing to write: no request, and no count.
    harness.shared.write("00/2-gone") { nil }
    harness.shared.write("00/2-last") { [1] }
    try harness.until("the last is written") { $0.written == 5 }
    #expect(server.requests.count == 5 && harness.shared.counts.droppedWrites == 7)
  }

  @Test func `After closing nothing is read or written`() throws {
    let harness = try SharedHarness()
    harness.shared.close()
    #expect(harness.read("00/2-a") == .none)
    harness.shared.write("00/2-a") { [1] }
    harness.shared.waitToWrite("00/2-a", [1])
    #expect(harness.shared.waitForPresence(of: "00/2-a") == nil)
    #expect(harness.server.requests.isEmpty)
  }
}
