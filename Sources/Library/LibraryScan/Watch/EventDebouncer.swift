// Collects changed paths until they are due for a scan. Events arrive in quick succession, and a scan of many paths
// costs little more than a scan of one, so paths are collected until no event arrives for a moment, up to a maximum
// delay. A path that was scanned a moment ago waits longer each time: a file that is appended to for minutes is not
// read ten times a second. The type has no clock and no timer: the caller passes the time in and asks when the next
// path is due. All times are nanoseconds of the caller's clock.

struct EventDebouncer {
  struct Limits: Sendable, Hashable {
    /// Paths are due after this time without an event.
    var delayNanoseconds: Int64 = 100_000_000
    /// Maximum number of pending paths; with more, a full scan replaces them.
    var paths = 32_768

    /// Paths are due after this many delays even while events continue.
    static let maximumDelays: Int64 = 5
    /// Number of paths whose last scan is remembered.
    static let maximumRecentPaths = 8192
    /// Minimum pause between two scans of one path; doubled with each scan.
    static let minimumPauseNanoseconds: Int64 = 250_000_000
    static let maximumPauseNanoseconds: Int64 = 2_000_000_000
    /// After this time without a scan the history of a path is dropped.
    static let historyLifetimeNanoseconds: Int64 = 10_000_000_000
    /// Number of rescans of a path that is still being written although a writer has closed it.
    static let maximumAttempts = 4
  }

  struct PathHints: OptionSet, Sendable, Hashable {
    let rawValue: UInt8

    /// The path is, or was, a file.
    static let file = PathHints(rawValue: 1)
    /// The path is, or was, a folder; it includes everything below it.
    static let folder = PathHints(rawValue: 2)
    /// A writer has closed the file, or the complete file was renamed to this path.
    static let closed = PathHints(rawValue: 4)
    /// Only the mode or the times of a folder changed: it is scanned only if it was not watched.
    static let attributes = PathHints(rawValue: 8)
    /// The file or folder was renamed to this path, or is a new folder that may hold renamed files.
    static let arrived = PathHints(rawValue: 16)
    /// A known file was renamed to this path, and was held back once for that reason.
    static let awaited = PathHints(rawValue: 32)
  }

  private struct ScanHistory {
    /// When the path was last scanned.
    var lastScan: Int64
    var scanCount: Int
  }

  private struct DelayedPath {
    var hints: PathHints
    var due: Int64
  }

  let limits: Limits
  private var pending: [[UInt8]: PathHints] = [:]
  private var first: Int64 = 0
  private var last: Int64 = 0
  /// Paths that are not due yet.
  private var delayed: [[UInt8]: DelayedPath] = [:]
  /// A lower bound of the times in `delayed`.
  private var delayedDue = Int64.max
  /// The recent scans of each path.
  private var history: [[UInt8]: ScanHistory] = [:]
  /// When the next full scan is due.
  private var fullScanDue: Int64?
  /// Whether pending paths were dropped or events lost since the last full scan began.
  private(set) var hasLostPaths = false
  /// No full scan starts before this time, which leaves time for other work.
  var earliestFullScan = Int64.min

  init(_ limits: Limits) { self.limits = limits }

  var count: Int { pending.count + delayed.count }

  /// Records an event for a path.
  mutating func note(_ path: [UInt8], _ hints: PathHints, now: Int64) {
    if delayed[path] != nil {
      delayed[path]?.hints.formUnion(hints)
      return
    }
    if pending[path] == nil, let scans = history[path], now - scans.lastScan < Limits.historyLifetimeNanoseconds {
      postpone(path, hints, until: scans.lastScan + Self.pauseNanoseconds(after: scans.scanCount), now)
      return
    }
    guard pending[path] != nil || hasRoom(now) else { return }
    if pending.isEmpty { first = now }
    last = now
    pending[path, default: []].formUnion(hints)
  }

  /// Schedules a rescan of a path after its delay.
  mutating func note(_ recheck: Recheck, _ hints: PathHints, now: Int64) {
    let path = recheck.path
    if pending[path] != nil { return }
    // Stop after several rescans for the same reason; the next full scan checks the path.
    let count = history[path]?.scanCount ?? 0
    if hints.contains(.closed) && count > Limits.maximumAttempts { return }
    let earliest = (history[path]?.lastScan ?? now) + Self.pauseNanoseconds(after: count)
    postpone(path, hints, until: max(now + recheck.delayNanoseconds, earliest), now)
  }

