import LibraryCatalogue
import PhotoModel

/// The options of one scan.
struct ScanOptions: Sendable {
  var scope = ScanScope.everything
  /// Remove all missing files, however many, and even if a disk is missing.
  var acceptsRemovals = false
  /// Include the expected number of files in the progress.
  var estimatesTotal = false
  /// Files of the scope that a writer has closed or that were renamed to their paths. `nil`: the scan follows no
  /// events, and recently changed files have to settle first.
  var closedFiles: Set<[UInt8]>?
  /// The subset of `closedFiles` that a writer has closed.
  var writtenFiles: Set<[UInt8]> = []
  /// Known files that were renamed to these paths, and were held back once for that reason.
  var awaitedRenames: Set<[UInt8]> = []
  /// The caller schedules the rechecks that the outcome lists, so the scan need not wait.
  var returnsRechecks = false
  /// The previous walk asked for another one (`ScanOutcome.fullScanDelayNanoseconds`). This walk is the last.
  var isSecondWalk = false
  /// Number of files that scans of changed paths removed recently.
  var recentRemovals = 0
  var observer: (any WalkObserver)?
  /// Returns the renamed paths that are not scanned yet. Called before rows of missing files are removed or matched to
  /// new files: the missing files may be at these paths.
  var arrivals: (@Sendable () -> Arrivals)?
  var stop: StopFlag

  init(stop: StopFlag) { self.stop = stop }
}

/// Paths that received a new name and were not scanned yet.
struct Arrivals: Sendable {
  var files: [[UInt8]] = []
  /// The list is incomplete: it has folders, or too many files to compare.
  var isPartialList = false
  /// A counter; a different value means that more paths arrived.
  var count = 0
}

/// A path to scan again.
struct Recheck: Sendable {
  let path: [UInt8]
  let delayNanoseconds: Int64
}

/// The result of one scan.
struct ScanOutcome: Sendable {
  var progress = ScanProgress()
  /// Why missing files were not removed.
  var refusal: LibraryError?
  /// Files that may still be written.
  var rechecks: [Recheck] = []
  /// Other paths to scan again: of files that are missing but were perhaps moved, and further names of files that
  /// changed.
  var followUps: [Recheck] = []
  /// Known files that were renamed a moment ago. Until they are scanned again, their rows keep their former paths.
  var renamed: [Recheck] = []
  /// Files that appeared where the walk had already been: paths to scan again at once.
  var appeared: [[UInt8]] = []
  /// The rechecks after a full scan, of files that were held back because they may still be written.
  var heldBack: [Recheck] = []
  /// A full scan is due after this delay: more files were held back than are remembered, files swapped names during the
  /// walk, or a folder that a disk seemed to hide is to be scanned.
  var fullScanDelayNanoseconds: Int64?
  /// The walk visited its whole scope.
  var isWalkComplete = false
  /// The whole scope was scanned, and missing files were removed.
  var isComplete = false
  /// This was a full scan, complete except for files that were held back.
  var isFullScan = false
}
