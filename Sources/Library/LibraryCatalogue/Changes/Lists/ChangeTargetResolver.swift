import GRDB
import PhotoModel

/// Finds the objects that change list entries name. Objects that the principal can't see are not found.
struct ChangeTargetResolver {
  let db: Database
  let library: LibraryID
  let principal: Principal
  let files: any FileChangePreparing

  struct Collection {
    let row: Int64
    let type: CollectionType
    /// The folder, as the library shows it: `nil` at its top level, also below a folder that the library does not have.
    let parent: Int64?
    let revision: Int64
  }

  func asset(_ identifier: LocalIdentifier, _ parameter: String) throws -> Int64 {
    guard let row = try library.asset(identifier, db) else {
      throw ChangeListError(.noSuchAsset(identifier.rawValue), parameter: parameter)
    }
    return row
  }

  /// An asset that the principal can see, or has created and may put into an album.
  func newMember(_ identifier: LocalIdentifier, _ parameter: String) throws -> Int64 {
    if files.isUpload(identifier, of: principal), let row = try LibraryID.whole.asset(identifier, db) { return row }
    return try asset(identifier, parameter)
  }

  func collection(_ identifier: LocalIdentifier, _ parameter: String) throws -> Collection {
    let row = try Row.fetchOne(
      db.cachedStatement(
        sql: """
          SELECT collection.id, collection.type, above.collection, revision
          FROM libraryCollection CROSS JOIN collection ON collection.id = libraryCollection.collection
            LEFT JOIN libraryCollection AS above
              ON above.collection = collection.parent AND above.library = libraryCollection.library
          WHERE libraryCollection.library = ? AND libraryCollection.localIdentifier = ?
          """), arguments: [library.row, identifier.rawValue])
    if let row, let type = CollectionType(rawValue: row[1]) {
      if type == .smartAlbum { throw ChangeListError(.notEditable(identifier.rawValue), parameter: parameter) }
      return Collection(row: row[0], type: type, parent: row[2], revision: row[3])
    }
    let derived = try CollectionReader(db, CollectionQuery(), principal, library).collection(identifier)
    throw ChangeListError(
      derived == nil ? .noSuchCollection(identifier.rawValue) : .notEditable(identifier.rawValue),
      parameter: parameter)
  }

  // MARK: Validation

  /// Checks that the named objects exist and have the expected revisions.
  func validate(_ request: ChangeRequest) throws {
    switch request.action {
    case .updateAsset(.existing(let identifier), _), .deleteAsset(.existing(let identifier)):
      _ = try asset(identifier, "asset")
    case .setAdjustments(let targets, _, _), .revertAdjustments(let targets):
      for case .existing(let identifier) in targets { _ = try asset(identifier, request.picturesMember) }
    case .createAssetFromUpload(let identifier): _ = try newMember(identifier, "upload")
    case .updateCollection(.existing(let identifier), _), .deleteCollection(.existing(let identifier)),
      .addAssets(.existing(let identifier), _), .removeAssets(.existing(let identifier), _),
      .insertAssets(.existing(let identifier), _, _), .moveAssets(.existing(let identifier), _, _),
      .replaceAssets(.existing(let identifier), _, _):
      _ = try collection(identifier, "collection")
    case .placeCollections(let folder, let collections, _), .removeCollections(let folder, let collections):
      if case .existing(let identifier) = folder { _ = try collection(identifier, "parent") }
      for case .existing(let identifier) in collections { _ = try collection(identifier, "collections") }
    case .createAsset where principal.visibility != .everything:
      // The response must not reveal whether the file exists.
      throw ChangeListError(.forbidden, parameter: "path")
    default: break
    }
    try checkRevision(request)
  }

  /// Checks the object's revision against the entry's `ifMatch`.
  func checkRevision(_ request: ChangeRequest) throws {
    guard let expected = request.ifMatch else { return }
    let revision: Int64?
    let name: String
    switch request.action {
    case .updateAsset(.existing(let identifier), _), .deleteAsset(.existing(let identifier)):
      name = identifier.rawValue
      revision = try assetRevision(name)
    case .setAdjustments(let targets, _, _), .revertAdjustments(let targets):
      guard targets.count == 1, case .existing(let identifier)? = targets.first else {
        throw ChangeListError(
          .revisionMismatch(targets.first?.description ?? "a list of assets"), parameter: "ifMatch")
      }
      name = identifier.rawValue
      revision = try assetRevision(name)
    case .updateCollection(let target, _), .deleteCollection(let target), .addAssets(let target, _),
      .removeAssets(let target, _), .insertAssets(let target, _, _), .moveAssets(let target, _, _),
      .replaceAssets(let target, _, _):
      guard case .existing(let identifier) = target else {
        throw ChangeListError(.revisionMismatch(target.description), parameter: "ifMatch")
      }
      name = identifier.rawValue
      revision = try collectionRevision(name)
    case .placeCollections(let target, _, _), .removeCollections(let target, _):
      guard case .existing(let identifier) = target else {
        throw ChangeListError(.revisionMismatch(target?.description ?? "the top level"), parameter: "ifMatch")
      }
      name = identifier.rawValue
      revision = try collectionRevision(name)
    case .updateAsset(let target, _), .deleteAsset(let target):
      throw ChangeListError(.revisionMismatch(target.description), parameter: "ifMatch")
    case .restoreAsset, .createAsset, .createAssetFromUpload, .createAssetFromStagedUpload, .createCollection: return
    }
    if revision != expected.number { throw ChangeListError(.revisionMismatch(name), parameter: "ifMatch") }
  }

  private func assetRevision(_ name: String) throws -> Int64? {
    let column = principal.may(.location) ? "revision" : "coalesce(nonLocationRevision, revision)"
    return try Int64.fetchOne(
      db.cachedStatement(
        sql: """
          SELECT \(column) FROM libraryAsset CROSS JOIN asset ON asset.id = libraryAsset.asset
          WHERE libraryAsset.library = ? AND libraryAsset.localIdentifier = ?
          """), arguments: [library.row, name])
  }

  private func collectionRevision(_ name: String) throws -> Int64? {
    try Int64.fetchOne(
      db.cachedStatement(sql: "SELECT revision FROM collection WHERE localIdentifier = ?"), arguments: [name])
  }
}
