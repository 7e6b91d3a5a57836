import PhotoModel

/// The target of a change list entry: an existing object, or one that an earlier entry creates.
package enum ChangeTarget: Sendable, Hashable, CustomStringConvertible {
  case existing(LocalIdentifier)
  /// A placeholder such as `$name`.
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
    /// Replaces the adjustments of pictures. `keepsForeign` keeps the data of another program that a user set earlier.
    case setAdjustments([ChangeTarget], StoredAdjustments, keepsForeign: Bool = false)
    /// Removes the adjustments of pictures.
    case revertAdjustments([ChangeTarget])
    /// Moves the asset to the trash.
    case deleteAsset(ChangeTarget)
    case restoreAsset(LocalIdentifier)
    /// Creates an asset from a file in the library, given by its path in bytes relative to the root.
    case createAsset(path: [UInt8])
    /// Gives a placeholder to an upload that is already an asset.
    case createAssetFromUpload(LocalIdentifier)
    /// Creates an asset from a staged upload, and removes the staged upload. For the parameters see
    /// ``FileChange/createFromUpload(_:beside:needsOwnStem:day:)``.
    case createAssetFromStagedUpload(
      UploadIdentifier, beside: LocalIdentifier? = nil, needsOwnStem: Bool = false, day: Int? = nil)
    case createCollection(NewCollection)
    case updateCollection(ChangeTarget, CollectionUpdate)
    case deleteCollection(ChangeTarget)
    /// Moves albums and folders, also from other folders, into a folder before the one at this index, counted without
    /// them; `nil`: the top level.
    case placeCollections(ChangeTarget?, [ChangeTarget], index: Int)
    /// Moves the children of a folder to the end of the top level; collections that are not in it are ignored.
    case removeCollections(ChangeTarget?, [ChangeTarget])
    /// Appends assets; existing members keep their positions.
    case addAssets(ChangeTarget, [ChangeTarget])
    /// Removes members; assets that are not members are ignored.
    case removeAssets(ChangeTarget, [ChangeTarget])
    /// Inserts assets before the member at this index, counted without these assets. Assets that are already members
    /// are moved there.
    case insertAssets(ChangeTarget, [ChangeTarget], index: Int)
    /// Moves existing members; otherwise like `insertAssets`.
    case moveAssets(ChangeTarget, [ChangeTarget], index: Int)
    /// Replaces the members at these indexes.
    case replaceAssets(ChangeTarget, [ChangeTarget], indexes: [Int])
  }

  package var action: Action
  /// The revision that the object must have. ``ChangeToken/never`` matches no object.
  var ifMatch: ChangeToken?
  /// The placeholder by which later entries name the created object.
  package var placeholder: String?
  /// The member that names the pictures of `setAdjustments` and `revertAdjustments`: `asset`, or `assets` for a list.
  package var picturesMember = "asset"

  package init(_ action: Action, ifMatch: ChangeToken? = nil, placeholder: String? = nil) {
    self.action = action
    self.ifMatch = ifMatch
    self.placeholder = placeholder
  }
}

extension ChangeRequest {
  /// Whether the request may create an asset from a file.
  package var addsPictures: Bool {
    switch action {
    case .createAsset, .createAssetFromStagedUpload: true
    default: false
    }
  }

  /// Whether the request may change how pictures look.
  package var editsPictures: Bool {
    switch action {
    case .setAdjustments, .revertAdjustments: true
    default: false
    }
  }
}

/// The properties to set; `nil` leaves a property unchanged.
package struct AssetUpdate: Sendable, Hashable {
  package var isFavorite: Bool?
  package var isHidden: Bool?
  package var keepsOriginal: Bool?
  package var creationDate: Timestamp?
  /// The offset of `creationDate`, in minutes east of UTC; `nil` keeps the asset's offset.
  package var utcOffset: Int?
  /// `.some(nil)` removes the location.
  package var location: Location??
  /// `.some(nil)` removes the title; the same holds for the properties below. A removed value stays removed, even if
  /// the file contains one.
  package var title: String??
  package var caption: String??
  package var rating: Int??
  /// Without duplicates; empty removes all.
  package var keywords: [String]?
  /// Empty removes all.
  package var regions: [PictureRegion]?
  /// Whether the user picked this picture of its burst.
  package var isUserPick: Bool?
  /// Whether the update keeps the values that a user has set: date, location, title, caption and rating. `keywords` are
  /// added to the asset's keywords, unless a user has set those.
  package var onlyAdds = false

  package init(
    isFavorite: Bool? = nil, isHidden: Bool? = nil, creationDate: Timestamp? = nil, utcOffset: Int? = nil,
    location: Location?? = nil
  ) {
    self.isFavorite = isFavorite
    self.isHidden = isHidden
    self.creationDate = creationDate
    self.utcOffset = utcOffset
    self.location = location
  }
}

