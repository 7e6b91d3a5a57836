/// Counts what callers have of something that they share, such as places for jobs that wait for a render, and decides
/// how much each may have.
///
/// A caller that is alone may have all. While others have some too, it may add only up to its share, half of all, and
/// what it has beyond that share takes no place from them. So all have at most one and a half times `maximum`.
struct CallerShares {
  let maximum: Int
  private let share: Int
  private(set) var count = 0
  /// The numbers of the callers that have any.
  private var counts: [String: Int] = [:]
  /// What is within the shares of the callers.
  private var countWithinShares = 0

  init(maximum: Int) {
    self.maximum = max(1, maximum)
    share = max(1, self.maximum / 2)
  }

  func count(of caller: String) -> Int { counts[caller] ?? 0 }

  /// How much a caller may have now, given what the others have. It may have more than that from before.
  func maximum(of caller: String) -> Int {
    let own = count(of: caller)
    if own == count { return maximum }
    return min(share, maximum - (countWithinShares - min(own, share)))
  }

  func hasRoom(for caller: String) -> Bool { count(of: caller) < maximum(of: caller) }

  /// A caller has got more, or with a negative number less.
  mutating func change(of caller: String, by difference: Int) {
    let old = count(of: caller)
    let new = old + difference
    counts[caller] = new == 0 ? nil : new
    count += difference
    countWithinShares += min(new, share) - min(old, share)
  }
}
