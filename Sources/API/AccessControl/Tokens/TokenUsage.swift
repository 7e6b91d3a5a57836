import Synchronization

/// The tokens whose last use is not yet in the database. Uses are written in batches, at most once a minute.
final class TokenUsage: Sendable {
  private struct State {
    var pending: Set<String> = []
    /// Seconds of a clock that can't be set.
    var nextWrite: Int64 = 0
  }

  private static let writeIntervalSeconds: Int64 = 60

  private let state = Mutex(State())

  /// Adds identifiers of used tokens to the next batch.
  func record(_ tokens: [String]) {
    guard !tokens.isEmpty else { return }
    state.withLock { $0.pending.formUnion(tokens) }
  }

  /// Writes the batch if it is due. Blocks while SQLite writes, without a lock held. A batch that can't be written is
  /// part of the next one.
  ///
  /// - Parameters:
  ///   - now: seconds since 1970.
  ///   - elapsed: seconds of a clock that can't be set.
  func writeIfDue(to database: AccessDatabase, at now: Int64, elapsed: Int64) throws(AccessError) {
    let batch = state.withLock { state -> [String] in
      guard elapsed >= state.nextWrite else { return [] }
      state.nextWrite = elapsed + Self.writeIntervalSeconds
      defer { state.pending = [] }
      return Array(state.pending)
    }
    guard !batch.isEmpty else { return }
    do throws(AccessError) {
      try database.recordUsage(batch, at: now)
    } catch {
      record(batch)
      throw error
    }
  }
}
