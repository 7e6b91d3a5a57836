import Testing

@testable import ObjectStores

@Suite struct RetryTests {
  @Test(
    arguments: [
      (2, 0.0, nil, 50), (2, 1.0, nil, 100), (3, 1.0, nil, 200), (4, 0.0, nil, 200), (20, 1.0, nil, 5000),
      (2, 1.0, 3000, 3000), (2, 1.0, 60_000, 5000), (1000, 1.0, nil, 5000),
    ] as [(Int, Double, Int?, Int)]) func `Delays double up to a limit, and the store may ask for longer ones`(
      _ attempt: Int, _ random: Double, _ requested: Int?, _ milliseconds: Int
    )
  {
    let delay = RetryPolicy().delay(
      before: attempt, random: random, requested: requested.map { .milliseconds($0) })
    #expect(delay == .milliseconds(milliseconds))
  }

  @Test func `The breaker opens after failures in a row, tries once, and opens for longer`() {
    var breaker = CircuitBreaker()
    func seconds(_ count: Int) -> Duration { .seconds(count) }
    for _ in 0..<4 {
      #expect(breaker.admit(now: seconds(0)) == nil)
      breaker.failed(now: seconds(0))
    }
    breaker.succeeded()
    for _ in 0..<5 {
      #expect(breaker.admit(now: seconds(1)) == nil)
      breaker.failed(now: seconds(1))
    }
    #expect(breaker.admit(now: seconds(1)) == seconds(5))
    #expect(breaker.admit(now: seconds(5)) == seconds(1))
    // One trial.
    #expect(breaker.admit(now: seconds(6)) == nil)
    #expect(breaker.admit(now: seconds(6)) == seconds(5))
    breaker.failed(now: seconds(7))
    #expect(breaker.admit(now: seconds(7)) == seconds(10))
    // An abandoned trial leaves the trial to the next request.
    #expect(breaker.admit(now: seconds(17)) == nil)
    breaker.abandoned(now: seconds(18))
    #expect(breaker.admit(now: seconds(18)) == nil)
    breaker.succeeded()
    #expect(breaker.isClosed)
    #expect(breaker.admit(now: seconds(18)) == nil)
  }

  @Test func `A trial that never reports does not keep the breaker open`() {
    var breaker = CircuitBreaker()
    for _ in 0..<5 { breaker.failed(now: .zero) }
    #expect(breaker.admit(now: .seconds(5)) == nil)
    #expect(breaker.admit(now: .seconds(9)) == .seconds(1))
    #expect(breaker.admit(now: .seconds(10)) == nil)
  }

  @Test func `The pause of the breaker has a limit`() {
    var breaker = CircuitBreaker()
    for _ in 0..<5 { breaker.failed(now: .zero) }
    var now = Duration.zero
    for _ in 0..<20 {
      now += breaker.admit(now: now) ?? .zero
      #expect(breaker.admit(now: now) == nil)
      breaker.failed(now: now)
    }
    #expect(breaker.admit(now: now) == .seconds(120))
  }
}
