/// Counts the jobs that wait for a render, and decides whether a caller may add one.
///
/// A caller that is alone may fill the queue. While others wait, it may add jobs only up to its share, half of the
/// queue, and what it has beyond that share takes no place from them. So at most one and a half times `maximum` jobs
/// wait.
struct WaitingJobs {
  let maximum: Int
  private let share: Int
  private(set) var count = 0
  /// The number of waiting jobs of each caller that has any.
  private var counts: [String: Int] = [:]
  /// Jobs within the shares of their callers.
  private var countWithinShares = 0

  init(maximum: Int) {
    self.maximum = max(1, maximum)
    share = max(1, self.maximum / 2)
  }

  func hasRoom(for caller: String) -> Bool {
    let own = counts[caller] ?? 0
    if own < share { return countWithinShares < maximum }
    let isAlone = own == count
    return isAlone && count < maximum
  }

  mutating func add(of caller: String) {
    let own = counts[caller] ?? 0
    counts[caller] = own + 1
    count += 1
    if own < share { countWithinShares += 1 }
  }

  mutating func remove(of caller: String) {
    guard let own = counts[caller] else { return }
    counts[caller] = own == 1 ? nil : own - 1
    count -= 1
    if own <= share { countWithinShares -= 1 }
  }
}
