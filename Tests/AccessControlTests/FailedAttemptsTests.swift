import AccessControl
import Testing

@Suite("Failed attempts")
struct FailedAttemptsTests {
  @Test("the first failures cause no wait; each further one doubles the wait, up to a minute")
  func doubling() {
    var attempts = FailedAttempts<String>(capacity: 10)
    var now: Int64 = 100
    for _ in 0..<FailedAttempts<String>.unthrottledFailures {
      attempts.failed("a", at: now)
      #expect(attempts.waitSeconds("a", at: now) == 0)
    }
    for wait: Int64 in [1, 2, 4, 8, 16, 32, 60, 60] {
      let remaining = [attempts.failed("a", at: now), attempts.failed("a", at: now)]
      #expect(remaining == [0, wait], "an attempt during the wait is not counted")
      #expect(attempts.waitSeconds("a", at: now) == wait)
      #expect(attempts.waitSeconds("a", at: now + wait - 1) == 1)
      #expect(attempts.waitSeconds("b", at: now) == 0, "other peers do not wait")
      now += wait
      #expect(attempts.waitSeconds("a", at: now) == 0)
    }
    // After the reset time the count starts again.
    now += FailedAttempts<String>.resetAfterSeconds + 1
    attempts.failed("a", at: now)
    #expect(attempts.waitSeconds("a", at: now) == 0)
  }

  @Test("the number of tracked peers is bounded, and the most recent are kept")
  func bounded() {
    var attempts = FailedAttempts<Int>(capacity: 50)
    for peer in 0..<1000 {
      for _ in 0...FailedAttempts<Int>.unthrottledFailures { attempts.failed(peer, at: Int64(peer)) }
      #expect(attempts.count <= 50)
    }
    #expect(attempts.waitSeconds(999, at: 999) == 1 && attempts.waitSeconds(949, at: 949) == 0)
  }
}
