import DecoderWorkers
import Testing

/// A codec that an attacker has taken over does what it likes inside of its process. These tests do it.
@Suite("Decoder workers: untrusted codecs")
struct UntrustedWorkerTests {
  @Test(
    "a forbidden system call ends the worker",
    arguments: [
      "open", "openat2", "socket", "unix socket", "sendmsg", "exec", "fork", "clone", "clone3", "ptrace",
      "read the memory of the zygote", "kill the zygote", "signal another process", "executable memory",
      "make memory executable", "map a descriptor", "io_uring", "bpf", "user namespace", "change limits",
      "write to the payload", "read another descriptor",
    ])
  func attacks(_ attack: String) throws {
    let pool = TestDecoders.pool()
    #expect(pool.error(TestDecoders.request(attack)) == .failed(.test, .sandbox))
    // The zygote has survived, and so has the daemon's side.
    let zygote = try #require(pool.processIdentifier(of: .test))
    #expect(pool.error(TestDecoders.request("rows")) == nil)
    #expect(pool.processIdentifier(of: .test) == zygote)
  }

  #if arch(x86_64)
    @Test("system calls of other interfaces end the worker", arguments: ["32-bit call", "x32 call"])
    func interfaces(_ attack: String) {
      #expect(TestDecoders.pool().error(TestDecoders.request(attack)) == .failed(.test, .sandbox))
    }
  #endif

  @Test(
    "a worker gets no more memory than its limit",
    arguments: ["allocate 4 GB", "allocate in small blocks", "allocate and abort", "map 4 GB"])
  func memory(_ attack: String) {
    #expect(TestDecoders.pool().error(TestDecoders.request(attack)) == .failed(.test, .memory))
  }

  @Test(
    "a crash is a failure of the picture",
    arguments: ["crash", "abort", "stack overflow", "illegal instruction"])
  func crashes(_ crash: String) {
    #expect(TestDecoders.pool().error(TestDecoders.request(crash)) == .failed(.test, .crashed))
  }

  @Test("an endless loop ends with the CPU time of the request")
  func loop() {
    #expect(TestDecoders.pool().error(TestDecoders.request("loop", cpuSeconds: 1)) == .failed(.test, .time))
  }

  @Test(
    "messages that contradict the request end the worker",
    arguments: [
      "slot out of range", "tile out of range", "rows out of range", "more rows than a slot",
      "first row out of range", "rows skipped", "no rows at all", "zero rows", "a slot sent twice", "unknown message",
      "short message", "long message", "empty message", "exits early", "unknown reason",
    ])
  func lies(_ lie: String) {
    #expect(TestDecoders.pool().error(TestDecoders.request(lie)) == .failed(.test, .protocolViolation))
  }

  @Test(
    "the codec's own verdict is the reason",
    arguments: [
      ("malformed", DecoderFailure.malformed), ("unsupported", .unsupported), ("mismatch", .mismatch),
    ])
  func verdicts(_ action: String, _ failure: DecoderFailure) {
    let pool = TestDecoders.pool()
    #expect(pool.error(TestDecoders.request(action)) == .failed(.test, failure))
    #expect(pool.failures.count(.test, failure) == 1)
  }

  @Test(
    "a worker that writes after its last message changes no rows that were delivered, here or in the next decode",
    arguments: ["late write", "late message"])
  func lateWrites(_ action: String) throws {
    let pool = TestDecoders.pool()
    let honest = try pool.rows(TestDecoders.request("rows"))
    for _ in 0..<10 {
      try pool.decode(TestDecoders.request(action), of: .bytes([0])) { _, bytes in
        let first = bytes.withUnsafeBytes { Array($0) }
        let isEqual = (0..<50).allSatisfy { _ in bytes.withUnsafeBytes { $0.elementsEqual(first) } }
        #expect(isEqual)
        return .more
      }
      // Its slots are used again only after it has ended.
      let next = try pool.rows(TestDecoders.request("rows"))
      let isClean = next.tiles == honest.tiles
      #expect(isClean)
    }
  }
}
