import PhotoModel

/// What a scan is to do.
struct ScanOrder: Sendable {
  var scope = ScanScope.everything
  /// What is not there is gone, however much it is and whatever disk is missing.
  var acceptsRemovals = false
  /// Progress is told with what is to be expected.
  var foresees = false
  /// Files of the scope that one who wrote them has closed, or that came under their names as they are. `nil`: nobody was
  /// told anything, and what changed a moment ago has to be quiet first.
  var closed: Set<[UInt8]>?
  /// Whoever ordered it looks again where he is told to, so that the scan need not wait.
  var looksAgain = false
  /// Files that were removed in the same way a little while ago.
  var removedBefore = 0
  var observer: (any WalkObserver)?
  /// Asked before anything is removed: what has come under its name since the scan began, and may be what is missing.
  var arrivals: (@Sendable () -> Arrivals)?
  var stop: StopFlag

  init(stop: StopFlag) { self.stop = stop }
}

/// What has another name than before, and was not looked at yet.
struct Arrivals: Sendable {
  var files: [[UInt8]] = []
  /// There are folders too, or more than anybody wants to look at.
  var areMore = false
  /// Another number: more has come since.
  var count = 0
}

/// What came of it.
struct ScanOutcome: Sendable {
  var progress = ScanProgress()
  /// Why nothing was removed that was missing.
  var refusal: AssetLibraryError?
  /// Paths that are to be looked at again, each after so many nanoseconds.
  var again: [(path: [UInt8], after: Int64)] = []
  /// The walk came to its end.
  var isWalked = false
  /// The whole scope was looked at, and what was to be removed was.
  var isComplete = false
}
