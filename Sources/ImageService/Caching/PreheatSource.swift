import PhotoModel

/// The list that a window moves over. It is a value: how it was when it was looked at; what became of it since is another
/// one.
///
/// Calls that throw ask the catalogue: never on a connection's queue.
package protocol PreheatSource: Sendable {
  /// What the client means by it: two of one name are the same list, perhaps at different times.
  var name: String { get }

  /// Two of one name and version have the same assets at the same positions.
  var version: String { get }

  /// How many positions it has. It asks nobody.
  var count: Int { get }

  /// Whether its owner may still use it: a fetch result's lease ends. It asks nobody, and renews no lease.
  var isThere: Bool { get }

  /// Whether nothing has changed since it was looked at. It asks nobody.
  var isCurrent: Bool { get }

  /// The assets at some positions, all within the list, as they are now; `nil` for those that are gone, or not for its
  /// owner. One transaction.
  func assets(at positions: [Int]) throws(AssetSourceError) -> [Asset?]

  /// What the list is now.
  ///
  /// - Parameters:
  ///   - visible: positions that are on screen.
  ///   - known: positions that are to be found again.
  ///   - mayReadAll: whether a long list may be read anew, which takes its time; most changes are told without that.
  func followed(
    visible: Range<Int>, known: [Int], mayReadAll: Bool
  ) throws(AssetSourceError) -> PreheatListChange
}

/// What became of a window's list.
package enum PreheatListChange: Sendable {
  /// The same assets are at the same positions.
  case same(any PreheatSource)
  /// Another list: where those are now that were on screen, and where those of the known positions are that are still there.
  case other(any PreheatSource, visible: Range<Int>, moved: [Int: Int])
  /// It has to be read anew, and that was not wanted.
  case isLong
  /// There is none any more.
  case gone
}
