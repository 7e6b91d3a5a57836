// The index of the folder, in SQLite: for each entry a row with its size and last use, and totals.
//
// One connection in exclusive mode: the folder's lock keeps other processes out, so SQLite needs no shared memory and
// no locks. The journal is a WAL with synchronous=NORMAL. A kill then loses nothing: the kernel outlives the process,
// so the writer's order (rows before files) needs no flush. After a power failure the index is consistent but may miss
// the last transactions; FolderSweep finds the files that are then without a row. synchronous=OFF would not leave a
// consistent index: a million entries would be lost to save one flush for every few megabytes of journal.

import GRDB

final class DiskIndex {
  /// Number of journal frames after which SQLite copies them into the index: its default, 4 MiB.
  private static let journalFrames = 1000

  struct Total: Equatable {
    var entries = 0
    var bytes: Int64 = 0
  }

  private let database: DatabaseQueue
  /// Totals by group as of the last commit. Contains only groups that have a row.
  private(set) var totals: [EntryGroup: Total]
  /// `DiskEnvironment.bootIdentifier` at the time the index was last opened without being closed. Empty if it was
  /// closed.
  private(set) var openedInBoot: String
  /// The latest use of any entry.
  let lastUse: Int64

  /// Opens the index, and creates its tables if they are missing. The caller creates the file first, to set its mode.
  init(path: String) throws {
    var configuration = Configuration()
    configuration.label = "disk-cache"
    configuration.prepareDatabase { db in
      try db.execute(
        sql: """
          PRAGMA locking_mode = EXCLUSIVE;
          PRAGMA journal_mode = WAL;
          PRAGMA synchronous = NORMAL;
          PRAGMA wal_autocheckpoint = \(Self.journalFrames);
          PRAGMA journal_size_limit = 8388608;
          PRAGMA cell_size_check = ON
          """)
    }
    database = try DatabaseQueue(path: path, configuration: configuration)
    (totals, openedInBoot, lastUse) = try database.writeWithoutTransaction { db in
      try Self.makeTables(db)
      var totals: [EntryGroup: Total] = [:]
      var lastUse: Int64 = 0
      for row in try db.integers("SELECT kind, epoch, entries, bytes FROM total", []) {
        let group = try EntryGroup(kind: row[0], epoch: row[1])
        guard row[2] >= 0, row[3] >= 0 else { throw DiskFault.indexDamaged("a negative total") }
        totals[group] = Total(entries: Int(row[2]), bytes: row[3])
        let last = "SELECT lastUse FROM entry WHERE kind = ? AND epoch = ? ORDER BY lastUse DESC LIMIT 1"
        for row in try db.integers(last, [row[0], row[1]]) { lastUse = max(lastUse, row[0]) }
      }
      guard let opened = try Row.fetchOne(db, sql: "SELECT boot FROM opened"),
        let boot = String.fromDatabaseValue(opened[0])
      else { throw DiskFault.indexDamaged("no note of its opening") }
      return (totals, boot, lastUse)
    }
  }

  private static func makeTables(_ db: Database) throws {
    let version = try db.integers("PRAGMA user_version", []).first?.first ?? 0
    if version == DiskIndexSchema.version { return }
    let tables = try db.integers("SELECT count(*) FROM sqlite_schema", []).first?.first ?? 0
    guard version == 0, tables == 0 else { throw DiskFault.indexDamaged("it is of version \(version)") }
    try db.inTransaction(.immediate) {
      try db.execute(sql: DiskIndexSchema.tables + "; PRAGMA user_version = \(DiskIndexSchema.version)")
      return .commit
    }
  }

  /// Runs `body` in a transaction: all of its changes are made, or none.
  func transaction(_ body: (inout DiskIndexTransaction) throws -> Void) throws {
    totals = try database.writeWithoutTransaction { db in
      var transaction = DiskIndexTransaction(db: db, totals: totals)
      try db.inTransaction(.immediate) {
        try body(&transaction)
        try transaction.writeTotals(changedFrom: totals)
        return .commit
      }
      return transaction.totals
    }
  }

  /// Records that the index is open, and flushes the record so that it survives a power failure.
  func recordOpened(in boot: String) throws {
    try database.writeWithoutTransaction { db in
      try db.execute(sql: "UPDATE opened SET boot = ?", arguments: [boot])
      // With synchronous=NORMAL, only a checkpoint flushes (SQLite, "PRAGMA synchronous").
      try db.checkpoint(.truncate)
    }
    openedInBoot = boot
  }

  /// The rows of a group whose keys have this first byte.
  func keys(in group: EntryGroup, prefix: UInt8) throws -> Set<DiskStore.Key> {
    let first = Int64(bitPattern: UInt64(prefix) << 56)
    let rows = try database.writeWithoutTransaction { db in
      try db.integers(
        "SELECT high, low FROM entry WHERE kind = ? AND epoch = ? AND high BETWEEN ? AND ?",
        [Int64(group.kind.rawValue), Int64(group.epoch), first, first | (1 << 56 - 1)])
    }
    return Set(rows.map { DiskStore.Key(row: $0) })
  }

  /// - Parameter isClean: folder and index are consistent.
  func close(isClean: Bool) throws {
    if isClean { try database.writeWithoutTransaction { try $0.execute(sql: "UPDATE opened SET boot = ''") } }
    try database.close()
  }
}

extension EntryGroup {
  init(kind: Int64, epoch: Int64) throws {
    guard let kind = UInt8(exactly: kind).flatMap(DiskStore.Kind.init(rawValue:)), let epoch = UInt32(exactly: epoch)
    else { throw DiskFault.indexDamaged("a group of kind \(kind) and epoch \(epoch)") }
    self.init(kind: kind, epoch: epoch)
  }
}

extension DiskStore.Key {
  /// The key of a row that begins with `high` and `low`.
  init(row: [Int64]) { self.init(high: UInt64(bitPattern: row[0]), low: UInt64(bitPattern: row[1])) }
}

extension Database {
  /// Rows of integers. In a damaged file a value may have any type, and GRDB ends the process if it can't convert one.
  func integers(_ sql: String, _ arguments: [Int64]) throws -> [[Int64]] {
    let rows = try Row.fetchCursor(cachedStatement(sql: sql), arguments: StatementArguments(arguments))
    var all: [[Int64]] = []
    while let row = try rows.next() {
      all.append(
        try row.databaseValues.map { value in
          guard case .int64(let integer) = value.storage else { throw DiskFault.indexDamaged("\(value) in a row") }
          return integer
        })
    }
    return all
  }
}
