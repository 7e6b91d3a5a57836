import AccessControl
import Testing

@Suite("Failed attempts")
struct FailedAttemptsTests {
  @Test("a few cost nothing, then each further one makes its peer wait twice as long, up to a minute")
  func doubling() {
    var attempts = FailedAttempts<String>(capacity: 10)
    var now: Int64 = 100
    for _ in 0..<FailedAttempts<String>.freeCount {
      attempts.failed("a", at: now)
      #expect(attempts.waitSeconds("a", at: now) == 0)
    }
    for wait: Int64 in [1, 2, 4, 8, 16, 32, 60, 60] {
      attempts.failed("a", at: now)
      #expect(attempts.waitSeconds("a", at: now) == wait)
      #expect(attempts.waitSeconds("a", at: now + wait - 1) == 1)
      #expect(attempts.waitSeconds("b", at: now) == 0, "nobody else waits")
      now += wait
      #expect(attempts.waitSeconds("a", at: now) == 0)
    }
    // Long after, it is as if nothing had been.
    now += FailedAttempts<String>.forgottenSeconds + 1
    attempts.failed("a", at: now)
    #expect(attempts.waitSeconds("a", at: now) == 0)
  }

  @Test("however many peers fail, no more are counted than there is room for, and the latest stay")
  func bounded() {
    var attempts = FailedAttempts<Int>(capacity: 50)
    for peer in 0..<1000 {
      for _ in 0...FailedAttempts<Int>.freeCount { attempts.failed(peer, at: Int64(peer)) }
      #expect(attempts.count <= 50)
    }
    #expect(attempts.waitSeconds(999, at: 999) == 1 && attempts.waitSeconds(949, at: 949) == 0)
  }
}
