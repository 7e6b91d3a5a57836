// Decides when the first scan of a watched library is complete: once the files that its walk held back, because they
// may still be written, have been checked once more. One recheck is enough, whatever its result: a file that is written
// for hours must not keep the first scan incomplete. The type has no clock: the caller passes the time in.

struct FirstScanRechecks {
  /// Files that the first walk held back and that were not rechecked yet, each with the time when it settles if it does
  /// not change again; `nil`: no walk has ended yet.
  private var due: [[UInt8]: Int64]?
  /// More files were held back than are remembered: only a walk that begins at or after this time checks them.
  private var fullScanDueTime: Int64?
  /// Whether the catalogue records the first scan as complete.
  var isRecorded = false

  var areDone: Bool { due?.isEmpty == true && fullScanDueTime == nil }

  /// A full scan ended. Files that later walks hold back are newer, and the first scan does not wait for them.
  ///
  /// - Parameters:
  ///   - start: when the walk began.
  ///   - now: the time that the delays of the outcome count from.
  mutating func fullScanEnded(_ outcome: ScanOutcome, from start: Int64, now: Int64) {
    guard outcome.isWalkComplete else { return }
    let heldBack = Dictionary(outcome.heldBack.map { ($0.path, now + $0.delayNanoseconds) }) { first, _ in first }
    guard let due else {
      guard outcome.isFullScan else { return }
      self.due = heldBack
      fullScanDueTime = outcome.fullScanDelayNanoseconds.map { now + $0 }
      return
    }
    var left = due.filter { $0.value > start && heldBack[$0.key] != nil }
    if let fullScanDueTime, fullScanDueTime <= start {
      self.fullScanDueTime = nil
    } else if fullScanDueTime != nil, outcome.fullScanDelayNanoseconds == nil {
      // This walk came too early for some of them, but all are remembered now.
      left.merge(heldBack) { known, _ in known }
      fullScanDueTime = nil
    }
    self.due = left
  }

  /// A scan of changed paths ended.
  mutating func pathsScanned(_ paths: some Sequence<[UInt8]>) {
    for path in paths { due?[path] = nil }
  }
}
