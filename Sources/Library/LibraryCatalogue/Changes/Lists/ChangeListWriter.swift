// Carries out the entries of one change list in order, within its transaction. Triggers update counters, stale days,
// the history and revisions.

import GRDB
import PhotoModel
import Primitives

struct ChangeListWriter {
  let targets: ChangeTargetResolver
  let limits: ChangeLimits
  let prepared: PendingFileChanges
  var assets: AssetWriter
  let token: Int64
  /// The number of prepared file changes that were committed so far.
  private var fileChanges = 0
  private var placeholders: [String: CreatedObject] = [:]
  /// Created objects without a placeholder, by the index of their entry.
  private var unnamed: [Int: CreatedObject] = [:]
  /// The number of collections in each folder in which entries have created some, so that a list which creates many
  /// counts them only once. Cleared by entries that may move or delete collections.
  var childCounts: [Int64: Int] = [:]

  private enum CreatedObject {
    /// The asset that the entry created or found, and the path of the new file, because a later entry may join that
    /// file to another asset. The path is `nil` if the entry added no file.
    case asset(LocalIdentifier, path: [UInt8]?)
    case collection(LocalIdentifier)
  }

  var db: Database { targets.db }

  init(
    targets: ChangeTargetResolver, limits: ChangeLimits, prepared: PendingFileChanges, assets: AssetWriter,
    token: Int64
  ) {
    self.targets = targets
    self.limits = limits
    self.prepared = prepared
    self.assets = assets
    self.token = token
  }

  mutating func perform(_ request: ChangeRequest, at index: Int) throws {
    switch request.action {
    case .updateCollection, .deleteCollection, .placeCollections, .removeCollections: childCounts = [:]
    default: break
    }
    switch request.action {
    case .updateAsset(let target, let update): try self.update(try asset(target, "asset"), target, update)
    case .setAdjustments(let targets, let adjustments, let keepsForeign):
      for (row, target) in try members(targets, request.picturesMember) {
        do { try assets.setAdjustments(adjustments, of: row, keepsForeign: keepsForeign) } catch is NoPictureError {
          throw ChangeListError(.notAdjustable(target.description), parameter: request.picturesMember)
        }
      }
    case .revertAdjustments(let targets):
      for (row, _) in try members(targets, request.picturesMember) { try assets.revertAdjustments(of: row) }
    case .deleteAsset(let target):
      guard case .existing = target else { throw ChangeListError(.noSuchAsset(target.description), parameter: "asset") }
      _ = try commitFileChange()
    case .restoreAsset, .createAsset, .createAssetFromStagedUpload:
      try recordCreated(request, index, try commitFileChange())
    case .createAssetFromUpload(let identifier):
      _ = try newMember(identifier, "upload")
      try recordCreated(request, index, .asset(identifier, path: nil))
    case .createCollection(let collection):
      try recordCreated(request, index, .collection(try create(collection)))
    case .updateCollection(let target, let update): try self.update(try collection(target, "collection"), update)
    case .deleteCollection(let target):
      let collection = try collection(target, "collection")
      try run("DELETE FROM collection WHERE id = ?", [collection.row])
    case .placeCollections(let parent, let collections, let index):
      try place(collections, in: try folderRow(parent), at: index)
    case .removeCollections(let parent, let collections):
      try remove(collections, from: try folderRow(parent))
    case .addAssets(let target, let assets):
      let album = try album(target)
      let rows = try newMembers(assets).map(\.row)
      let added = try rows.filter { try !album.contains($0) }
      try checkCapacity(of: album, adding: added.count)
      try album.append(added)
    case .removeAssets(let target, let assets):
      let album = try album(target)
      let rows = try members(assets).map(\.row)
      for row in rows { try album.remove(row) }
      try clearKeyAsset(album, rows)
    case .insertAssets(let target, let assets, let position):
      try put(try newMembers(assets).map(\.row), into: try album(target), at: position)
    case .moveAssets(let target, let assets, let position):
      let album = try album(target)
      let moved = try members(assets)
      for (row, name) in moved where try !album.contains(row) {
        throw ChangeListError(.notAMember(name.description), parameter: "assets")
      }
      try put(moved.map(\.row), into: album, at: position)
    case .replaceAssets(let target, let assets, let indexes):
      try replace(try album(target), try newMembers(assets), assets, indexes)
    }
  }

