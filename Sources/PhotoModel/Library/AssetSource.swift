/// A page of assets and where the next one starts.
package struct AssetPage: Sendable {
  package var assets: [Asset]
  /// Opaque; `nil` on the last page.
  package var nextCursor: String?
  /// The library's state that the page was read from.
  package var changeToken: String

  package init(assets: [Asset], nextCursor: String?, changeToken: String) {
    self.assets = assets
    self.nextCursor = nextCursor
    self.changeToken = changeToken
  }
}

/// What a listing is asked for.
package struct AssetQuery: Sendable, Hashable {
  /// At most this many assets, 1...1000.
  package var limit: Int
  /// Where the page before this one ended.
  package var cursor: String?
  package var includesHidden: Bool
  /// Also those pictures of a burst that another one stands for.
  package var includesAllBurstAssets: Bool
  package var countsAll: Bool

  package init(
    limit: Int = 100, cursor: String? = nil, includesHidden: Bool = false, includesAllBurstAssets: Bool = false,
    countsAll: Bool = false
  ) {
    self.limit = limit
    self.cursor = cursor
    self.includesHidden = includesHidden
    self.includesAllBurstAssets = includesAllBurstAssets
    self.countsAll = countsAll
  }
}

/// Why the library could not answer.
package enum AssetSourceError: Error, Sendable, Equatable {
  /// The cursor is not one that this library gave out.
  case malformedCursor
  /// There is no such collection, or none that the principal may see, or it is no folder where one is needed.
  case noSuchCollection
  /// It was not answered within its deadline.
  case queryTooExpensive
  /// There are more than may be held at once.
  case tooManyAssets(limit: Int)
  /// There is no asset of that name, or none that the principal may see.
  case noSuchAsset(LocalIdentifier)
  /// The catalogue itself failed; the text is for the log.
  case catalogueFailed(String)
  /// The same, because of its disk.
  case storageFailed(StorageFault, String)
}

/// What the history tells of assets since a state of the library.
package struct TouchedIdentifiers: Sendable, Hashable {
  /// The state that was asked in.
  package var changeToken: String
  /// What was inserted, updated or deleted since; `nil`: too many to be told, or it is not known any more.
  package var identifiers: Set<LocalIdentifier>?

  package init(changeToken: String, identifiers: Set<LocalIdentifier>?) {
    self.changeToken = changeToken
    self.identifiers = identifiers
  }
}

/// How far the first scan has come.
package struct ScanState: Sendable, Hashable {
  package var isFirstScanComplete: Bool
  package var indexedCount: Int

  package init(isFirstScanComplete: Bool, indexedCount: Int) {
    self.isFirstScanComplete = isFirstScanComplete
    self.indexedCount = indexedCount
  }
}

/// The library as the rest of the daemon sees it. Calls block for as long as SQLite does: never on a connection's queue.
package protocol AssetSource: Sendable {
  /// A number that is another after every change of the library, however small: what was learnt while it was one is still
  /// true while it is the same. A placeholder that was made is no change of the library, and who shows it asks for the
  /// asset. Costs no more than reading it.
  var generation: UInt64 { get }

  /// The asset of that name, or `nil` where there is none that the principal may see. Logarithmic in the library's size.
  func asset(_ identifier: LocalIdentifier, for principal: Principal) throws(AssetSourceError) -> Asset?

  /// The assets of some names, in their order, by one look into the library; `nil` where there is none that the principal
  /// may see.
  func assets(
    named identifiers: [LocalIdentifier], for principal: Principal
  ) throws(AssetSourceError) -> [Asset?]

  /// Which assets the history names since a state of the library, and the state that it was asked in. Its cost is that of what
  /// it names.
  ///
  /// - Parameter changeToken: `nil`: none that is known.
  func touchedAssets(
    since changeToken: String?, for principal: Principal
  ) throws(AssetSourceError) -> TouchedIdentifiers

  /// A page of assets, newest first, ties by identifier. Its cost does not depend on how far in it lies.
  func assets(_ query: AssetQuery, for principal: Principal) throws(AssetSourceError) -> AssetPage

  /// How many assets a listing with this query runs through in all.
  func assetCount(_ query: AssetQuery, for principal: Principal) throws(AssetSourceError) -> Int

  /// - Parameter principal: whose assets are counted.
  func scanState(for principal: Principal) throws(AssetSourceError) -> ScanState
}
