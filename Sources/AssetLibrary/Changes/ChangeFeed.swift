// Who is told when the library changes. One place after a commit, whoever made it: a scan, a client, another process.
//
//     commit --changed--> [latest token] --queue--> observer, observer, ...

import Dispatch
import Synchronization

/// Is told of changes.
package protocol ChangeObserver: AnyObject, Sendable {
  /// The library is now in the state after this change. Called after the commit, on the feed's queue, with rising tokens; commits
  /// that follow one another quickly are told of once, with the last token. Returns soon: what takes long is put
  /// on a queue of its own.
  func libraryDidChange(_ token: ChangeToken)
}

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
    let (token, observers) = state.withLock { state in
      state.isTelling = false
      return (state.latest, state.observers)
    }
    for observer in observers { observer.libraryDidChange(token) }
  }
}
