import Synchronization

@testable import OriginalDownloads

/// A clock that the test moves. Functions wait until their time has come.
final class ManualDownloadClock: Sendable {
  private struct State {
    var now = Duration.seconds(1)
    var waiting: [(time: Duration, body: @Sendable () -> Void)] = []
  }

  private let state = Mutex(State())

  var waitingCount: Int { state.withLock { $0.waiting.count } }

  var clock: DownloadClock {
    DownloadClock(
      now: { self.state.withLock { $0.now } },
      after: { delay, body in self.state.withLock { $0.waiting.append(($0.now + delay, body)) } })
  }

  func advance(_ duration: Duration) {
    let due = state.withLock { state in
      state.now += duration
      let now = state.now
      defer { state.waiting.removeAll { $0.time <= now } }
      return state.waiting.filter { $0.time <= now }
    }
    for (_, body) in due { body() }
  }
}
