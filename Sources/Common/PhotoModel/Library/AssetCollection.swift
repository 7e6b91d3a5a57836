/// The types of PHCollection, as clients name them.
package enum CollectionType: String, Sendable, Hashable, CaseIterable {
  case album, smartAlbum, moment, folder
}

/// PHAssetCollection or PHCollectionList: an immutable snapshot.
package struct AssetCollection: Sendable, Hashable {
  package var localIdentifier: LocalIdentifier
  package var type: CollectionType
  /// The subtype by its PhotoKit name, such as `albumRegular` or `smartAlbumFavorites`.
  package var subtype: String
  package var title: String?
  /// The folder or list that it is in; `nil` at the top level, and if the principal can't see the folder.
  package var parent: LocalIdentifier?
  /// The dates of the oldest and the newest asset; `nil` for an empty collection.
  package var startDate: Timestamp?
  package var endDate: Timestamp?
  /// The day of a moment, such as `2024-05-06`; `nil` for all other collections.
  package var day: String?
  /// The number of its assets: for a folder or list, of everything below it, each asset once.
  package var estimatedAssetCount: Int
  /// The number of collections directly in a folder or list; 0 for other types.
  package var estimatedCollectionCount = 0
  /// The key assets, at most ``maximumKeyAssets``: only assets that can be rendered.
  package var keyAssets: [LocalIdentifier]
  /// Whether the originals of its assets are kept on this machine, if the library is a remote one.
  package var keepsOriginals = false
  /// The token of its last change; `nil` for a collection that has no history: a list of moments, or a transient one.
  package var revision: ChangeToken?

  package static let maximumKeyAssets = 3

  package init(
    localIdentifier: LocalIdentifier, type: CollectionType, subtype: String, title: String? = nil,
    startDate: Timestamp? = nil, endDate: Timestamp? = nil, estimatedAssetCount: Int = 0,
    keyAssets: [LocalIdentifier] = [], revision: ChangeToken? = nil
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

/// A query for collections.
package struct CollectionQuery: Sendable, Hashable {
  /// `nil`: every type except moments and their lists, which number in the thousands.
  package var type: CollectionType?
  package var subtype: String?
  /// Only the children of this folder or list, in its own order; ``LocalIdentifier/topLevel`` for the user's albums and
  /// folders that are in no folder.
  package var parent: LocalIdentifier?
  /// Only collections that list this asset.
  package var containing: LocalIdentifier?
  /// 1...1000.
  package var limit: Int
  package var cursor: PageCursor?
  /// Whether hidden assets contribute to counts, dates and key assets.
  package var includesHidden: Bool
  package var includesAllBurstAssets: Bool

  package init(
    type: CollectionType? = nil, subtype: String? = nil, parent: LocalIdentifier? = nil,
    containing: LocalIdentifier? = nil, limit: Int = 100, cursor: PageCursor? = nil, includesHidden: Bool = false,
    includesAllBurstAssets: Bool = false
  ) {
    self.type = type
    self.subtype = subtype
    self.parent = parent
    self.containing = containing
    self.limit = limit
    self.cursor = cursor
    self.includesHidden = includesHidden
    self.includesAllBurstAssets = includesAllBurstAssets
  }
}

extension LocalIdentifier {
  /// Means the top level where a folder's identifier is expected. No collection has this identifier.
  package static let topLevel = LocalIdentifier("root")
}

package struct CollectionPage: Sendable {
  package var collections: [AssetCollection]
  /// `nil` on the last page.
  package var nextCursor: PageCursor?

  package init(collections: [AssetCollection], nextCursor: PageCursor?) {
    self.collections = collections
    self.nextCursor = nextCursor
  }
}
