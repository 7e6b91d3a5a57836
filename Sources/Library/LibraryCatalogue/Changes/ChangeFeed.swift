// Notifies observers of commits by scans, clients and other processes.

import Dispatch
import PhotoModel
import Synchronization

/// Notifies observers after each commit, on its own queue and with no lock held. Commits in quick succession are
/// coalesced into one notification. An observer that needs the details reads the history from the last token that it
/// knows.
package final class ChangeFeed: Sendable {
  private struct State {
    /// The latest token that this feed has seen.
    var latest: ChangeToken
    /// A notification is queued and has not run yet.
    var isNotificationScheduled = false
    var observers: [any ChangeObserver] = []
  }

  private let state: Mutex<State>
  private let queue = DispatchQueue(label: "photod.changefeed", qos: .userInitiated)

  init(latest: ChangeToken) { state = Mutex(State(latest: latest)) }

  /// Adds an observer, which the feed keeps for its own lifetime.
  package func observe(_ observer: any ChangeObserver) { state.withLock { $0.observers.append(observer) } }

  /// Reports a commit. Call it from any thread, without a lock held. Commits may be reported out of order.
  func changed(to token: ChangeToken) {
    let isNew = state.withLock { state in
      guard token > state.latest else { return false }
      state.latest = token
      return true
    }
    if isNew { scheduleNotification() }
  }

  /// Reports commits that changed moments, which create no token. Call it from any thread, without a lock held.
  func momentsChanged() { scheduleNotification() }

  private func scheduleNotification() {
    let isFirst = state.withLock { state in
      defer { state.isNotificationScheduled = true }
      return !state.isNotificationScheduled
    }
    if isFirst { queue.async { [self] in notifyObservers() } }
  }

  private func notifyObservers() {
    let observers = state.withLock { state in
      state.isNotificationScheduled = false
      return state.observers
    }
    for observer in observers { observer.libraryDidChange() }
  }
}
