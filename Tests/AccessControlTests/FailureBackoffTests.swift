import AccessControl
import Testing

@Suite("Failed attempts")
struct FailureBackoffTests {
  @Test("the first failures cause no wait; each further one doubles the wait, up to a minute")
  func doubling() {
    var backoff = FailureBackoff<String>(capacity: 10)
    var now: Int64 = 100
    for _ in 0..<FailureBackoff<String>.unthrottledFailures {
      backoff.failed("a", at: now)
      #expect(backoff.waitSeconds("a", at: now) == 0)
    }
    for wait: Int64 in [1, 2, 4, 8, 16, 32, 60, 60] {
      let remaining = [backoff.failed("a", at: now), backoff.failed("a", at: now)]
      #expect(remaining == [0, wait], "an attempt during the wait is not counted")
      #expect(backoff.waitSeconds("a", at: now) == wait)
      #expect(backoff.waitSeconds("a", at: now + wait - 1) == 1)
      #expect(backoff.waitSeconds("b", at: now) == 0, "other peers do not wait")
      now += wait
      #expect(backoff.waitSeconds("a", at: now) == 0)
    }
    // After the reset time the count starts again.
    now += FailureBackoff<String>.resetAfterSeconds + 1
    backoff.failed("a", at: now)
    #expect(backoff.waitSeconds("a", at: now) == 0)
  }

  @Test("the number of tracked peers is bounded, and the most recent are kept")
  func bounded() {
    var backoff = FailureBackoff<Int>(capacity: 50)
    for peer in 0..<1000 {
      for _ in 0...FailureBackoff<Int>.unthrottledFailures { backoff.failed(peer, at: Int64(peer)) }
      #expect(backoff.count <= 50)
    }
    #expect(backoff.waitSeconds(999, at: 999) == 1 && backoff.waitSeconds(949, at: 949) == 0)
  }
}