  // MARK: Names

  private mutating func recordCreated(_ request: ChangeRequest, _ index: Int, _ object: CreatedObject) throws {
    guard let name = request.placeholder else {
      unnamed[index] = object
      return
    }
    guard placeholders[name] == nil else { throw ChangeListError(.placeholderInUse(name), parameter: "placeholder") }
    placeholders[name] = object
  }

  /// The created objects by placeholder, after the last entry.
  func created() throws -> [String: LocalIdentifier] { try placeholders.mapValues { try identifier(of: $0) } }

  /// The created objects without a placeholder by the index of their entry, after the last entry.
  func createdByIndex() throws -> [Int: LocalIdentifier] { try unnamed.mapValues { try identifier(of: $0) } }

  private func identifier(of object: CreatedObject) throws -> LocalIdentifier {
    switch object {
    case .collection(let identifier): return identifier
    case .asset(let identifier, let path):
      guard let row = try row(of: identifier, path) else { return identifier }
      let current = try String.fetchOne(
        db.cachedStatement(sql: "SELECT localIdentifier FROM asset WHERE id = ?"), arguments: [row])
      return current.map { LocalIdentifier($0) } ?? identifier
    }
  }

  /// The row of the asset that the new file belongs to now.
  private func row(of identifier: LocalIdentifier, _ path: [UInt8]?) throws -> Int64? {
    if let path, let file = try assets.fileRow(at: path), let row = file.asset { return row }
    return try assets.currentAsset(identifier)
  }

  func asset(_ target: ChangeTarget, _ parameter: String) throws -> Int64 {
    switch target {
    case .existing(let identifier):
      if let row = assets.merged[identifier] { return row }
      return try targets.asset(identifier, parameter)
    case .placeholder(let name):
      guard case .asset(let identifier, let path) = placeholders[name] else {
        throw ChangeListError(.noSuchPlaceholder(name), parameter: parameter)
      }
      guard let row = try row(of: identifier, path) else {
        // A later entry has deleted it.
        throw ChangeListError(.noSuchAsset(name), parameter: parameter)
      }
      return row
    }
  }

  /// An asset that an entry puts into an album. A limited principal may have created it and not see it yet.
  private func newMember(_ identifier: LocalIdentifier, _ parameter: String) throws -> Int64 {
    if let row = assets.merged[identifier] { return row }
    return try targets.newMember(identifier, parameter)
  }

  func collection(_ target: ChangeTarget, _ parameter: String) throws -> ChangeTargetResolver.Collection {
    switch target {
    case .existing(let identifier): return try targets.collection(identifier, parameter)
    case .placeholder(let name):
      guard case .collection(let identifier) = placeholders[name] else {
        throw ChangeListError(.noSuchPlaceholder(name), parameter: parameter)
      }
      return try targets.collection(identifier, parameter)
    }
  }

  func album(_ target: ChangeTarget) throws -> AlbumOrder {
    let collection = try collection(target, "collection")
    guard collection.type == .album else {
      throw ChangeListError(.notAnAlbum(target.description), parameter: "collection")
    }
    return AlbumOrder(db: db, row: collection.row)
  }

  /// An asset that an entry names.
  typealias Member = (row: Int64, name: ChangeTarget)

  /// The assets of an entry, each once. Two names may stand for one asset, such as the halves of a live photo that the
  /// list creates. Throws if an entry has the same name twice.
  func members(_ targets: [ChangeTarget], _ parameter: String = "assets") throws -> [Member] {
    try members(targets, parameter) { try asset($0, parameter) }
  }

  /// The assets that an entry puts into an album: see ``newMember(_:_:)``.
  func newMembers(_ targets: [ChangeTarget]) throws -> [Member] {
    try members(targets, "assets") { target in
      guard case .existing(let identifier) = target else { return try asset(target, "assets") }
      return try newMember(identifier, "assets")
    }
  }

  private func members(
    _ targets: [ChangeTarget], _ parameter: String, _ find: (ChangeTarget) throws -> Int64
  ) throws -> [Member] {
    var names: Set<ChangeTarget> = []
    var rows: Set<Int64> = []
    var members: [Member] = []
    for target in targets {
      guard names.insert(target).inserted else {
        throw ChangeListError(.namedTwice(target.description), parameter: parameter)
      }
      let row = try find(target)
      if rows.insert(row).inserted { members.append((row: row, name: target)) }
    }
    return members
  }

