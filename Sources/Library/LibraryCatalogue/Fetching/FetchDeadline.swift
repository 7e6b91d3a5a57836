import GRDB
import GRDBSQLite
import PhotoModel

/// Interrupts a connection's statement at a deadline.
final class FetchDeadline {
  /// SQLite instructions between two checks of the clock, which makes about ten checks a millisecond.
  private static let checkInterval: Int32 = 4096

  private let instant: ContinuousClock.Instant
  private(set) var hasExpired = false

  private init(_ instant: ContinuousClock.Instant) { self.instant = instant }

  /// Runs `body` on a connection. Throws ``AssetSourceError/queryTooExpensive`` if the deadline passes first.
  static func run<Value>(
    _ instant: ContinuousClock.Instant?, on db: Database, _ body: () throws -> Value
  ) throws -> Value {
    guard let instant else { return try body() }
    if ContinuousClock.now >= instant { throw AssetSourceError.queryTooExpensive }
    let deadline = FetchDeadline(instant)
    let connection = db.sqliteConnection
    sqlite3_progress_handler(
      connection, checkInterval,
      { context in
        guard let context else { return 0 }
        let deadline = Unmanaged<FetchDeadline>.fromOpaque(context).takeUnretainedValue()
        deadline.hasExpired = deadline.hasExpired || ContinuousClock.now >= deadline.instant
        return deadline.hasExpired ? 1 : 0
      }, Unmanaged.passUnretained(deadline).toOpaque())
    // The connection returns to the pool, so the handler must not outlive this call.
    defer {
      sqlite3_progress_handler(connection, 0, nil, nil)
      withExtendedLifetime(deadline) {}
    }
    do {
      return try body()
    } catch  where deadline.hasExpired {
      throw AssetSourceError.queryTooExpensive
    }
  }
}
