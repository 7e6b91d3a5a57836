/// PHCollection's kinds, as clients name them.
package enum CollectionType: String, Sendable, Hashable, CaseIterable {
  case album, smartAlbum, moment, folder
}

/// PHAssetCollection or PHCollectionList: an immutable snapshot.
package struct AssetCollection: Sendable, Hashable {
  package var localIdentifier: LocalIdentifier
  package var type: CollectionType
  /// PhotoKit's name of the subtype, such as `albumRegular` or `smartAlbumFavorites`.
  package var subtype: String
  package var title: String?
  /// Of the oldest and the newest of its assets; `nil` where it has none.
  package var startDate: Timestamp?
  package var endDate: Timestamp?
  /// Of a collection its assets, of a folder its collections.
  package var estimatedAssetCount: Int
  /// Those that stand for it, at most ``mostKeyAssets``.
  package var keyAssets: [LocalIdentifier]
  /// The token of its last change.
  package var revision: String

  package static let mostKeyAssets = 3

  package init(
    localIdentifier: LocalIdentifier, type: CollectionType, subtype: String, title: String? = nil,
    startDate: Timestamp? = nil, endDate: Timestamp? = nil, estimatedAssetCount: Int = 0,
    keyAssets: [LocalIdentifier] = [], revision: String = "0"
  ) {
    self.localIdentifier = localIdentifier
    self.type = type
    self.subtype = subtype
    self.title = title
    self.startDate = startDate
    self.endDate = endDate
    self.estimatedAssetCount = estimatedAssetCount
    self.keyAssets = keyAssets
    self.revision = revision
  }
}

/// Which collections are asked for.
package struct CollectionQuery: Sendable, Hashable {
  /// `nil`: of every type but moments and the lists above them, of which there are thousands.
  package var type: CollectionType?
  package var subtype: String?
  /// Only those in this folder or list.
  package var parent: LocalIdentifier?
  /// 1...1000.
  package var limit: Int
  package var cursor: String?
  /// What their counts, dates and key assets are taken from.
  package var includesHidden: Bool
  package var includesAllBurstAssets: Bool

  package init(
    type: CollectionType? = nil, subtype: String? = nil, parent: LocalIdentifier? = nil, limit: Int = 100,
    cursor: String? = nil, includesHidden: Bool = false, includesAllBurstAssets: Bool = false
  ) {
    self.type = type
    self.subtype = subtype
    self.parent = parent
    self.limit = limit
    self.cursor = cursor
    self.includesHidden = includesHidden
    self.includesAllBurstAssets = includesAllBurstAssets
  }
}

package struct CollectionPage: Sendable {
  package var collections: [AssetCollection]
  /// Opaque; `nil` on the last page.
  package var nextCursor: String?

  package init(collections: [AssetCollection], nextCursor: String?) {
    self.collections = collections
    self.nextCursor = nextCursor
  }
}

/// The library's collections. Calls block for as long as SQLite does: never on a connection's queue.
package protocol CollectionSource: Sendable {
  /// Smart albums and albums by their place, moments and lists newest first. The cost depends on `limit` and on how many
  /// albums there are, not on how many assets.
  func collections(
    _ query: CollectionQuery, for principal: Principal
  ) throws(AssetSourceError) -> CollectionPage

  /// The collection of that name, or `nil` where there is none that the principal may see.
  func collection(
    _ identifier: LocalIdentifier, _ query: CollectionQuery, for principal: Principal
  ) throws(AssetSourceError) -> AssetCollection?
}
