import PhotoModel

/// What became of the objects of a kind between two states of the library, each named once.
package struct ObjectChanges: Sendable, Hashable {
  package struct Update: Sendable, Hashable {
    package var localIdentifier: LocalIdentifier
    /// An asset's content version is another one.
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

/// What changed since a state of the library, up to a later one.
package struct LibraryChanges: Sendable, Hashable {
  /// The later one, as text.
  package var changeToken: String
  package var assets = ObjectChanges()
  package var collections = ObjectChanges()
  /// There is more behind `changeToken`.
  package var hasMore = false

  package var isEmpty: Bool { assets.isEmpty && collections.isEmpty }

  package init(changeToken: String) { self.changeToken = changeToken }
}

/// What somebody wants to hear of.
package struct ChangeFilter: Sendable, Hashable {
  package enum ObjectType: String, Sendable, Hashable, CaseIterable {
    case asset, collection
  }

  package var types: Set<ObjectType>
  /// Of this collection alone: itself, what comes into it, what goes from it and what changes in it.
  package var collection: LocalIdentifier?

  package init(types: Set<ObjectType> = Set(ObjectType.allCases), collection: LocalIdentifier? = nil) {
    self.types = types
    self.collection = collection
  }
}

/// Why the history could not answer.
package enum ChangeHistoryError: Error, Sendable, Equatable {
  /// No token that this library gave out.
  case malformedToken
  /// What came right behind it is not known any more.
  case expiredToken
  /// There is no such collection, or none that the principal may see.
  case noSuchCollection
  case source(AssetSourceError)
}
