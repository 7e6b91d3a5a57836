import GRDB

/// The single values of the catalogue: the rows of the table `catalogueValue`, by name. A value without a row reads as
/// `nil`, and the next write inserts the row, so a new value needs no migration.
enum CatalogueValue: String, CaseIterable {
  /// See `Catalogue.contentKey`.
  case contentKey
  /// Whether a scan was ever completed.
  case isFirstScanComplete
  /// The probe version of the last full scan, or of a first one that is not complete: its limits, time zone and code. A
  /// scan with another version reads every file again.
  case probe
  /// The version of the placeholder encoder. A new version retries assets for which the previous one failed.
  case placeholderMaker
  /// The uniform types that can be rendered, with spaces between.
  case renderableTypes
  /// The identifier of the library's time zone; empty before the first scan.
  case timeZone
  /// The progress of ``LocalDayUpdate``: the last asset whose `zoneOffset` is that of `timeZone`; NULL if all are.
  case filedAsset
  /// The token up to which the history was pruned.
  case historyStart
  /// Whether edits of other programs are imported with their tones.
  case importsTones
  /// The file systems of the last scan, as JSON.
  case mounts
  /// The version of ``SearchText`` by which the indexed words were made.
  case searchWords
  /// The catalogue was restored, and its trash has not been compared with the folder since.
  case wasRestored
  /// Counts the calls of `Catalogue.discardFailedCommit`, which must write a new value each time.
  case discardedCommits
  /// The times of the last calls of ``RowAging``, in milliseconds since 1970.
  case historyTime, trashTime, uploadTime

  private var initialValue: String? {
    switch self {
    case .contentKey: "randomblob(32)"
    case .isFirstScanComplete, .historyStart, .importsTones: "0"
    case .probe, .placeholderMaker, .renderableTypes, .timeZone: "''"
    case .filedAsset: "NULL"
    case .mounts, .searchWords, .wasRestored, .discardedCommits, .historyTime, .trashTime, .uploadTime: nil
    }
  }

  /// The row in a new catalogue, for an INSERT; `nil` if there is none. Values of later versions have no initial row,
  /// because catalogues of older versions lack it too.
  var initialRow: String? { initialValue.map { "('\(rawValue)', \($0))" } }

  /// `nil` if the value is missing or NULL.
  func read<Value: DatabaseValueConvertible>(_ db: Database) throws -> Value? {
    try Value.fetchOne(
      db.cachedStatement(sql: "SELECT value FROM catalogueValue WHERE name = ?"), arguments: [rawValue])
  }

  func write(_ value: (any DatabaseValueConvertible)?, _ db: Database) throws {
    try db.cachedStatement(
      sql: "INSERT INTO catalogueValue VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value"
    ).execute(arguments: [rawValue, value])
  }

  func remove(_ db: Database) throws {
    try db.cachedStatement(sql: "DELETE FROM catalogueValue WHERE name = ?").execute(arguments: [rawValue])
  }
}
