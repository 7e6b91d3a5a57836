import PhotoModel

/// What an entry of a change list is about: something of the library, or what an entry before it creates.
package enum ChangeTarget: Sendable, Hashable, CustomStringConvertible {
  case existing(LocalIdentifier)
  /// `$name`.
  case placeholder(String)

  package var description: String {
    switch self {
    case .existing(let identifier): identifier.rawValue
    case .placeholder(let name): name
    }
  }
}

/// An entry of a change list: PHAssetChangeRequest, PHAssetCollectionChangeRequest and PHCollectionListChangeRequest.
package struct ChangeRequest: Sendable, Hashable {
  package enum Action: Sendable, Hashable {
    case updateAsset(ChangeTarget, AssetUpdate)
    /// To the trash.
    case deleteAsset(ChangeTarget)
    case restoreAsset(LocalIdentifier)
    /// Of a file that lies in the library: bytes below its root.
    case createAsset(path: [UInt8])
    /// Of what was uploaded before, which is an asset by now: gives it a placeholder.
    case useUpload(LocalIdentifier)
    case createCollection(NewCollection)
    case updateCollection(ChangeTarget, CollectionUpdate)
    case deleteCollection(ChangeTarget)
    /// Behind the others; those that are members stay where they are.
    case addAssets(ChangeTarget, [ChangeTarget])
    /// Those that are no members are left alone.
    case removeAssets(ChangeTarget, [ChangeTarget])
    /// Before the member at this index, counted without these assets; those that are members move there.
    case insertAssets(ChangeTarget, [ChangeTarget], index: Int)
    /// The same, for members alone.
    case moveAssets(ChangeTarget, [ChangeTarget], index: Int)
    /// In the place of the members at these indexes.
    case replaceAssets(ChangeTarget, [ChangeTarget], indexes: [Int])
  }

  package var action: Action
  /// What the object's revision must be.
  package var ifMatch: String?
  /// What later entries call what this one creates.
  package var placeholder: String?

  package init(_ action: Action, ifMatch: String? = nil, placeholder: String? = nil) {
    self.action = action
    self.ifMatch = ifMatch
    self.placeholder = placeholder
  }
}

/// What is to be another; `nil`: stays as it is.
package struct AssetUpdate: Sendable, Hashable {
  package var isFavorite: Bool?
  package var isHidden: Bool?
  package var creationDate: Timestamp?
  /// `.some(nil)`: no place.
  package var location: Location??

  package init(
    isFavorite: Bool? = nil, isHidden: Bool? = nil, creationDate: Timestamp? = nil, location: Location?? = nil
  ) {
    self.isFavorite = isFavorite
    self.isHidden = isHidden
    self.creationDate = creationDate
    self.location = location
  }
}

package struct NewCollection: Sendable, Hashable {
  package var isFolder: Bool
  package var title: String
  /// The folder that it lies in; `nil`: at the top.
  package var parent: ChangeTarget?

  package init(isFolder: Bool, title: String, parent: ChangeTarget? = nil) {
    self.isFolder = isFolder
    self.title = title
    self.parent = parent
  }
}

package struct CollectionUpdate: Sendable, Hashable {
  package var title: String?
  /// Of an album, one of its members; `.some(nil)`: none in particular.
  package var keyAsset: ChangeTarget??
  /// `.some(nil)`: to the top.
  package var parent: ChangeTarget??

  package init(title: String? = nil, keyAsset: ChangeTarget?? = nil, parent: ChangeTarget?? = nil) {
    self.title = title
    self.keyAsset = keyAsset
    self.parent = parent
  }
}

/// How large a change list may be.
package struct ChangeLimits: Sendable, Hashable {
  /// Entries of a list.
  package var entries = 1000
  /// Assets that one entry names.
  package var assetsAnEntry = 10_000
  /// Bytes of a title in UTF-8.
  package var titleBytes = 512
  /// Folders that lie in one another.
  package var folderDepth = 16
  /// Members of an album, and collections in a folder.
  package var members = 1_000_000

  package init() {}
}

/// Why a change list was not carried out. Nothing has changed then.
package struct ChangeListError: Error, Sendable, Equatable {
  package enum Reason: Sendable, Equatable {
    case noSuchAsset(String)
    case noSuchCollection(String)
    /// A smart album or a moment, which follow from what is in the library.
    case notEditable(String)
    case notAnAlbum(String)
    case notAFolder(String)
    /// Nothing before this entry creates it, or something of another kind.
    case noSuchPlaceholder(String)
    case placeholderInUse(String)
    /// The object's revision is not what the entry says it must be.
    case revisionMismatch(String)
    case notAMember(String)
    case namedTwice(String)
    /// Indexes go from 0 to this.
    case indexOutOfRange(most: Int)
    /// A folder can't lie in itself.
    case folderCycle
    case foldersTooDeep(limit: Int)
    case tooManyMembers(limit: Int)
    /// Somebody who sees some collections alone makes others in folders among them.
    case outsideOfGrant
    /// The principal may not do this at all.
    case forbidden
    case files(LibraryFilesError)
    case source(AssetSourceError)
  }

  /// The entry at fault; `nil`: none in particular.
  package var index: Int?
  /// The member of the entry at fault.
  package var parameter: String?
  package var reason: Reason

  package init(_ reason: Reason, index: Int? = nil, parameter: String? = nil) {
    self.reason = reason
    self.index = index
    self.parameter = parameter
  }
}

/// What a change list did.
package struct ChangeOutcome: Sendable, Hashable {
  /// The state of the library that a principal may know of afterwards.
  package var changeToken: String
  /// What was created, by placeholders.
  package var created: [String: LocalIdentifier]
  /// What was created without one, in the order of the entries, by their indexes.
  package var unnamed: [Int: LocalIdentifier]
}
