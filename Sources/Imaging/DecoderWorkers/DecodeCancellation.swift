import PhotoModel
import Synchronization

/// Cancels the decodes that it was given to, from any thread: their workers get SIGKILL.
package final class DecodeCancellation: Sendable {
  private struct State {
    var isCancelled = false
    /// Running workers of these decodes.
    var children: [DecoderChild] = []
  }

  private let state = Mutex(State())
  private let flag: StopFlag?

  /// - Parameter flag: also cancels when it is raised, at most ``WorkerChannel/flagInterval`` later.
  package init(following flag: StopFlag? = nil) { self.flag = flag }

  package var isCancelled: Bool { state.withLock { $0.isCancelled } || flag?.isRaised == true }

  /// Whether a decode must look at ``isCancelled`` while it waits.
  var hasFlag: Bool { flag != nil }

  package func cancel() {
    let children = state.withLock { state in
      state.isCancelled = true
      defer { state.children = [] }
      return state.children
    }
    for child in children { child.kill() }
  }

  /// Remembers a running worker; kills it if the decode is cancelled already.
  func attach(_ child: DecoderChild) {
    let isCancelled = state.withLock { state in
      if !state.isCancelled { state.children.append(child) }
      return state.isCancelled
    }
    if isCancelled { child.kill() }
  }

  func detach(_ child: DecoderChild) { state.withLock { $0.children.removeAll { $0 === child } } }
}
