import Synchronization

/// Decides whether a process is alive by asking its parts: event loops and queues.
///
/// Each round asks every part once. A new round begins only when all parts have answered the previous one, so a part
/// that hangs ends the rounds, and the watchdog of the service manager then restarts the process. Nothing waits here:
/// answers come later, from any thread.
package final class Liveness: Sendable {
  /// A part of the process.
  package struct Part: Sendable {
    let name: String
    /// Calls its argument once, soon, if the part works.
    let ask: @Sendable (_ answered: @escaping @Sendable () -> Void) -> Void

    package init(_ name: String, ask: @escaping @Sendable (_ answered: @escaping @Sendable () -> Void) -> Void) {
      self.name = name
      self.ask = ask
    }
  }

  private struct State {
    var round = 0
    /// The parts that have not answered this round.
    var missing: Set<Int> = []
  }

  private let parts: [Part]
  private let state = Mutex(State())

  package init(_ parts: [Part]) { self.parts = parts }

  /// Begins the next round if every part has answered the last one. Call it at intervals.
  ///
  /// - Returns: the names of the parts that have not answered, in order; if it is empty, the process is alive.
  package func check() -> [String] {
    let (round, missing) = state.withLock { state -> (Int, Set<Int>) in
      guard state.missing.isEmpty else { return (state.round, state.missing) }
      state.round += 1
      state.missing = Set(parts.indices)
      return (state.round, [])
    }
    guard missing.isEmpty else { return missing.sorted().map { parts[$0].name } }
    for (index, part) in parts.enumerated() {
      part.ask { [weak self] in self?.answered(index, in: round) }
    }
    return []
  }

  private func answered(_ index: Int, in round: Int) {
    state.withLock { state in
      if state.round == round { state.missing.remove(index) }
    }
  }
}
