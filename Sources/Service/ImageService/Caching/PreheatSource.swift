import PhotoModel

/// The list that a window moves over. A value is a snapshot: later changes of the list give a new value.
///
/// Methods that throw query the catalogue: never call them on a connection's queue.
package protocol PreheatSource: Sendable {
  /// The client's name for the list. Values with equal names are the same list, possibly at different times.
  var name: String { get }

  /// Values with equal name and version have the same assets at the same positions.
  var version: String { get }

  /// Number of positions. Does not query the catalogue.
  var count: Int { get }

  /// Whether the owner may still use the list: the lease of a fetch result can end. Neither queries the catalogue nor
  /// renews a lease.
  var isAvailable: Bool { get }

  /// Whether the list is unchanged since the snapshot. Does not query the catalogue.
  var isCurrent: Bool { get }

  /// The current assets at some positions, all within the list; `nil` for assets that are gone or not visible to the
  /// owner. One transaction.
  func assets(at positions: [Int]) throws(AssetSourceError) -> [Asset?]

  /// The current state of the list.
  ///
  /// - Parameters:
  ///   - visible: positions that are on screen.
  ///   - known: positions whose new places are wanted.
  ///   - mayReadAll: whether a long list may be read again, which is slow; most changes can be found without that.
  func changes(
    visible: Range<Int>, known: [Int], mayReadAll: Bool
  ) throws(AssetSourceError) -> PreheatListChange
}

/// How a window's list has changed.
package enum PreheatListChange: Sendable {
  /// The same assets are at the same positions.
  case unchanged(any PreheatSource)
  /// The list differs: the new positions of the visible assets, and of those known positions whose assets still exist.
  case changed(any PreheatSource, visible: Range<Int>, moved: [Int: Int])
  /// The list must be read again, which the caller did not allow.
  case needsFullRead
  /// The list no longer exists.
  case gone
}
