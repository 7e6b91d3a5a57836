/// Retries of failed requests, with exponential backoff and jitter.
package struct RetryPolicy: Sendable, Hashable {
  /// Maximum number of attempts without progress, including the first. A read that receives bytes starts counting
  /// again.
  package var attempts = 4
  var firstDelay: Duration = .milliseconds(100)
  package var maximumDelay: Duration = .seconds(5)
  /// Timeout of an operation other than a read, including delays.
  package var operationTimeout: Duration = .seconds(30)
  /// Timeout of one read of an object, from its first request to its last byte.
  package var readTimeout: Duration = .seconds(600)

  package init() {}

  /// The delay before an attempt. It doubles each time, and half of it is random, so that requests that failed together
  /// do not return together.
  ///
  /// - Parameters:
  ///   - attempt: 2 for the first retry.
  ///   - random: 0 to 1.
  ///   - requested: the store's own `Retry-After`; a longer wait than `maximumDelay` is cut to it.
  func delay(before attempt: Int, random: Double, requested: Duration?) -> Duration {
    let doubled = firstDelay * Double(1 << min(max(0, attempt - 2), 20))
    let own = min(doubled, maximumDelay) * (0.5 + random / 2)
    return min(max(own, requested ?? .zero), maximumDelay)
  }
}
