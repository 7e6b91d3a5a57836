import GRDB
import Synchronization

/// An LRU cache of the prepared statements of fetches, for each connection of a pool.
///
/// Clients choose predicates and sort orders, so the number of different statements is unlimited, and GRDB's own cache
/// never evicts a statement. Preparing the statement of a page takes half as long as reading a hundred assets with it.
final class RecentStatements: Sendable {
  /// The maximum number of statements of a connection. One takes 20 to 60 KB.
  static let capacity = 32

  private let connections = Mutex<[ObjectIdentifier: Connection]>([:])

  /// Starts an empty cache for a new connection, which may have the `ObjectIdentifier` of a closed one.
  func connectionOpened(_ db: Database) { connections.withLock { $0[ObjectIdentifier(db)] = Connection() } }

  /// A statement without arguments. It is valid until the next request for the same connection.
  func prepared(_ sql: String, _ db: Database) throws -> Statement {
    let connection = connections.withLock { $0[ObjectIdentifier(db)] }
    return try connection?.prepared(sql, db) ?? db.makeStatement(sql: sql)
  }

  /// `@unchecked Sendable` because only its connection uses it, and GRDB runs all uses of a connection on one serial
  /// queue.
  private final class Connection: @unchecked Sendable {
    /// The most recently used statement is the last.
    private var recent: [(sql: String, statement: Statement)] = []

    func prepared(_ sql: String, _ db: Database) throws -> Statement {
      // Frees the arguments of the previous fetch, which may be the row numbers of a long list.
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
