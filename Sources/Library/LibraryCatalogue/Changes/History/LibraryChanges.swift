import PhotoModel

/// The changes of all objects of one kind between two states of the library. Each object is named at most once.
package struct ObjectChanges: Sendable, Hashable {
  package struct Update: Sendable, Hashable {
    package var localIdentifier: LocalIdentifier
    /// The asset has a new content version.
    package var isContentChanged: Bool

    package init(localIdentifier: LocalIdentifier, isContentChanged: Bool) {
      self.localIdentifier = localIdentifier
      self.isContentChanged = isContentChanged
    }
  }

  package var inserted: [LocalIdentifier] = []
  package var updated: [Update] = []
  package var deleted: [LocalIdentifier] = []

  package init() {}

  package var isEmpty: Bool { inserted.isEmpty && updated.isEmpty && deleted.isEmpty }
}

/// The changes between two states of the library.
package struct LibraryChanges: Sendable, Hashable {
  /// The later state.
  package var changeToken: ChangeToken
  package var assets = ObjectChanges()
  package var collections = ObjectChanges()
  /// There are more changes after `changeToken`.
  package var hasMore = false

  package var isEmpty: Bool { assets.isEmpty && collections.isEmpty }

  package init(changeToken: ChangeToken) { self.changeToken = changeToken }
}

/// Selects the changes that a client wants.
package struct ChangeFilter: Sendable, Hashable {
  package enum ObjectType: String, Sendable, Hashable, CaseIterable {
    case asset, collection
  }

  package var types: Set<ObjectType>
  /// Only changes of this collection: of itself, of its members, and members that enter or leave.
  package var collection: LocalIdentifier?
  /// Only changes of this asset.
  package var asset: LocalIdentifier?

  package init(
    types: Set<ObjectType> = Set(ObjectType.allCases), collection: LocalIdentifier? = nil,
    asset: LocalIdentifier? = nil
  ) {
    self.types = types
    self.collection = collection
    self.asset = asset
  }
}

/// Why the history could not be read.
package enum ChangeHistoryError: Error, Sendable, Equatable {
  /// The token was not issued by this library.
  case malformedToken
  /// The history no longer reaches back to the token.
  case expiredToken
  /// The collection does not exist, or the principal can't see it.
  case noSuchCollection
  /// The asset never existed, or the principal never saw it.
  case noSuchAsset
  case source(AssetSourceError)
}
