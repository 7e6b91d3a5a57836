import Synchronization

/// One open stream.
final class ChangeStream: Sendable {
  private struct State {
    /// Whether the stream waits for its turn, has its turn, or waits for its client to read.
    var isBusy = false
    var hasPendingChanges = true
    var isEnded = false
    /// The stream gets no turn before this time.
    var cooldownEnd: ContinuousClock.Instant?
    var lastWrite: ContinuousClock.Instant
  }

  let source: any ChangeStreamSource
  /// The name of the principal.
  let caller: String
  /// Whether the caller's credential is still valid: it may have been revoked or have expired, or the browser may have
  /// signed out. Takes a few lookups in memory.
  let isAdmitted: @Sendable () -> Bool
  let reply: Reply
  private let state: Mutex<State>

  init(
    source: any ChangeStreamSource, caller: String, isAdmitted: @escaping @Sendable () -> Bool, reply: Reply,
    now: ContinuousClock.Instant
  ) {
    self.source = source
    self.caller = caller
    self.isAdmitted = isAdmitted
    self.reply = reply
    state = Mutex(State(lastWrite: now))
  }

  func markPending() { state.withLock { $0.hasPendingChanges = true } }

  func coolDown(_ instant: ContinuousClock.Instant) { state.withLock { $0.cooldownEnd = instant } }

  /// Whether the pause is over and changes came in the meantime.
  func isDueAfterCooldown(_ now: ContinuousClock.Instant) -> Bool {
    state.withLock { state in
      guard let end = state.cooldownEnd, end <= now else { return false }
      return state.hasPendingChanges
    }
  }

  /// Marks pending changes. True: the stream must be given a turn.
  func claimTurn(_ now: ContinuousClock.Instant) -> Bool {
    state.withLock { state in
      state.hasPendingChanges = true
      if state.isBusy || state.isEnded { return false }
      if let end = state.cooldownEnd, end > now { return false }
      state.cooldownEnd = nil
      state.isBusy = true
      return true
    }
  }

  func abandonTurn() { state.withLock { $0.isBusy = false } }

  /// Begins a turn. False: the stream has ended in the meantime.
  func beginTurn() -> Bool {
    state.withLock { state in
      state.hasPendingChanges = false
      return !state.isEnded
    }
  }

  func wrote(_ now: ContinuousClock.Instant) { state.withLock { $0.lastWrite = now } }

  /// Ends a turn after the client has read the event. True: more changes are pending.
  func endTurn() -> Bool {
    state.withLock { state in
      state.isBusy = false
      return state.hasPendingChanges && !state.isEnded
    }
  }

  func needsHeartbeat(_ now: ContinuousClock.Instant, _ interval: Duration) -> Bool {
    state.withLock { !$0.isEnded && now - $0.lastWrite >= interval }
  }

  func ended() { state.withLock { $0.isEnded = true } }

  /// Ends the stream. True if it had not ended before.
  func end() -> Bool {
    state.withLock { state in
      defer { state.isEnded = true }
      return !state.isEnded
    }
  }
}
