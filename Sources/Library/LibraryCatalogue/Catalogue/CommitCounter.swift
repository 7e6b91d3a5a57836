// Caches of catalogue data must notice every commit. SQLite's transaction hook counts the commits of this process, so
// no writing code can forget to; `PRAGMA data_version` detects the commits of other processes.

import GRDB
import Synchronization

/// Counts the commits of this process. SQLite's writer increments the count before the write call returns; any thread
/// may read it.
final class CommitCounter: TransactionObserver, Sendable {
  let count = Atomic<UInt64>(1)
  let assets = AssetGenerations()
  /// Written only on the writer's queue.
  private let isCounting = Atomic<Bool>(true)

  /// Counts a commit whose changes are unknown, as one of another process.
  func increment() {
    assets.countUnknown()
    count.add(1, ordering: .releasing)
  }

  /// Counts commits that changed moments, and so the lists of moments and of their assets, but no asset.
  func countMoments() { count.add(1, ordering: .releasing) }

  /// Runs a transaction without counting its commit: for writes that no cache depends on. Call it on the writer's
  /// queue, with the whole transaction inside.
  func withoutCounting(_ transaction: () throws -> Void) rethrows {
    isCounting.store(false, ordering: .relaxed)
    defer { isCounting.store(true, ordering: .relaxed) }
    try transaction()
  }

  func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { false }
  func databaseDidChange(with event: DatabaseEvent) {}
  func databaseDidCommit(_ db: Database) {
    guard isCounting.load(ordering: .relaxed) else { return }
    assets.count(db)
    count.add(1, ordering: .releasing)
  }
  func databaseDidRollback(_ db: Database) {}
}

/// Detects commits of other processes. It asks on the writer's connection, because `PRAGMA data_version` ignores the
/// commits of the connection that runs it.
final class DataVersionMonitor: Sendable {
  private let pool: DatabasePool
  private let last: Mutex<Int>

  init(pool: DatabasePool) throws {
    self.pool = pool
    last = Mutex(try Self.version(pool))
  }

  /// Whether another process has committed since the last call. True also if the catalogue can't be read, because it
  /// may have changed.
  func hasChanged() -> Bool {
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
