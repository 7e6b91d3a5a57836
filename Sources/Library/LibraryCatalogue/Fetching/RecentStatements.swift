import GRDB
import Synchronization

/// The prepared statements of recent fetches, for each connection of a pool.
///
/// Clients choose predicates and sort orders, so the number of different statements is unlimited, and GRDB's own cache
/// never removes one. To prepare the statement of a page takes half as long as to read a hundred assets with it.
final class RecentStatements: Sendable {
  /// The maximum number of statements of a connection. One takes 20 to 60 KB.
  static let capacity = 32

  private let connections = Mutex<[ObjectIdentifier: Connection]>([:])

  /// To be called when a connection is opened: it may have the identity of one that was closed.
  func connectionOpened(_ db: Database) { connections.withLock { $0[ObjectIdentifier(db)] = Connection() } }

  /// A statement without arguments. It may be used until the next one of the same connection is requested.
  func prepared(_ sql: String, _ db: Database) throws -> Statement {
    let connection = connections.withLock { $0[ObjectIdentifier(db)] }
    return try connection?.prepared(sql, db) ?? db.makeStatement(sql: sql)
  }

  /// `@unchecked Sendable` because only its connection uses it, and GRDB runs all uses of a connection on one serial
  /// queue.
  private final class Connection: @unchecked Sendable {
    /// The most recent one is the last.
    private var recent: [(sql: String, statement: Statement)] = []

    func prepared(_ sql: String, _ db: Database) throws -> Statement {
      // Its arguments may be the row numbers of a long list, which a kept statement would keep.
      recent.last?.statement.setUncheckedArguments([])
      if let index = recent.lastIndex(where: { $0.sql == sql }) {
        recent.append(recent.remove(at: index))
        return recent[recent.count - 1].statement
      }
      let statement = try db.makeStatement(sql: sql)
      if recent.count == RecentStatements.capacity { recent.removeFirst() }
      recent.append((sql, statement))
      return statement
    }
  }
}