  /// Schedules a full scan and drops the pending paths, which it covers.
  mutating func replaceWithFullScan(at due: Int64) {
    scheduleFullScan(from: due)
    hasLostPaths = true
    clear()
  }

  /// Schedules a full scan. Pending paths do not wait for it.
  mutating func scheduleFullScan(from due: Int64) { fullScanDue = min(fullScanDue ?? .max, max(due, earliestFullScan)) }

  /// A full scan begins, which covers the dropped paths and lost events.
  mutating func fullScanBegins() { hasLostPaths = false }

  /// Pending paths that were renamed or may hold renamed files.
  var arrivals: [[UInt8]: PathHints] {
    pending.filter { $0.value.contains(.arrived) }.merging(
      delayed.filter { $0.value.hints.contains(.arrived) }.mapValues(\.hints)
    ) { $1 }
  }

  /// When the next scan is due; `nil`: nothing is pending.
  var due: Int64? {
    var due = fullScanDue
    func consider(_ time: Int64) { due = min(due ?? .max, time) }
    if !pending.isEmpty {
      consider(min(last + limits.delayNanoseconds, first + Limits.maximumDelays * limits.delayNanoseconds))
    }
    if !delayed.isEmpty { consider(delayedDue) }
    return due
  }

  /// Removes and returns the paths that are due now or within one delay.
  ///
  /// - Parameter isWaiting: paths that need the next events to be complete; they stay for one more round.
  /// - Returns: paths, or a full scan.
  mutating func take(
    now: Int64, except isWaiting: ([UInt8]) -> Bool = { _ in false }
  ) -> (paths: [[UInt8]: PathHints], isEverything: Bool) {
    if let fullScanDue, fullScanDue <= now {
      self.fullScanDue = nil
      if !arrivals.isEmpty { hasLostPaths = true }
      clear()
      return ([:], true)
    }
    var taken: [[UInt8]: PathHints] = [:]
    var left: [[UInt8]: PathHints] = [:]
    for (path, hints) in pending {
      if isWaiting(path) { left[path] = hints } else { taken[path] = hints }
    }
    pending = left
    if !left.isEmpty { (first, last) = (now, now) }
    if delayedDue <= now {
      delayedDue = .max
      for (path, entry) in delayed {
        if entry.due <= now {
          delayed[path] = nil
          taken[path, default: []].formUnion(entry.hints)
        } else {
          delayedDue = min(delayedDue, entry.due)
        }
      }
    }
    recordScans(taken.keys, now)
    return (taken, false)
  }

  /// Puts back paths whose scan failed.
  mutating func requeue(_ paths: [[UInt8]: PathHints], until due: Int64, now: Int64) {
    for (path, hints) in paths { postpone(path, hints, until: due, now) }
  }

  private mutating func postpone(_ path: [UInt8], _ hints: PathHints, until due: Int64, _ now: Int64) {
    guard delayed[path] != nil || hasRoom(now) else { return }
    delayed[path, default: DelayedPath(hints: hints, due: due)].hints.formUnion(hints)
    delayedDue = min(delayedDue, due)
  }

  /// Whether another path fits. Otherwise a full scan is scheduled, which covers all events until it begins.
  private mutating func hasRoom(_ now: Int64) -> Bool {
    if count < limits.paths { return true }
    replaceWithFullScan(at: now)
    return false
  }

  private mutating func clear() { (pending, delayed, delayedDue) = ([:], [:], .max) }

  private mutating func recordScans(_ paths: some Collection<[UInt8]>, _ now: Int64) {
    if history.count + paths.count > Limits.maximumRecentPaths {
      history = history.filter { now - $0.value.lastScan < Limits.historyLifetimeNanoseconds }
      // So many paths are a burst of events, not files that are rewritten repeatedly.
      if history.count + paths.count > Limits.maximumRecentPaths { history = [:] }
    }
    for path in paths.prefix(Limits.maximumRecentPaths) {
      let known = history[path].flatMap { now - $0.lastScan < Limits.historyLifetimeNanoseconds ? $0 : nil }
      history[path] = ScanHistory(lastScan: now, scanCount: (known?.scanCount ?? 0) + 1)
    }
  }

  private static func pauseNanoseconds(after count: Int) -> Int64 {
    count == 0 ? 0 : min(Limits.minimumPauseNanoseconds << Int64(min(count - 1, 8)), Limits.maximumPauseNanoseconds)
  }
}
