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
  var stop: StopFlag

  init(stop: StopFlag) { self.stop = stop }
}

/// What came of it.
struct ScanOutcome: Sendable {
  var progress = ScanProgress()
  /// Why nothing was removed that was missing.
  var refusal: AssetLibraryError?
  /// Paths that are to be looked at again, each after so many nanoseconds.
  var again: [(path: [UInt8], after: Int64)] = []
  /// The whole scope was looked at, and what was to be removed was.
  var isComplete = false
}
