// The statements of a repair, in order. Each changes only rows that are wrong, so the number of changed rows is the
// number of corrections, and all other rows keep their tokens and dates.

/// A statement that corrects rows.
struct CatalogueCorrection {
  /// The subject of the correction, for display; `nil` if the statement only prepares a correction.
  let subject: String?
  let sql: String

  private init(_ subject: String?, _ sql: String) {
    self.subject = subject
    self.sql = sql
  }

  /// SQL condition for the assets that a repair removes.
  static let hasNoFile = "id NOT IN (SELECT asset FROM file WHERE asset IS NOT NULL)"

  /// Corrects references to missing rows. The next scan finds the files of removed rows again.
  static let references = [
    CatalogueCorrection(
      "members without their asset or album",
      """
      DELETE FROM member
      WHERE asset NOT IN (SELECT id FROM asset) OR collection NOT IN (SELECT id FROM collection WHERE type = 'album')
      """),
    CatalogueCorrection(
      "files without their asset",
      """
      DELETE FROM file
      WHERE asset NOT IN (SELECT id FROM asset) OR (asset IS NULL AND unreadableReason IS NULL)
      """),
    CatalogueCorrection(
      "assets whose primary file was not marked",
      """
      UPDATE file SET isPrimary = 1
      WHERE id IN (
        SELECT min(id) FROM file WHERE asset IS NOT NULL GROUP BY asset HAVING max(isPrimary) = 0)
      """),
    // Without a file they can't be shown or moved. The copy made before the repair still has them.
    CatalogueCorrection("assets without a file", "DELETE FROM asset WHERE \(hasNoFile)"),
    CatalogueCorrection(
      "members without their asset or album", "DELETE FROM member WHERE asset NOT IN (SELECT id FROM asset)"),
    CatalogueCorrection(
      "albums and folders without their folder",
      """
      WITH RECURSIVE reach (id) AS (
        SELECT id FROM collection WHERE parent IS NULL AND type = 'folder'
        UNION SELECT collection.id FROM reach JOIN collection ON collection.parent = reach.id
          WHERE collection.type = 'folder')
      UPDATE collection SET parent = NULL WHERE parent IS NOT NULL AND parent NOT IN (SELECT id FROM reach)
      """),
    CatalogueCorrection(
      "key assets that do not exist",
      """
      UPDATE collection SET keyAsset = NULL
      WHERE keyAsset IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM member WHERE member.collection = collection.id AND member.asset = collection.keyAsset)
      """),
    // They can't be restored.
    CatalogueCorrection(
      "trash records without a file", "DELETE FROM trash WHERE id NOT IN (SELECT trash FROM trashFile)"),
    CatalogueCorrection(
      "parts of trash records without their record", "DELETE FROM trashFile WHERE trash NOT IN (SELECT id FROM trash)"),
    CatalogueCorrection(
      "parts of trash records without their record",
      "DELETE FROM trashValue WHERE trash NOT IN (SELECT id FROM trash)"),
    CatalogueCorrection(
      "parts of trash records without their record",
      "DELETE FROM trashPlace WHERE trash NOT IN (SELECT id FROM trash)"),
  ]

  /// Inserts missing values, except the catalogue's key, which only its backups have.
  static let values = CatalogueValue.allCases.filter { $0 != .contentKey }.compactMap(\.initialRow).map { row in
    CatalogueCorrection("missing values", "INSERT INTO catalogueValue VALUES \(row) ON CONFLICT DO NOTHING")
  }

  /// The columns of `asset` with a JSON array, or NULL.
  static let lists = ["keywords", "people", "regions"]

  /// SQL condition: whether one of these columns has text that is not a JSON array. Never NULL.
  static func isUnreadable(list: String) -> String {
    "\(list) IS NOT NULL AND CASE WHEN json_valid(\(list)) THEN json_type(\(list)) <> 'array' ELSE 1 END"
  }

  /// Clears unreadable lists, which reads treat as empty. Unreadable adjustments stay: a backup may have them, and a
  /// user can revert them.
  static let unreadableLists = lists.map { list in
    CatalogueCorrection(
      "lists that could not be read", "UPDATE asset SET \(list) = NULL WHERE \(isUnreadable(list: list))")
  }

  private static let tablesOfLibraries = [
    "libraryGrant", "libraryCollection", "libraryAsset", "counter", "dayCount", "staleDay", "moment", "removedObject",
    "changedVisibility",
  ]

  static let ofMissingLibraries = tablesOfLibraries.map { table in
    CatalogueCorrection(
      "rows of missing libraries",
      "DELETE FROM \(table) WHERE library <> 0 AND library NOT IN (SELECT id FROM library)")
  }

  /// The subject of ``ofLimitedLibraries``.
  static let limitedRows = "rows of limited libraries"

  /// Foreign keys are off, so the rows of deleted limited libraries are still there.
  static let ofLimitedLibraries = tablesOfLibraries.map { table in
    CatalogueCorrection(limitedRows, "DELETE FROM \(table) WHERE library <> 0")
  }

  /// Corrects the derived tables, each after the tables that it is derived from.
  static var derived: [CatalogueCorrection] { ofLibrary + ofCollections + ofCounters + ofDays }

