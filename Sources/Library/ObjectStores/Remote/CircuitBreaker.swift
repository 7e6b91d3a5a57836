// A circuit breaker: refuses requests to a store that has failed repeatedly. Without it, each request would wait for
// its timeout, and waiting requests would fill every queue.
//
//     closed      requests pass; failures in a row are counted
//     open        requests are refused until a time
//     half open   one request passes as a trial: if it succeeds the breaker closes, if it fails it opens for longer

package struct CircuitBreaker: Sendable, Hashable {
  package struct Limits: Sendable, Hashable {
    /// Failures in a row that open the breaker.
    package var failures = 5
    var firstPause: Duration = .seconds(5)
    var maximumPause: Duration = .seconds(120)

    package init() {}
  }

  private enum State: Sendable, Hashable {
    case closed(failures: Int)
    case open(until: Duration, pause: Duration)
    /// `since`: after another pause, a trial that has not reported its outcome is replaced by the next request.
    case halfOpen(since: Duration, pause: Duration)
  }

  private let limits: Limits
  private var state = State.closed(failures: 0)

  package init(limits: Limits = Limits()) { self.limits = limits }

  package var isClosed: Bool {
    if case .closed = state { true } else { false }
  }

  /// Returns `nil` if a request may be sent; the caller must then report its outcome. Otherwise returns the time after
  /// which to ask again.
  package mutating func admit(now: Duration) -> Duration? {
    switch state {
    case .closed: return nil
    case .open(let until, let pause):
      guard now >= until else { return until - now }
      state = .halfOpen(since: now, pause: pause)
      return nil
    case .halfOpen(let since, let pause):
      guard now >= since + pause else { return since + pause - now }
      state = .halfOpen(since: now, pause: pause)
      return nil
    }
  }

  /// The store responded, even if with an error about the request.
  package mutating func succeeded() { state = .closed(failures: 0) }

  /// The request was cancelled or not sent, so it says nothing about the store.
  package mutating func abandoned(now: Duration) {
    // The next request is the trial.
    if case .halfOpen(_, let pause) = state { state = .open(until: now, pause: pause) }
  }

  package mutating func failed(now: Duration) {
    switch state {
    case .closed(let failures) where failures + 1 < limits.failures: state = .closed(failures: failures + 1)
    case .closed: state = .open(until: now + limits.firstPause, pause: limits.firstPause)
    case .halfOpen(_, let pause):
      let longer = min(pause * 2, limits.maximumPause)
      state = .open(until: now + longer, pause: longer)
    // A request that was sent before the breaker opened.
    case .open: break
    }
  }
}
