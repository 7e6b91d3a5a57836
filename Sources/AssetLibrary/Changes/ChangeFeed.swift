// Who is told when the library changes. One place after a commit, whoever made it: a scan, a client, another process.
//
//     commit --changed--> [latest token] --queue--> observer, observer, ...

import Dispatch
import PhotoModel
import Synchronization

/// Tells observers of every commit, on its own queue, after the commit and with no lock held. Commits that follow one another
/// quickly are told of once: whoever wants to know what changed asks the history, from the token that it knows on.
package final class ChangeFeed: Sendable {
  private struct State {
    var latest: ChangeToken
    /// What is not told of yet.
    var isTelling = false
    var observers: [any ChangeObserver] = []
  }

  private let state: Mutex<State>
  private let queue = DispatchQueue(label: "photod.changefeed", qos: .userInitiated)

  init(latest: ChangeToken) { state = Mutex(State(latest: latest)) }

  /// The last change that is known of here.
  package var latest: ChangeToken { state.withLock { $0.latest } }

  /// Tells an observer of every change from now on, for as long as the feed lives.
  package func observe(_ observer: any ChangeObserver) { state.withLock { $0.observers.append(observer) } }

  /// There was a commit. From any thread, without a lock held; commits may be told of in another order than they were made in.
  func changed(to token: ChangeToken) {
    let starts = state.withLock { state in
      guard token > state.latest else { return false }
      state.latest = token
      defer { state.isTelling = true }
      return !state.isTelling
    }
    if starts { queue.async { [self] in tell() } }
  }

  private func tell() {
    let observers = state.withLock { state in
      state.isTelling = false
      return state.observers
    }
    for observer in observers { observer.libraryDidChange() }
  }
}
