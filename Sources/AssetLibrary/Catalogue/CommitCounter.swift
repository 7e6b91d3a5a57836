// Who keeps what the catalogue said has to hear of every commit: of ours from SQLite itself, so that no code that writes can
// forget to say so, and of other processes' by asking.

import GRDB
import Synchronization

/// Counts the commits of this process. SQLite's writer counts, before whoever wrote goes on; anybody may read.
final class CommitCounter: TransactionObserver, Sendable {
  let count = Atomic<UInt64>(1)

  func increment() { count.add(1, ordering: .releasing) }

  func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { false }
  func databaseDidChange(with event: DatabaseEvent) {}
  func databaseDidCommit(_ db: Database) { increment() }
  func databaseDidRollback(_ db: Database) {}
}

/// Tells whether the file was changed by another connection than its own, which only ever asks this.
final class OtherWriters: Sendable {
  private let queue: DatabaseQueue
  private let last = Mutex<Int>(-1)

  init(path: String) throws {
    var configuration = Configuration()
    configuration.label = "catalogue.others"
    configuration.readonly = true
    queue = try DatabaseQueue(path: path, configuration: configuration)
  }

  /// Whether anybody has committed since the last call. A catalogue that can't be read may have changed.
  func haveCommitted() -> Bool {
    let version = try? queue.unsafeRead { try Int.fetchOne($0, sql: "PRAGMA data_version") }
    return last.withLock { last in
      defer { last = version ?? -1 }
      return version == nil || version != last
    }
  }
}
