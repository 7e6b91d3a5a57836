// One walk of a scan: a merge of two streams sorted by path, the files in the folder and the rows in the catalogue.
//
//     merge     unchanged file: skipped; new or changed file: written, or held back; row without a file: missing
//     settle    files that were deferred because they may still be written are checked once more
//     decide    new files get the rows of missing files with the same content
//     restore   missing files get paths back that other files took, for example when a program saved a file
//     remove    rows of missing files, unless a disk was unmounted, or they were or may have been moved
//     record    a complete full scan
//
// A file with an unchanged identity and an unchanged ctime is not opened. New and changed files are probed in parallel,
// one batch at a time.

import LibraryCatalogue
import LibraryFolder
import Logging
import PhotoModel

struct LibraryMerge {
  let scanner: LibraryScanner
  let root: LibraryFolder
  let options: ScanOptions
  /// When the walk began, in nanoseconds since 1970.
  let start: Int64
  private let probeVersion: String
  let mounts: MountCheck
  /// Recorded file systems that are missing. Their folders are skipped.
  let missingMounts: [KnownMount]
  /// Folders with assets that a disk hides, which no scan has recorded. They are not walked.
  var hiddenFolders: [[UInt8]] = []
  /// The file systems when the walk began.
  private let mountsBefore: [[UInt8]: FileSystemIdentity?]
  var walk: LibraryWalk
  /// Number of file systems that the walk had met when they were last recorded; `nil`: never.
  private var recordedMountCount: Int?
  private var known: KnownFileCursor
  private var report: ScanReport
  var batch: ScanBatch
  var unsettled: UnsettledFiles
  var linkedNames: LinkedNames
  /// Rows whose files were not found. Only their numbers are kept: eight bytes a file, even if the whole library is
  /// missing.
  var missing: [Int64] = []
  /// The new paths of files that were renamed a moment ago and are held back.
  var renamedPaths: [[UInt8]] = []

  var isFullScan: Bool { options.scope.isEverything }

  /// Prepares a walk: finds the missing disks, and lists the root.
  init(_ scanner: LibraryScanner, _ root: LibraryFolder, _ options: ScanOptions) throws(AssetSourceError) {
    let catalogue = scanner.catalogue
    let isFullScan = options.scope.isEverything
    self.scanner = scanner
    self.root = root
    self.options = options
    start = scanner.environment.now()
    mounts = try MountCheck(catalogue: catalogue, root: root, environment: scanner.environment)
    missingMounts = options.acceptsRemovals ? [] : try mounts.missingMounts()
    mountsBefore = mounts.state()
    let skipped = missingMounts.map(\.path)
    let scope = options.scope.without(isFullScan ? [] : skipped)
    walk = LibraryWalk(
      root: root, environment: scanner.environment, scope: scope, skipping: Set(skipped), observer: options.observer)
    let lastID = try catalogue.lastFileID()
    known = KnownFileCursor(catalogue: catalogue, pageSize: LibraryScanner.pageSize, lastID: lastID, scope: scope)
    let probe = FileProbe(root: root, limits: scanner.limits, timeZone: scanner.timeZone)
    probeVersion = probe.version
    // Only a full scan probes every file again; a scan of changed paths covers few files.
    let reprobesAll = isFullScan ? try catalogue.beginScan(probeVersion: probeVersion) : false
    batch = ScanBatch(
      probe: probe, catalogue: catalogue, reprobesAll: reprobesAll, writtenFiles: options.writtenFiles, lastID: lastID,
      stop: options.stop, logger: scanner.logger)
    batch.arrivals = options.arrivals
    batch.skippedFolders = skipped
    batch.progress.missingMounts = skipped.count
    unsettled = UnsettledFiles(settleTime: scanner.settleTime, limit: scanner.deferralLimit)
    linkedNames = LinkedNames(catalogue: catalogue, isEnabled: !isFullScan)
    report = try ScanReport(estimatesTotal: options.estimatesTotal, root: root, catalogue: catalogue)
  }

  /// Walks the scope once, and writes the changes. Blocks.
  mutating func run(_ onProgress: (ScanProgress) -> Void) throws(AssetSourceError) -> ScanOutcome {
    defer { report.end() }
    // First, because the assets that the walk writes are filed under days of this zone.
    try scanner.catalogue.updateLocalDays(zone: scanner.timeZone, stop: options.stop)
    if let refusal = try refusalToWalk() { return ScanOutcome(refusal: refusal) }
    try merge(onProgress)
    try settle()
    if options.stop.isRaised { return ScanOutcome(progress: batch.progress) }
    try batch.flushUndecided()
    if options.stop.isRaised { return ScanOutcome(progress: batch.progress) }
    try addRemainingRows()
    var outcome = ScanOutcome(
      progress: batch.progress, rechecks: unsettled.rechecks, heldBack: isFullScan ? unsettled.rechecks : [],
      fullScanDelayNanoseconds: unsettled.fullScanDelayNanoseconds(now: scanner.environment.now()),
      isWalkComplete: true)
    outcome.appeared = batch.postponed
    outcome.renamed = renamedPaths.map { Recheck(path: $0, delayNanoseconds: Self.renamePauseNanoseconds) }
    // A disk that was mounted or unmounted during the walk added or hid files.
    guard mounts.isUnchanged(since: mountsBefore, walk.mounts, directory: scanner.directory) else {
      if !missing.isEmpty { outcome.refusal = .mountsChanged }
      return outcome
    }
    try keepPossiblyMoved(&outcome)
    if options.stop.isRaised { return ScanOutcome(progress: batch.progress) }
    // After a stop, the rest must not run: it would remove rows that this step did not come to restore, or record a
    // complete scan.
    try restoreFormerPaths(&outcome)
    if options.stop.isRaised { return ScanOutcome(progress: batch.progress) }
    outcome.refusal = try removeMissing(&outcome)
    if options.stop.isRaised { return ScanOutcome(progress: batch.progress) }
    try record(&outcome)
    batch.progress.expected = report.expected
    onProgress(batch.progress)
    outcome.progress = batch.progress
    outcome.followUps += (linkedNames.paths + batch.brokenLinks).map { Recheck(path: $0, delayNanoseconds: 0) }
    outcome.isComplete = outcome.refusal == nil
    return outcome
  }

