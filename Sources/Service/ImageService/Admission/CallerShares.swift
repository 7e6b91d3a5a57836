/// Shares a capacity fairly among callers, such as the places for jobs that wait for a render: counts what each caller
/// holds, and decides how much it may hold.
///
/// A sole caller may use the whole capacity. While several callers use it, each can grow only to its share, which is
/// half; what a caller already holds beyond its share is not counted against the others. So at most one and a half
/// times `maximum` is in use.
struct CallerShares {
  let maximum: Int
  private let share: Int
  private(set) var count = 0
  /// What each caller holds; no entry for a caller that holds nothing.
  private var counts: [String: Int] = [:]
  /// The sum over all callers of what they hold within their shares.
  private var countWithinShares = 0

  init(maximum: Int) {
    self.maximum = max(1, maximum)
    share = max(1, self.maximum / 2)
  }

  func count(of caller: String) -> Int { counts[caller] ?? 0 }

  /// How much a caller may hold now, given what the others hold. It may already hold more.
  func maximum(of caller: String) -> Int {
    let own = count(of: caller)
    if own == count { return maximum }
    return min(share, maximum - (countWithinShares - min(own, share)))
  }

  func hasRoom(for caller: String) -> Bool { count(of: caller) < maximum(of: caller) }

  /// Adds to what a caller holds; a negative difference subtracts.
  mutating func change(of caller: String, by difference: Int) {
    let old = count(of: caller)
    let new = old + difference
    counts[caller] = new == 0 ? nil : new
    count += difference
    countWithinShares += min(new, share) - min(old, share)
  }
}
