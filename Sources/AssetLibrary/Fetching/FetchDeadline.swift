import GRDB
import GRDBSQLite
import PhotoModel

/// Ends what a connection is at when the time is up.
final class FetchDeadline {
  /// The clock is looked at once in so many of SQLite's instructions, about ten times a millisecond.
  private static let instructions: Int32 = 4096

  private let instant: ContinuousClock.Instant
  private(set) var isOver = false

  private init(_ instant: ContinuousClock.Instant) { self.instant = instant }

  /// Runs `body` on a connection. Throws ``AssetSourceError/queryTooExpensive`` where it is not done in time.
  static func run<Value>(
    _ instant: ContinuousClock.Instant?, on db: Database, _ body: () throws -> Value
  ) throws -> Value {
    guard let instant else { return try body() }
    if ContinuousClock.now >= instant { throw AssetSourceError.queryTooExpensive }
    let deadline = FetchDeadline(instant)
    let connection = db.sqliteConnection
    sqlite3_progress_handler(
      connection, instructions,
      { context in
        guard let context else { return 0 }
        let deadline = Unmanaged<FetchDeadline>.fromOpaque(context).takeUnretainedValue()
        deadline.isOver = deadline.isOver || ContinuousClock.now >= deadline.instant
        return deadline.isOver ? 1 : 0
      }, Unmanaged.passUnretained(deadline).toOpaque())
    // The connection goes back to the pool, and must forget what it was given.
    defer {
      sqlite3_progress_handler(connection, 0, nil, nil)
      withExtendedLifetime(deadline) {}
    }
    do {
      return try body()
    } catch  where deadline.isOver {
      throw AssetSourceError.queryTooExpensive
    }
  }
}
