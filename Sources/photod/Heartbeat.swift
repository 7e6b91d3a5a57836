// Notifies the service manager while the daemon runs (sd_notify(3)): sends its status, and WATCHDOG=1 as long as its
// parts answer. Without WATCHDOG=1 for WatchdogSec, systemd restarts the daemon.

import Dispatch
import LibraryCatalogue
import Logging
import PhotoModel
import Synchronization
import Telemetry

final class Heartbeat: Sendable {
  /// Seconds between two checks of the status, if no watchdog needs them more often.
  private static let statusSeconds = 10

  private let catalogue: Catalogue
  private let liveness: Liveness
  private let logger = Logger(label: "photod")
  private let timers = DispatchSources()
  private let isStopped = Atomic<Bool>(false)
  private let lastStatus = Mutex("")

  init(catalogue: Catalogue, parts: [Liveness.Part]) {
    self.catalogue = catalogue
    liveness = Liveness(parts)
  }

  /// One line for people: `systemctl status` shows it.
  func status() -> String {
    do {
      let state = try catalogue.scanState(for: .local)
      return state.isFirstScanComplete
        ? "serving \(state.indexedCount) assets" : "first scan: \(state.indexedCount) assets so far"
    } catch {
      return "the catalogue can't be read: \(error)"
    }
  }

  /// Starts the timer, if there is a service manager.
  func start() {
    guard Systemd.isNotified else { return }
    let watchdog = Systemd.watchdogSeconds()
    // Three times in the expected interval, so that one late check does not end the daemon.
    let interval = watchdog.map { min(Self.statusSeconds, max(1, Int($0 / 3))) } ?? Self.statusSeconds
    timers.repeatEvery(interval, after: interval, leeway: .milliseconds(100), on: .global(qos: .userInitiated)) {
      [weak self] in self?.beat(hasWatchdog: watchdog != nil)
    }
  }

  /// Stops sending the status. WATCHDOG=1 is still sent, because the service manager expects it while the daemon
  /// drains.
  func stop() { isStopped.store(true, ordering: .relaxed) }

  private func beat(hasWatchdog: Bool) {
    if hasWatchdog {
      let missing = liveness.check()
      if missing.isEmpty {
        Systemd.notify("WATCHDOG=1")
      } else {
        logger.error("watchdog withheld", metadata: ["waitingFor": "\(missing.joined(separator: ","))"])
      }
    }
    guard !isStopped.load(ordering: .relaxed) else { return }
    let status = status()
    let isNew = lastStatus.withLock { last in
      defer { last = status }
      return last != status
    }
    if isNew { Systemd.notify("STATUS=\(status)") }
  }
}