  // MARK: Assets

  private mutating func commitFileChange() throws -> CreatedObject {
    defer { fileChanges += 1 }
    let path = prepared.steps[fileChanges].newFilePath
    do {
      return .asset(try prepared.commit(fileChanges, &assets).identifier, path: path)
    } catch let error as LibraryFilesError {
      throw ChangeListError(.files(error))
    }
  }

  /// Updates an asset. A no-op update creates no token, revision or event.
  ///
  /// The statements set `revision` and `modificationDate` themselves, which saves the triggers a second update of the
  /// row. The location statement does not, because confirming the file's own location is not a visible change.
  private func update(_ asset: Int64, _ name: ChangeTarget, _ update: AssetUpdate) throws {
    let update = update.onlyAdds ? try additions(of: update, to: asset) : update
    if let isFavorite = update.isFavorite {
      try run(
        """
        UPDATE asset SET isFavorite = ?1, revision = ?3, modificationDate = ?4 WHERE id = ?2 AND isFavorite <> ?1
        """, [isFavorite, asset, token, assets.now])
    }
    if let isHidden = update.isHidden {
      try run(
        "UPDATE asset SET isHidden = ?1, revision = ?3, modificationDate = ?4 WHERE id = ?2 AND isHidden <> ?1",
        [isHidden, asset, token, assets.now])
    }
    if let keepsOriginal = update.keepsOriginal {
      try run(
        """
        UPDATE asset SET keepsOriginal = ?1, revision = ?3, modificationDate = ?4 WHERE id = ?2 AND keepsOriginal <> ?1
        """, [keepsOriginal, asset, token, assets.now])
    }
    if let date = update.creationDate {
      try run(
        """
        UPDATE asset SET creationDate = ?1, creationDateSource = ?2, revision = ?4, modificationDate = ?5,
          utcOffset = coalesce(?6, utcOffset), zoneOffset = ?7
        WHERE id = ?3 AND (creationDate, creationDateSource, utcOffset) IS NOT (?1, ?2, coalesce(?6, utcOffset))
        """,
        [
          date.milliseconds, DateSource.user.rawValue, asset, token, assets.now, update.utcOffset,
          assets.calendar.zoneOffset(at: date),
        ])
      try checkDay(of: asset)
    }
    if let location = update.location {
      try run(
        """
        UPDATE asset SET latitude = ?1, longitude = ?2, altitude = ?3, hasUserLocation = 1,
          placeCity = \(Self.placeName("placeCity", "fileCity")),
          placeRegion = \(Self.placeName("placeRegion", "fileRegion")),
          placeCountry = \(Self.placeName("placeCountry", "fileCountry"))
        WHERE id = ?4 AND ((latitude, longitude, altitude, hasUserLocation) IS NOT (?1, ?2, ?3, 1)
          OR (fileLatitude, fileLongitude) = (?1, ?2)
            AND (placeCity, placeRegion, placeCountry) IS NOT (fileCity, fileRegion, fileCountry))
        """, [location?.latitude, location?.longitude, location?.altitude, asset])
    }
    if let isUserPick = update.isUserPick { try setUserPick(isUserPick, asset, name) }
    try updateDescription(of: asset, update)
  }

  /// SQL expression for a name of the place at a new location (`?1`, `?2`): the file's name if these are the file's
  /// coordinates, the present name if the coordinates are unchanged, otherwise NULL.
  private static func placeName(_ present: String, _ fileName: String) -> String {
    """
    CASE WHEN (fileLatitude, fileLongitude) = (?1, ?2) THEN \(fileName)
      WHEN (latitude, longitude) = (?1, ?2) THEN \(present) END
    """
  }

  /// Throws if the asset's day is outside of the years 0 to 9999: a date within them may belong to the previous or the
  /// next day at the asset's offset.
  private func checkDay(of asset: Int64) throws {
    let day = try Int.fetchOne(
      db.cachedStatement(sql: "SELECT localDay FROM asset WHERE id = ?"), arguments: [asset])
    if let day, !LocalCalendar.days.contains(day) { throw ChangeListError(.dayOutOfRange, parameter: "creationDate") }
  }

  func run(_ sql: String, _ arguments: StatementArguments) throws {
    try db.cachedStatement(sql: sql).execute(arguments: arguments)
  }
}
