// Who keeps what the catalogue said has to hear of every commit: of ours from SQLite itself, so that no code that writes can
// forget to say so, and of other processes' by asking.

import GRDB
import Synchronization

/// Counts the commits of this process. SQLite's writer counts, before whoever wrote goes on; anybody may read.
final class CommitCounter: TransactionObserver, Sendable {
  let count = Atomic<UInt64>(1)
  /// Written on the writer's queue alone.
  private let isCounting = Atomic<Bool>(true)

  func increment() { count.add(1, ordering: .releasing) }

  /// Does not count what `transaction` commits: for what changes nothing that anybody keeps. On the writer's queue, from
  /// before the transaction begins until after it has ended.
  func uncounted(_ transaction: () throws -> Void) rethrows {
    isCounting.store(false, ordering: .relaxed)
    defer { isCounting.store(true, ordering: .relaxed) }
    try transaction()
  }

  func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { false }
  func databaseDidChange(with event: DatabaseEvent) {}
  func databaseDidCommit(_ db: Database) { if isCounting.load(ordering: .relaxed) { increment() } }
  func databaseDidRollback(_ db: Database) {}
}

/// Tells whether another process has changed the file. The connection that writes asks, for what it commits itself SQLite
/// does not tell it of (`PRAGMA data_version`).
final class OtherWriters: Sendable {
  private let pool: DatabasePool
  private let last: Mutex<Int>

  init(pool: DatabasePool) throws {
    self.pool = pool
    last = Mutex(try Self.version(pool))
  }

  /// Whether anybody has committed since the last call. A catalogue that can't be read may have changed.
  func haveCommitted() -> Bool {
    let version = try? Self.version(pool)
    return last.withLock { last in
      defer { last = version ?? -1 }
      return version == nil || version != last
    }
  }

  private static func version(_ pool: DatabasePool) throws -> Int {
    try pool.writeWithoutTransaction { try Int.fetchOne($0, sql: "PRAGMA data_version") } ?? -1
  }
}