package struct NewCollection: Sendable, Hashable {
  package var isFolder: Bool
  package var title: String
  /// The parent folder; `nil` for the top level.
  package var parent: ChangeTarget?
  /// Identifies an imported album in its export, so that the next import finds it. If an album with this key exists, it
  /// is used, and none is created. See ``Catalogue/importedAlbums()``.
  var importKey: String?

  package init(isFolder: Bool, title: String, parent: ChangeTarget? = nil, importKey: String? = nil) {
    self.isFolder = isFolder
    self.title = title
    self.parent = parent
    self.importKey = importKey
  }
}

package struct CollectionUpdate: Sendable, Hashable {
  package var title: String?
  /// A member of the album; `.some(nil)` removes the key asset.
  package var keyAsset: ChangeTarget??
  /// `.some(nil)` moves the collection to the top level.
  package var parent: ChangeTarget??
  package var keepsOriginals: Bool?
  /// For an album that an import adds to: see ``NewCollection/importKey``.
  var importKey: String?

  package init(
    title: String? = nil, keyAsset: ChangeTarget?? = nil, parent: ChangeTarget?? = nil, importKey: String? = nil
  ) {
    self.title = title
    self.keyAsset = keyAsset
    self.parent = parent
    self.importKey = importKey
  }
}

/// Limits of a change list.
package struct ChangeLimits: Sendable, Hashable {
  /// The largest allowed value of `titleBytes` and `captionBytes`: the search index indexes only so much of a text.
  package static let maximumTextBytes = 65_536

  /// The maximum number of entries in a list.
  package var entries = 1000
  /// The maximum number of assets in one entry.
  package var assetsPerEntry = 10_000
  /// The maximum length of a title, in UTF-8 bytes.
  package var titleBytes = 512
  /// The maximum length of an asset's caption, in UTF-8 bytes.
  package var captionBytes = DescriptiveLimits.captionBytes
  /// The maximum number of an asset's keywords.
  package var keywords = DescriptiveLimits.keywords
  /// The maximum length of a keyword, in UTF-8 bytes.
  package var keywordBytes = DescriptiveLimits.wordBytes
  /// The maximum depth of nested folders.
  package var folderDepth = 16
  /// The maximum number of members of an album, and of collections in a folder.
  package var members = 1_000_000

  package init() {}
}

/// Why a change list was rejected. Nothing was changed.
package struct ChangeListError: Error, Sendable, Equatable {
  package enum Reason: Sendable, Equatable {
    case noSuchAsset(String)
    case noSuchCollection(String)
    /// A smart album or a moment, which are derived from the assets.
    case notEditable(String)
    case notAnAlbum(String)
    case notAFolder(String)
    /// No earlier entry creates an object with this placeholder, or it is of another kind.
    case noSuchPlaceholder(String)
    case placeholderInUse(String)
    /// The object's revision differs from the entry's `ifMatch`.
    case revisionMismatch(String)
    case notAMember(String)
    /// Only pictures have adjustments.
    case notAdjustable(String)
    /// Only a picture of a burst can be picked.
    case notOfBurst(String)
    /// At the asset's offset, the date is outside of the years 0 to 9999.
    case dayOutOfRange
    case namedTwice(String)
    /// The index is outside 0...most.
    case indexOutOfRange(most: Int)
    /// The folder would become its own descendant.
    case folderCycle
    case foldersTooDeep(limit: Int)
    case tooManyMembers(limit: Int)
    /// A principal with a limited library may create and move collections only into folders of that library.
    case outsideOfGrant
    /// The principal may not use this action.
    case forbidden
    case files(LibraryFilesError)
    case source(AssetSourceError)
  }

  /// The index of the entry at fault; `nil` if no single entry is.
  package var index: Int?
  /// The JSON member of the entry at fault.
  package var parameter: String?
  package var reason: Reason

  package init(_ reason: Reason, index: Int? = nil, parameter: String? = nil) {
    self.reason = reason
    self.index = index
    self.parameter = parameter
  }
}

/// The result of a change list.
package struct ChangeOutcome: Sendable, Hashable {
  /// The state of the library after the change, as the principal can see it.
  package var changeToken: ChangeToken
  /// Created objects, by placeholder.
  package var created: [String: LocalIdentifier]
  /// Created objects without a placeholder, by the index of their entry.
  package var createdByIndex: [Int: LocalIdentifier]
}
