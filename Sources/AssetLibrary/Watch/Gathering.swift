// What was told, until it is scanned: which paths, since when, and when it is time. Events come in quick succession, and a
// scan of many paths costs little more than one of one; so they are gathered until nothing came for a moment, but not for
// long. A path that was scanned a moment ago has to wait, longer each time, so that a file that somebody appends to for
// minutes is not read ten times a second. No clock and no timer: times come in, and when it is due is asked.

struct Gathering {
  struct Limits: Sendable, Hashable {
    /// Nanoseconds without an event after which what was told is due.
    var delay: Int64 = 100_000_000
    /// Paths that are remembered; where more come, everything is scanned instead.
    var paths = 32_768

    /// What was told is due after so many delays even where events go on.
    static let longestDelays: Int64 = 5
    /// Paths whose last scans are remembered.
    static let recent = 8192
    /// From a path's last scan to its next one, at least: doubled each time.
    static let shortestPause: Int64 = 250_000_000
    static let longestPause: Int64 = 2_000_000_000
    /// A path that was left alone for so long is new.
    static let forgottenAfter: Int64 = 10_000_000_000
    /// How often a path is looked at again that is still being written although somebody has closed it.
    static let attempts = 4
  }

  struct Told: OptionSet, Sendable, Hashable {
    let rawValue: UInt8

    /// The path is, or was, a file's.
    static let file = Told(rawValue: 1)
    /// The path is, or was, a folder's: what is below it.
    static let folder = Told(rawValue: 2)
    /// One who wrote the file has closed it, or it came under its name as it is.
    static let closed = Told(rawValue: 4)
    /// Only rights or times of a folder: it is looked at where it was not watched.
    static let rights = Told(rawValue: 8)
    /// It had another name before, or may hold what had.
    static let arrived = Told(rawValue: 16)
  }

  private struct Recent {
    var last: Int64
    var count: Int
  }

  private struct Held {
    var told: Told
    var due: Int64
  }

  let limits: Limits
  private var ready: [[UInt8]: Told] = [:]
  private var first: Int64 = 0
  private var last: Int64 = 0
  /// Paths whose time is not yet.
  private var held: [[UInt8]: Held] = [:]
  /// No later than the first of these.
  private var heldDue = Int64.max
  private var recent: [[UInt8]: Recent] = [:]
  /// When everything is to be scanned.
  private var rescanDue: Int64?
  /// Everything is not scanned before that, so that there is time for something else too.
  var earliestRescan = Int64.min

  init(_ limits: Limits) { self.limits = limits }

  var count: Int { ready.count + held.count }

  var isEmpty: Bool { ready.isEmpty && held.isEmpty && rescanDue == nil }

  /// Something was told of a path.
  mutating func note(_ path: [UInt8], _ told: Told, now: Int64) {
    if held[path] != nil {
      held[path]?.told.formUnion(told)
      return
    }
    if ready[path] == nil, let recent = recent[path], now - recent.last < Limits.forgottenAfter {
      hold(path, told, until: recent.last + Self.pause(behind: recent.count), now)
      return
    }
    guard ready[path] != nil || hasRoom(now) else { return }
    if ready.isEmpty { first = now }
    last = now
    ready[path, default: []].formUnion(told)
  }

  /// A path is to be looked at again after a while.
  mutating func note(_ path: [UInt8], _ told: Told, after pause: Int64, now: Int64) {
    if ready[path] != nil { return }
    // A path that is looked at for the same reason again and again is given up; the next scan of all comes by.
    let count = recent[path]?.count ?? 0
    if told.contains(.closed) && count > Limits.attempts { return }
    hold(path, told, until: max(now + pause, (recent[path]?.last ?? now) + Self.pause(behind: count)), now)
  }

  /// Everything is to be scanned: not all of it was told.
  mutating func noteAll(from due: Int64) {
    rescanDue = min(rescanDue ?? .max, max(due, earliestRescan))
    forget()
  }

  /// Those that had other names before.
  var arrivals: [[UInt8]: Told] {
    ready.filter { $0.value.contains(.arrived) }.merging(
      held.filter { $0.value.told.contains(.arrived) }.mapValues(\.told)
    ) { $1 }
  }

  /// When there is something to do; `nil`: until something is told, never.
  var due: Int64? {
    var due = rescanDue
    func consider(_ time: Int64) { due = min(due ?? .max, time) }
    if !ready.isEmpty { consider(min(last + limits.delay, first + Limits.longestDelays * limits.delay)) }
    if !held.isEmpty { consider(heldDue) }
    return due
  }

  /// What is due, or would be within a delay.
  ///
  /// - Parameter isWaiting: paths that are not complete without what comes next: they stay for one more time.
  /// - Returns: paths, or everything.
  mutating func take(
    now: Int64, except isWaiting: ([UInt8]) -> Bool = { _ in false }
  ) -> (paths: [[UInt8]: Told], isEverything: Bool) {
    if let rescanDue, rescanDue <= now {
      self.rescanDue = nil
      forget()
      return ([:], true)
    }
    var taken: [[UInt8]: Told] = [:]
    var left: [[UInt8]: Told] = [:]
    for (path, told) in ready {
      if isWaiting(path) { left[path] = told } else { taken[path] = told }
    }
    ready = left
    if !left.isEmpty { (first, last) = (now, now) }
    if heldDue <= now {
      heldDue = .max
      for (path, entry) in held {
        if entry.due <= now {
          held[path] = nil
          taken[path, default: []].formUnion(entry.told)
        } else {
          heldDue = min(heldDue, entry.due)
        }
      }
    }
    remember(taken.keys, now)
    return (taken, false)
  }

  /// What was taken could not be scanned.
  mutating func giveBack(_ paths: [[UInt8]: Told], until due: Int64, now: Int64) {
    for (path, told) in paths { hold(path, told, until: due, now) }
  }

  private mutating func hold(_ path: [UInt8], _ told: Told, until due: Int64, _ now: Int64) {
    guard held[path] != nil || hasRoom(now) else { return }
    held[path, default: Held(told: told, due: due)].told.formUnion(told)
    heldDue = min(heldDue, due)
  }

  /// Where there is none, everything is scanned; that comes by whatever is told until it begins.
  private mutating func hasRoom(_ now: Int64) -> Bool {
    if count < limits.paths { return true }
    if rescanDue == nil { noteAll(from: now) }
    return false
  }

  private mutating func forget() { (ready, held, heldDue) = ([:], [:], .max) }

  private mutating func remember(_ paths: some Collection<[UInt8]>, _ now: Int64) {
    if recent.count + paths.count > Limits.recent {
      recent = recent.filter { now - $0.value.last < Limits.forgottenAfter }
      // More than that is a storm, and no file that is written again and again.
      if recent.count + paths.count > Limits.recent { recent = [:] }
    }
    for path in paths.prefix(Limits.recent) {
      let known = recent[path].flatMap { now - $0.last < Limits.forgottenAfter ? $0 : nil }
      recent[path] = Recent(last: now, count: (known?.count ?? 0) + 1)
    }
  }

  private static func pause(behind count: Int) -> Int64 {
    count == 0 ? 0 : min(Limits.shortestPause << Int64(min(count - 1, 8)), Limits.longestPause)
  }
}