  /// Refuses a library whose folder is empty although the catalogue has files, or whose own disk is missing.
  private func refusalToWalk() throws(AssetSourceError) -> LibraryError? {
    if walk.isEmpty && !options.acceptsRemovals, let refusal = try scanner.emptyLibraryRefusal() { return refusal }
    guard let own = missingMounts.first(where: \.path.isEmpty) else { return nil }
    if let error = try mounts.denial(of: own) { return .libraryUnavailable(path: scanner.directory, error) }
    return .otherFileSystem(path: scanner.directory)
  }

  // MARK: Merge

  private mutating func merge(_ onProgress: (ScanProgress) -> Void) throws(AssetSourceError) {
    while !options.stop.isRaised, let item = walk.next() {
      switch item {
      case .fileSystem(let mount):
        try enter(mount)
        continue
      case .unreadableFolder(let path, let reason):
        scanner.logger.warning(
          "unreadable folder", metadata: ["path": "\(LibraryPath.display(path))", "reason": "\(reason)"])
        batch.skippedFolders.append(path)
        continue
      case .unreadable(let path, let reason):
        let row = try row(at: path)
        batch.add(unreadable: path, reason, known: row)
      case .file(let file):
        let row = try row(at: file.path)
        try add(file, known: row)
      }
      if batch.isFull { try recordMetMounts() }
      try batch.flushIfFull()
      if report.isDue() {
        batch.progress.expected = report.expected
        onProgress(batch.progress)
      }
    }
    try recordMetMounts()
    try batch.flush()
  }

  /// Records the file systems that the walk met, before files on them. If the scan does not complete and such a disk is
  /// missing afterwards, its assets are kept.
  private mutating func recordMetMounts() throws(AssetSourceError) {
    guard recordedMountCount != walk.mounts.count else { return }
    // Until `record` has replaced a damaged list, a missing disk is not noticed.
    if mounts.isRecordUnreadable { return }
    recordedMountCount = walk.mounts.count
    if let all = mounts.mountsToAdd(walk.mounts) { try scanner.catalogue.recordMounts(all) }
  }

  /// The row of a path that the walk has reached. Rows that sort before it have no file.
  private mutating func row(at path: [UInt8]) throws(AssetSourceError) -> KnownFile? {
    batch.progress.files += 1
    while let row = try known.next(before: path) { addMissing(row) }
    return try known.next(at: path)
  }

  private mutating func add(_ file: WalkedFile, known row: KnownFile?) throws(AssetSourceError) {
    if row?.identity != file.identity {
      if try deferIfUnsettled(file, known: row) { return }
      if let row { try linkedNames.add(of: row) }
    }
    try batch.add(file, known: row)
  }

  /// Adds a row without a file. Rows in skipped folders and of missing disks are kept.
  private mutating func addMissing(_ row: KnownFile) {
    let isKept = batch.isInSkippedFolder(row.path) || isOnMissingDisk(row.path)
    if isKept { batch.progress.kept += 1 } else { missing.append(row.id) }
  }

  /// Adds the rows after the last path of the walk, and those that lost their path to another file.
  private mutating func addRemainingRows() throws(AssetSourceError) {
    while let row = try known.next(before: nil) { addMissing(row) }
    for row in batch.displaced { addMissing(row) }
    if isFullScan { try logMissingMounts() }
  }

  // MARK: Record

  /// Records a complete full scan, and updates the moments.
  private func record(_ outcome: inout ScanOutcome) throws(AssetSourceError) {
    let catalogue = scanner.catalogue
    // If the root could not be listed, nothing was scanned.
    if isFullScan && outcome.refusal == nil && !batch.skippedFolders.contains([]) {
      let hidden = try hiddenMounts()
      // The assets of the other folders were found elsewhere: their disks hide nothing, and a second walk scans them.
      if hidden.count < hiddenFolders.count, !options.isSecondWalk, outcome.fullScanDelayNanoseconds == nil {
        outcome.fullScanDelayNanoseconds = 0
      }
      // Files that were kept may be on a disk that a damaged list no longer names, so only a scan that misses no file
      // writes that list again.
      if !mounts.isRecordUnreadable || batch.progress.kept == 0 || options.acceptsRemovals {
        try catalogue.recordMounts(mounts.mountsToRecord(walk.mounts, absent: missingMounts + hidden))
      }
      try catalogue.recordScan(probeVersion: probeVersion)
      outcome.isFullScan = true
    }
    try catalogue.refreshMoments(zone: scanner.timeZone, stop: options.stop)
    // The first scan lasts until deferred files have been rechecked. A second walk is that recheck.
    let isLastWalk = options.isSecondWalk || outcome.fullScanDelayNanoseconds == nil
    if outcome.isFullScan && outcome.heldBack.isEmpty && isLastWalk { try catalogue.recordFirstScanComplete() }
  }
}
