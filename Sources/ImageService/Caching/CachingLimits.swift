import PhotoModel

/// What caching managers may take.
package struct CachingLimits: Sendable {
  /// Managers in all, the `default` ones that are in use among them.
  package var managers = 256
  /// Managers of one principal, beside its `default` one.
  package var managersPerPrincipal = 16
  /// What one manager prepares at a time: assets, each counted once a size.
  package var assets = 4096
  /// The same of all managers together; each takes about a kilobyte.
  package var assetsInAll = 16_384
  /// How long one is kept that nobody uses, unless it was made for less.
  package var lease = Duration.seconds(300)
  /// How windows follow what is visible.
  package var rules = PreheatWindow.Rules()

  package init() {}
}

/// The list that a window moves over.
///
/// Calls ask the catalogue: never on a connection's queue.
package protocol PreheatSource: Sendable {
  /// Two sources of one name are the same list.
  var name: String { get }

  /// How many positions it has now. It asks nobody.
  var count: Int { get }

  /// The assets at some positions, all within the list; `nil` for those that are gone, or not for its owner. One
  /// transaction.
  func assets(at positions: [Int]) throws(AssetSourceError) -> [Asset?]

  /// The list as it is now, after the library has changed; `nil`: there is none any more.
  func refreshed() throws(AssetSourceError) -> (any PreheatSource)?

  /// Nobody needs it any more.
  func end()
}