  private static let ofLibrary: [CatalogueCorrection] = [
    // The rows of the whole library, and the copies in them.
    CatalogueCorrection(
      "collections of the library",
      "DELETE FROM libraryCollection WHERE collection NOT IN (SELECT id FROM collection)"),
    CatalogueCorrection(
      "collections of the library",
      """
      INSERT INTO libraryCollection (collection, library, came, localIdentifier, type, position)
      SELECT id, 0, \(CatalogueSchema.token), localIdentifier, type, position FROM collection
      WHERE id NOT IN (SELECT collection FROM libraryCollection WHERE library = 0)
      """),
    CatalogueCorrection(
      "collections of the library",
      """
      UPDATE libraryCollection SET (localIdentifier, type, position) = (
        SELECT localIdentifier, type, position FROM collection WHERE id = libraryCollection.collection)
      WHERE (localIdentifier, type, position) IS NOT (
        SELECT localIdentifier, type, position FROM collection WHERE id = libraryCollection.collection)
      """),
    CatalogueCorrection(
      "assets of the library", "DELETE FROM libraryAsset WHERE asset NOT IN (SELECT id FROM asset)"),
    CatalogueCorrection("assets of the library", "UPDATE libraryAsset SET sources = 1 WHERE sources <> 1"),
    CatalogueCorrection(
      "assets of the library",
      """
      INSERT INTO libraryAsset (library, asset, \(CatalogueSchema.copies), sources, came)
      SELECT 0, id, \(CatalogueSchema.copies), 1, \(CatalogueSchema.token) FROM asset
      WHERE id NOT IN (SELECT asset FROM libraryAsset WHERE library = 0)
      """),
    CatalogueCorrection(
      "assets of the library",
      """
      UPDATE libraryAsset SET (\(CatalogueSchema.copies)) = (
        SELECT \(CatalogueSchema.copies) FROM asset WHERE id = libraryAsset.asset)
      WHERE (\(CatalogueSchema.copies)) IS NOT (
        SELECT \(CatalogueSchema.copies) FROM asset WHERE id = libraryAsset.asset)
      """),
    // An object in the whole library can't have left it, because row numbers are never reused.
    CatalogueCorrection(
      "objects that were noted as removed",
      """
      DELETE FROM removedObject
      WHERE kind = 0 AND object IN (SELECT id FROM asset) OR kind = 1 AND object IN (SELECT id FROM collection)
      """),
    // Members and folders.
    CatalogueCorrection(
      "members of albums",
      """
      UPDATE member SET (creationDate, listing) = (SELECT creationDate, listing FROM asset WHERE id = member.asset)
      WHERE (creationDate, listing) IS NOT (SELECT creationDate, listing FROM asset WHERE id = member.asset)
      """),
  ]

  private static var ofCollections: [CatalogueCorrection] {
    var steps = table(
      "counts of albums", "memberCount", ["collection", "listing", "value"],
      "SELECT collection, listing, count(*) FROM member GROUP BY 1, 2")
    steps += table(
      "folders above collections", "folderAbove", ["collection", "folder"],
      """
      WITH RECURSIVE above (collection, folder) AS (
        SELECT id, parent FROM collection WHERE parent IS NOT NULL
        UNION SELECT above.collection, parent FROM above JOIN collection ON collection.id = above.folder
          WHERE parent IS NOT NULL)
      SELECT collection, folder FROM above
      """)
    steps += table(
      "assets of folders", "folderAsset", ["folder", "asset", "creationDate", "listing", "sources"],
      """
      SELECT folder, asset, creationDate, listing, count(*)
      FROM folderAbove JOIN member ON member.collection = folderAbove.collection GROUP BY 1, 2
      """)
    steps += table(
      "counts of folders", "folderCount", ["folder", "listing", "value"],
      "SELECT folder, listing, count(*) FROM folderAsset GROUP BY 1, 2")
    return steps
  }

  private static var ofCounters: [CatalogueCorrection] {
    table("counters", "counter", ["library", "listing"] + CatalogueSchema.counters, counters)
  }

  private static var ofDays: [CatalogueCorrection] {
    var steps = table(
      "counts of days", "dayCount", ["library", "day", "listing", "value"],
      "SELECT library, localDay, listing, count(*) FROM libraryAsset GROUP BY 1, 2, 3")
    // Computing moments again changes only those that are wrong.
    steps.append(
      CatalogueCorrection(
        nil,
        """
        INSERT INTO staleDay
          SELECT 0, localDay FROM libraryAsset UNION SELECT 0, day FROM moment
          EXCEPT SELECT library, day FROM staleDay
        """))
    return steps
  }

  /// The expected counters: four rows for each library, even one without assets.
  private static var counters: String {
    let sums = CatalogueSchema.counters.indices.map { "coalesce(sum(libraryAsset.counted >> \($0) & 1), 0)" }
    return """
      SELECT 0, kind.listing, \(sums.joined(separator: ", "))
      FROM (SELECT 0 AS listing UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3) AS kind
        LEFT JOIN libraryAsset ON libraryAsset.library = 0 AND libraryAsset.listing = kind.listing
      GROUP BY kind.listing
      """
  }

  /// Replaces those rows of a table that differ from a query. A counter of zero may have a row or not.
  private static func table(
    _ subject: String, _ table: String, _ columns: [String], _ query: String
  ) -> [CatalogueCorrection] {
    let list = columns.joined(separator: ", ")
    let zero = columns.last == "value" ? "AND value <> 0" : ""
    return [
      CatalogueCorrection(
        subject, "DELETE FROM \(table) WHERE (\(list)) NOT IN (SELECT * FROM (\(query))) \(zero)"),
      // The remaining rows are right, or zeros that must be replaced.
      CatalogueCorrection(
        subject,
        "INSERT OR REPLACE INTO \(table) (\(list)) SELECT * FROM (\(query)) EXCEPT SELECT \(list) FROM \(table)"),
    ]
  }
}
