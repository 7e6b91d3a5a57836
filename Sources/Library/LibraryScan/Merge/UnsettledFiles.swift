// Holds back files that changed a moment ago, because they may still be incomplete. A full scan defers them to its end
// and rechecks them once they should have settled: an unchanged file is indexed, a changed one is left to the next
// scan. A scan of changed paths does not wait: it asks the kernel whether the file has writers, and reports which paths
// need a recheck.

import LibraryCatalogue
import LibraryFolder
import PhotoModel
import Primitives

struct UnsettledFiles {
  /// Nanoseconds without a change after which a file counts as complete; 0: at once.
  let settleNanoseconds: Int64
  /// Maximum number of remembered files. If more are held back, the rest need another walk.
  private let limit: Int
  private(set) var waiting: [(file: WalkedFile, known: KnownFile?)] = []
  /// Number of files left to the next scan.
  private(set) var deferredCount = 0
  /// Size of the smallest deferred file without a row. It may be a copy of any missing file of at least this size.
  private(set) var smallestNewSize: Int64?
  private(set) var rechecks: [Recheck] = []
  /// When the last file beyond the limit settles; `nil`: all files are remembered.
  private var settledBeyondLimit: Int64?

  init(settleTime: Duration, limit: Int) {
    settleNanoseconds = settleTime.wholeNanoseconds
    self.limit = limit
  }

  /// Defers a new or changed file if it has not settled, and returns whether it did. A time in the future beyond the
  /// settle time is a clock error and does not defer.
  mutating func deferIfUnsettled(_ file: WalkedFile, known: KnownFile?, now: Int64) -> Bool {
    guard isUnsettled(file.identity.modified, now) || isUnsettled(file.changeTimeNanoseconds, now) else { return false }
    if waiting.count < limit {
      waiting.append((file, known))
    } else {
      recordDeferred(file.identity, known)
      settledBeyondLimit = max(settledBeyondLimit ?? .min, settledAt(of: file, now: now))
    }
    return true
  }

  /// Defers a file that had an event, if it may still be written, and returns whether it did.
  ///
  /// - Parameter isClosed: a writer has closed the file, or it was renamed to this path.
  mutating func deferIfUnsettled(
    _ file: WalkedFile, known: KnownFile?, now: Int64, isClosed: Bool, in root: LibraryFolder
  ) -> Bool {
    switch (try? root.open(file.path))?.hasWriters {
    case false: return false
    case true:
      recordDeferred(file.identity, known)
      // Closing raises an event. The kernel sends it before it updates the writer count, so a closed file is rechecked.
      if isClosed { rechecks.append(Recheck(path: file.path, delayNanoseconds: 0)) }
      return true
    default:
      // The kernel does not know. A close after writing usually means that the file is complete; without one, wait for
      // the settle time.
      if isClosed { return false }
      let rest = settledAt(of: file, now: now) - now
      guard rest > 0 else { return false }
      recordDeferred(file.identity, known)
      rechecks.append(Recheck(path: file.path, delayNanoseconds: rest))
      return true
    }
  }

  /// When the last deferred file, remembered or not, settles if it does not change again.
  func settledAt(now: Int64) -> Int64 {
    waiting.reduce(max(now, settledBeyondLimit ?? now)) { max($0, settledAt(of: $1.file, now: now)) }
  }

  /// Delay until a full walk is needed because more files were held back than are remembered; `nil`: all are
  /// remembered.
  func fullScanDelayNanoseconds(now: Int64) -> Int64? { settledBeyondLimit.map { max(0, $0 - now) } }

  mutating func recordDeferred(_ identity: FileIdentity, _ known: KnownFile?) {
    deferredCount += 1
    if known == nil { smallestNewSize = min(smallestNewSize ?? .max, identity.size) }
  }

  /// Turns all waiting files into rechecks.
  mutating func rescheduleAll(now: Int64) {
    for (file, known) in waiting {
      recordDeferred(file.identity, known)
      rechecks.append(Recheck(path: file.path, delayNanoseconds: settledAt(of: file, now: now) - now))
    }
    waiting = []
  }

  private func settledAt(of file: WalkedFile, now: Int64) -> Int64 {
    [file.identity.modified, file.changeTimeNanoseconds].filter { isUnsettled($0, now) }.reduce(now) {
      max($0, $1 + settleNanoseconds)
    }
  }

  private func isUnsettled(_ time: Int64, _ now: Int64) -> Bool {
    let (age, overflow) = now.subtractingReportingOverflow(time)
    return !overflow && age.magnitude < settleNanoseconds.magnitude
  }
}
