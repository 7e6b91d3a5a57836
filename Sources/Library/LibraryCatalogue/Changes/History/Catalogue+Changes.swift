import GRDB
import PhotoModel

/// Reads of the history.
extension Catalogue {
  /// The changes since a state of the library: whole commits, up to `limit` objects, and at least one commit.
  package func changes(
    since: ChangeToken, _ filter: ChangeFilter = ChangeFilter(), limit: Int, for principal: Principal
  ) throws(ChangeHistoryError) -> LibraryChanges {
    let result: Result<LibraryChanges, ChangeHistoryError>
    do {
      result = try read(for: principal) { db, library in
        let reader = ChangeReader(db: db, principal: principal, library: library, filter: filter)
        do { return .success(try reader.changes(since: since, limit: limit)) } catch let error as ChangeHistoryError {
          return .failure(error)
        }
      }
    } catch {
      throw .source(error)
    }
    return try result.get()
  }

  /// The current state of the library that a principal can see.
  package func changeToken(for principal: Principal) throws(AssetSourceError) -> ChangeToken {
    try read(for: principal) { db, library in try Self.visibleToken(db, library, principal) }
  }

  /// Whether more than `limit` objects changed since a state. Always `false` for a principal with a limited library,
  /// because the amount of invisible changes must not be revealed.
  package func isBehind(
    _ since: ChangeToken, by limit: Int, for principal: Principal
  ) throws(ChangeHistoryError) -> Bool {
    guard principal.visibility == .everything else { return false }
    do throws(AssetSourceError) {
      let objects = try read { db in
        try Int.fetchOne(
          db.cachedStatement(sql: "SELECT sum(objects) FROM change WHERE library = 0 AND token > ?"),
          arguments: [since.number]) ?? 0
      }
      return objects > limit
    } catch {
      throw .source(error)
    }
  }
}
