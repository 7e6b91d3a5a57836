import GRDB
import PhotoModel
import Primitives

/// Entries that create, rename and move albums and folders.
extension ChangeListWriter {
  mutating func create(_ new: NewCollection) throws -> LocalIdentifier {
    if let key = new.importKey, let album = try importedAlbum(key) { return album }
    let parent = try folderRow(new.parent)
    if let parent {
      let count = try childCounts[parent] ?? CollectionOrder(db: db, folder: parent).count()
      try checkCapacity(for: count + 1)
      childCounts[parent] = count + 1
    }
    if parent == nil, !targets.library.isWhole { throw ChangeListError(.outsideOfGrant, parameter: "parent") }
    if new.isFolder { try checkDepth(of: parent, and: 1) }
    let identifier = Base64URL.randomIdentifier()
    try run(
      """
      INSERT INTO collection (localIdentifier, type, subtype, title, parent, position, revision)
      VALUES (:identifier, :type, :subtype, :title, :parent, (\(Self.nextPosition)), :token)
      """,
      [
        "identifier": identifier,
        "type": new.isFolder ? CollectionType.folder.rawValue : CollectionType.album.rawValue,
        "subtype": new.isFolder ? "regularFolder" : "albumRegular",
        "title": new.title, "parent": parent, "token": token,
      ])
    if let key = new.importKey { try record(key, of: identifier) }
    return LocalIdentifier(identifier)
  }

  /// The album that another import has created since this one began.
  private func importedAlbum(_ key: String) throws -> LocalIdentifier? {
    let identifier = try String.fetchOne(
      db.cachedStatement(
        sql: """
          SELECT localIdentifier FROM importedAlbum JOIN collection ON collection.id = importedAlbum.collection
          WHERE key = ?
          """), arguments: [key])
    return identifier.map { LocalIdentifier($0) }
  }

  private func record(_ importKey: String, of identifier: String) throws {
    try run(
      "INSERT INTO importedAlbum (key, collection) SELECT ?, id FROM collection WHERE localIdentifier = ?",
      [importKey, identifier])
  }

  /// The position after the last collection in the folder `:parent`, or at the top level.
  private static let nextPosition = """
    SELECT coalesce(max(position), 0) + \(GapPlan.gap) FROM collection
    WHERE parent IS :parent AND type <> 'smartAlbum'
    """

  func update(_ collection: ChangeTargetResolver.Collection, _ update: CollectionUpdate) throws {
    if let title = update.title {
      try run("UPDATE collection SET title = ?1 WHERE id = ?2 AND title IS NOT ?1", [title, collection.row])
    }
    if let keyAsset = update.keyAsset {
      guard collection.type == .album else { throw ChangeListError(.notAnAlbum("it"), parameter: "keyAsset") }
      let row = try keyAsset.map { try asset($0, "keyAsset") }
      if let row, try !AlbumOrder(db: db, row: collection.row).contains(row) {
        throw ChangeListError(.notAMember(keyAsset?.description ?? ""), parameter: "keyAsset")
      }
      try run("UPDATE collection SET keyAsset = ?1 WHERE id = ?2 AND keyAsset IS NOT ?1", [row, collection.row])
      // A former key asset that is in the trash does not become the key asset again when it is restored.
      try run(
        """
        UPDATE trashPlace SET isKeyAsset = 0
        WHERE isKeyAsset = 1 AND collection = (SELECT localIdentifier FROM collection WHERE id = ?)
        """, [collection.row])
    }
    if let keepsOriginals = update.keepsOriginals {
      try run(
        "UPDATE collection SET keepsOriginals = ?1 WHERE id = ?2 AND keepsOriginals <> ?1",
        [keepsOriginals, collection.row])
    }
    if let key = update.importKey {
      // If another import has created an album with this key in the meantime, that album keeps the key.
      try run("INSERT OR IGNORE INTO importedAlbum (key, collection) VALUES (?, ?)", [key, collection.row])
    }
    if let parent = update.parent { try move(collection, to: try folder(parent)) }
  }

  private func move(_ collection: ChangeTargetResolver.Collection, to parent: Int64?) throws {
    if parent == collection.parent { return }
    if parent == nil, !targets.library.isWhole { throw ChangeListError(.outsideOfGrant, parameter: "parent") }
    try checkMayLeave(collection, "parent")
    if collection.type == .folder {
      if try path(of: parent).contains(collection.row) { throw ChangeListError(.folderCycle, parameter: "parent") }
      try checkDepth(of: parent, and: try height(of: collection.row))
    }
    try run(
      "UPDATE collection SET parent = :parent, position = (\(Self.nextPosition)) WHERE id = :collection",
      ["parent": parent, "collection": collection.row])
  }

  /// A limited caller can't move a collection out of its top level, because the caller doesn't see which folder the
  /// collection really is in.
  func checkMayLeave(_ collection: ChangeTargetResolver.Collection, _ parameter: String) throws {
    guard collection.parent != nil || targets.library.isWhole else {
      throw ChangeListError(.outsideOfGrant, parameter: parameter)
    }
  }

  /// The row of a folder. Throws if the folder is full.
  private func folder(_ target: ChangeTarget?) throws -> Int64? {
    guard let folder = try folderRow(target) else { return nil }
    try checkCapacity(for: CollectionOrder(db: db, folder: folder).count() + 1)
    return folder
  }

  func folderRow(_ target: ChangeTarget?) throws -> Int64? {
    guard let target else { return nil }
    let folder = try collection(target, "parent")
    guard folder.type == .folder else { throw ChangeListError(.notAFolder(target.description), parameter: "parent") }
    return folder.row
  }

  func checkCapacity(for collections: Int) throws {
    guard collections <= limits.members else {
      throw ChangeListError(.tooManyMembers(limit: limits.members), parameter: "parent")
    }
  }

  /// A folder and its ancestors.
  func path(of folder: Int64?) throws -> [Int64] {
    try Int64.fetchAll(
      db.cachedStatement(
        sql: """
          WITH RECURSIVE above (id) AS (
            SELECT ? UNION SELECT parent FROM above JOIN collection USING (id) WHERE parent IS NOT NULL)
          SELECT id FROM above WHERE id IS NOT NULL
          """), arguments: [folder])
  }

  /// The number of levels of folders in a folder's tree, including itself.
  func height(of folder: Int64) throws -> Int {
    try Int.fetchOne(
      db.cachedStatement(
        sql: """
          WITH RECURSIVE below (id, height) AS (
            SELECT ?, 1
            UNION ALL SELECT collection.id, height + 1 FROM below JOIN collection ON parent = below.id
              WHERE type = 'folder')
          SELECT max(height) FROM below
          """), arguments: [folder]) ?? 1
  }

  private func checkDepth(of parent: Int64?, and height: Int) throws {
    guard try path(of: parent).count + height <= limits.folderDepth else {
      throw ChangeListError(.foldersTooDeep(limit: limits.folderDepth), parameter: "parent")
    }
  }
}
