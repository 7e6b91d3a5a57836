import PhotoModel
import Synchronization

/// The mutable properties of a ``LeasedFetchResult``, whose list is immutable. They are documented there.
package final class LeaseState: Sendable {
  private struct State {
    var changeToken: ChangeToken
    var successor: String?
  }
  private let state: Mutex<State>

  init(_ changeToken: ChangeToken) {
    state = Mutex(State(changeToken: changeToken))
  }

  var changeToken: ChangeToken {
    get { state.withLock { $0.changeToken } }
    set { state.withLock { $0.changeToken = newValue } }
  }

  var successor: String? {
    get { state.withLock { $0.successor } }
    set { state.withLock { $0.successor = newValue } }
  }
}
