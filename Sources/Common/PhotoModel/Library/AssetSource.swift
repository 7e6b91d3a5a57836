/// A page of assets and the cursor of the next page.
package struct AssetPage: Sendable {
  package var assets: [Asset]
  /// `nil` on the last page.
  package var nextCursor: PageCursor?
  /// The library state that the page was read from.
  package var changeToken: ChangeToken
  /// The number of assets in the whole list, in the state of `changeToken`; `nil` if it was not requested.
  package var count: Int?

  package init(assets: [Asset], nextCursor: PageCursor?, changeToken: ChangeToken, count: Int? = nil) {
    self.assets = assets
    self.nextCursor = nextCursor
    self.changeToken = changeToken
    self.count = count
  }
}

/// Why a call to the library failed.
package enum AssetSourceError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The cursor was not issued by this library, or it is one of another list.
  case malformedCursor
  /// The collection does not exist, the principal may not see it, or it is not a folder where one is required.
  case noSuchCollection
  /// The query exceeded its deadline.
  case queryTooExpensive
  /// More assets than the limit for one result.
  case tooManyAssets(limit: Int)
  /// No such asset, or none that the principal may see.
  case noSuchAsset(LocalIdentifier)
  /// The issuer of the principal's signed album no longer sees the album: see ``Principal/issuerVisibility``.
  case issuerLostAccess
  /// The catalogue failed; the text is for the log.
  case catalogueFailed(String)
  /// The catalogue failed because of its disk; the text is for the log.
  case storageFailed(StorageFault, String)

  /// For the log. Clients get a problem.
  package var description: String {
    switch self {
    case .malformedCursor: "the cursor is not one of this list"
    case .noSuchCollection: "there is no such collection"
    case .queryTooExpensive: "the query exceeded its deadline"
    case .tooManyAssets(let limit): "the result has more than \(limit) assets"
    case .noSuchAsset(let identifier): "there is no asset \(identifier.rawValue)"
    case .issuerLostAccess: "the issuer of the signed album no longer sees it"
    case .catalogueFailed(let reason): "the catalogue failed: \(reason)"
    case .storageFailed(let fault, let detail): "\(fault) (\(detail))"
    }
  }
}

/// The assets that changed since a state of the library, by its change history.
package struct TouchedIdentifiers: Sendable, Hashable {
  /// The state that the query ran in.
  package var changeToken: ChangeToken
  /// Inserted, updated or deleted since; `nil`: too many, or the history no longer covers that state.
  package var identifiers: Set<LocalIdentifier>?

  package init(changeToken: ChangeToken, identifiers: Set<LocalIdentifier>?) {
    self.changeToken = changeToken
    self.identifiers = identifiers
  }
}

/// The progress of the first scan.
package struct ScanState: Sendable, Hashable {
  package var isFirstScanComplete: Bool
  package var indexedCount: Int

  package init(isFirstScanComplete: Bool, indexedCount: Int) {
    self.isFirstScanComplete = isFirstScanComplete
    self.indexedCount = indexedCount
  }
}

/// The library as seen by the rest of the daemon. Calls block on SQLite: never call them on the queue of a connection.
package protocol AssetSource: Sendable {
  /// A number that changes with every change of the library, however small: data read at one value stays valid while
  /// the value is the same. A new placeholder does not change it; code that shows placeholders reads the asset. As
  /// cheap as reading a number.
  var generation: UInt64 { get }

  /// The generation of one asset, which commits that change only other assets leave current. It covers the properties
  /// and the visibility of the asset, and the content of its primary file, and none of its other files. As cheap as
  /// `generation`.
  func generation(of identifier: LocalIdentifier) -> AssetGeneration

  /// Whether data that was read at a generation, or after it, is still current. As cheap as `generation`.
  func isCurrent(_ generation: AssetGeneration) -> Bool

  /// The asset with that identifier; `nil` if it does not exist or the principal may not see it. Logarithmic in the
  /// size of the library.
  func asset(_ identifier: LocalIdentifier, for principal: Principal) throws(AssetSourceError) -> Asset?

  /// The assets with some identifiers, in the same order, by one query; `nil` for each that does not exist or that the
  /// principal may not see.
  func assets(
    named identifiers: [LocalIdentifier], for principal: Principal
  ) throws(AssetSourceError) -> [Asset?]

  /// The assets that the history lists since a state of the library, and the state that the query ran in. The cost
  /// depends on the number of these assets.
  ///
  /// - Parameter changeToken: `nil`: no known state.
  func touchedAssets(
    since changeToken: ChangeToken?, for principal: Principal
  ) throws(AssetSourceError) -> TouchedIdentifiers

  /// A page of all assets, hidden ones and every picture of a burst included, for work in the background. Newest first,
  /// ties by identifier. The cost does not depend on its position in the listing.
  ///
  /// - Parameters:
  ///   - cursor: the end of the previous page; `nil`: the first page.
  ///   - limit: at most this many assets, 1...1000.
  func assets(after cursor: PageCursor?, limit: Int) throws(AssetSourceError) -> AssetPage

  /// - Parameter principal: only assets that it may see are counted.
  func scanState(for principal: Principal) throws(AssetSourceError) -> ScanState
}
