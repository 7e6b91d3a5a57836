// A scan merges two streams sorted by path: the files in the folder and the rows in the catalogue. A file with an
// unchanged identity is skipped without opening it. New and changed files are probed in parallel, one batch at a time.
// Rows without a file are removed at the end, unless the library or one of its disks is missing, or suspiciously many
// files are.

import Foundation
import ImageCodec
import LibraryFolder
import Logging
import PhotoModel

package struct LibraryScanner: Sendable {
  static let pageSize = 1000

  let catalogue: Catalogue
  let directory: String
  private let timeZone: TimeZone
  let maximumRemovalPercent: Int
  private let settleTime: Duration
  private let deferralLimit: Int
  private let limits: CodecLimits
  let environment: LibraryEnvironment
  let logger: Logger

  /// - Parameters:
  ///   - directory: the folder of the library.
  ///   - timeZone: the zone of EXIF dates without an offset.
  ///   - maximumRemovalPercent: a scan that would remove more than this share of the files is refused.
  ///   - settleTime: a new or changed file is indexed once it has not changed for this long.
  ///   - deferralLimit: how many unsettled files are remembered; with more, the library is walked a second time.
  package init(
    catalogue: Catalogue, directory: String, timeZone: String, maximumRemovalPercent: Int,
    settleTime: Duration = .zero, deferralLimit: Int = 10_000, limits: CodecLimits,
    environment: LibraryEnvironment = .system, logger: Logger
  ) throws(AssetLibraryError) {
    guard let zone = TimeZone(identifier: timeZone) else { throw .unknownTimeZone(timeZone) }
    self.catalogue = catalogue
    self.directory = directory
    self.timeZone = zone
    self.maximumRemovalPercent = maximumRemovalPercent
    self.settleTime = settleTime
    self.deferralLimit = deferralLimit
    self.limits = limits
    self.environment = environment
    self.logger = logger
  }

  /// Scans the whole library once. Blocks; `onProgress` is called on this thread, a few times a second at most.
  ///
  /// A stopped scan keeps what it has written so far, and removes nothing.
  ///
  /// - Parameters:
  ///   - acceptsRemovals: remove all missing files, however many, and even if a disk is missing.
  ///   - estimatesTotal: include the expected number of files in the progress.
  package func scan(
    acceptingRemovals acceptsRemovals: Bool = false, estimatingTotal estimatesTotal: Bool = false,
    stop: StopFlag = StopFlag(),
    onProgress: (ScanProgress) -> Void = { _ in }
  ) throws(AssetLibraryError) -> ScanProgress {
    var options = ScanOptions(stop: stop)
    options.acceptsRemovals = acceptsRemovals
    options.estimatesTotal = estimatesTotal
    let outcome = try scan(options, onProgress)
    if let refusal = outcome.refusal { throw refusal }
    return outcome.progress
  }

  /// Scans the scope of `options`. A scan that can't run throws; `ScanOutcome.refusal` means that only the removals
  /// were refused.
  func scan(
    _ options: ScanOptions, _ onProgress: (ScanProgress) -> Void = { _ in }
  ) throws(AssetLibraryError) -> ScanOutcome {
    let root: LibraryFolder
    do throws(SystemError) {
      root = try LibraryFolder(path: directory)
    } catch {
      throw .libraryUnavailable(path: directory, error)
    }
    let lock = try ScanLock(dataFolder: catalogue.dataFolder)
    defer { withExtendedLifetime(lock) {} }
    do throws(AssetSourceError) {
      let first = try walkThrough(root, options, onProgress)
      guard first.fullScanDelay != nil, !options.returnsRechecks, first.refusal == nil, !options.stop.isRaised else {
        return first
      }
      // The first walk has waited until the files beyond the limit settled, too.
      var again = options
      again.isSecondWalk = true
      var second = try walkThrough(root, again, onProgress)
      second.progress.add(walkBefore: first.progress)
      return second
    } catch {
      throw AssetLibraryError(error, dataFolder: catalogue.dataFolder)
    }
  }
}

extension LibraryScanner {
  private func walkThrough(
    _ root: LibraryFolder, _ options: ScanOptions, _ onProgress: (ScanProgress) -> Void
  ) throws(AssetSourceError) -> ScanOutcome {
    let mounts = try MountCheck(catalogue: catalogue, root: root, environment: environment)
    let absent = options.acceptsRemovals ? [] : try mounts.missingMounts()
    return try merge(root, mounts, absent, options, onProgress)
  }

  private func merge(
    _ root: LibraryFolder, _ mounts: MountCheck, _ absent: [KnownMount], _ options: ScanOptions,
    _ onProgress: (ScanProgress) -> Void
  ) throws(AssetSourceError) -> ScanOutcome {
    let before = mounts.state()
    let isWhole = options.scope.isEverything
    let scope = options.scope.without(isWhole ? [] : absent.map(\.path))
    var walk = LibraryWalk(
      root: root, environment: environment, scope: scope, skipping: Set(absent.map(\.path)),
      observer: options.observer)
    if walk.isEmpty && !options.acceptsRemovals, let refusal = try emptyLibraryRefusal() {
      return ScanOutcome(refusal: refusal)
    }
    if absent.contains(where: { $0.path.isEmpty }) {
      return ScanOutcome(refusal: .otherFileSystem(path: directory))
    }
    let lastID = try catalogue.lastFileID()
    var known = KnownFileCursor(catalogue: catalogue, pageSize: Self.pageSize, lastID: lastID, scope: scope)
    let probe = FileProbe(root: root, limits: limits, timeZone: timeZone)
    // Only a full scan probes every file again; a scan of changed paths covers few files.
    let reprobesAll = isWhole ? try catalogue.probeVersion() != probe.version : false
    var state = ScanBatch(root: root, catalogue: catalogue, reprobesAll: reprobesAll, lastID: lastID)
    state.skippedFolders = absent.map(\.path)
    state.progress.missingMounts = absent.count
    var missing = MissingFiles()
    var batch = AdaptiveBatchSize()
    var unsettled = UnsettledFiles(settleTime: settleTime, limit: deferralLimit)
    var others = LinkedNames(catalogue: catalogue, isEnabled: !isWhole)
    var lastReport = ContinuousClock.now
    var count: FileCountEstimate?
    if options.estimatesTotal {
      let known = try catalogue.fileCount()
      if known > 0 { state.progress.expected = known } else { count = FileCountEstimate(root: root) }
    }
    defer { count?.cancel() }

    while !options.stop.isRaised, let item = walk.next() {
      let path: [UInt8]
      switch item {
      case .unreadableFolder(let folder, let reason):
        logger.warning("unreadable folder", metadata: ["path": "\(display(folder))", "reason": "\(reason)"])
        state.skippedFolders.append(folder)
        continue
      case .unreadable(let itsPath, _): path = itsPath
      case .file(let file): path = file.path
      }
      state.progress.files += 1
      while let row = try known.next(before: path) { missing.add(row, &state) }
      let row = try known.next(at: path)
      switch item {
      case .file(let file):
        if row?.identity == file.identity {
          try state.add(file, known: row)
        } else if try !unsettled.deferIfUnsettled(file, known: row, options, self, root) {
          if let row { try others.add(of: row) }
          try state.add(file, known: row)
        }
      case .unreadable(_, let reason): state.add(unreadable: path, reason, known: row)
      case .unreadableFolder: break
      }
      if state.count >= batch.limit {
        try batch.measure(&state) { state throws(AssetSourceError) in try flush(&state, probe) }
      }
      if ContinuousClock.now - lastReport > .milliseconds(200) {
        lastReport = .now
        state.progress.expected = count?.result ?? state.progress.expected
        onProgress(state.progress)
      }
    }
    try flush(&state, probe)
    if options.returnsRechecks {
      unsettled.rescheduleAll(now: environment.now())
    } else {
      try retryUnsettled(&unsettled, &state, probe, options.stop)
    }
    state.progress.unsettled = unsettled.deferredCount
    guard !options.stop.isRaised else { return ScanOutcome(progress: state.progress) }
    while let row = try known.next(before: nil) { missing.add(row, &state) }
    for row in state.displaced { missing.add(row, &state) }
    for mount in absent where isWhole {
      logger.warning(
        "disk not mounted; keeping its assets", metadata: ["path": "\(display(mount.path))"])
    }
    var outcome = ScanOutcome(
      progress: state.progress, rechecks: unsettled.rechecks, heldBack: isWhole ? unsettled.rechecks : [],
      fullScanDelay: unsettled.fullScanDelay(now: environment.now()), isWalkComplete: true)
    // A disk that was mounted or unmounted during the walk added or hid files.
    guard mounts.isUnchanged(since: before, walk.mounts, directory: directory) else {
      if !missing.ids.isEmpty { outcome.refusal = .mountsChanged }
      return outcome
    }
    missing.ids.removeAll { state.claimedIDs.contains($0) }
    if let size = unsettled.smallestNewSize {
      // A missing file may have been moved, and its copy may still be incomplete at the new place. A copy only grows,
      // so missing files smaller than every unsettled new file are safe to remove.
      let small = try catalogue.files(missing.ids, smallerThan: size)
      state.progress.kept += missing.ids.count - small.count
      if options.returnsRechecks { outcome.rechecks += try rechecks(ofKept: missing.ids, except: small) }
      missing.ids = small
    }
    if !missing.ids.isEmpty, let arrivals = options.arrivals {
      let arriving = try filesInTransit(among: missing.ids, arrivals, root)
      state.progress.kept += arriving.count
      // This includes files whose name was taken by another file, under their placeholder path: if the recheck does not
      // find them, they are removed then.
      outcome.rechecks += arriving.map { ($0.path, 0) }
      let ids = Set(arriving.map(\.id))
      missing.ids.removeAll { ids.contains($0) }
    }
    if !isWhole, !missing.ids.isEmpty {
      // The check for an empty library also applies to scans of changed paths.
      if LibraryWalk.isEmpty(root), let refusal = try emptyLibraryRefusal() {
        outcome.refusal = refusal
        return outcome
      }
      try others.add(ofMissing: missing.ids)
    }
    outcome.refusal = try remove(missing.ids, options, probe, &state.progress)
    // If the root could not be listed, nothing was scanned.
    if isWhole && outcome.refusal == nil && !state.skippedFolders.contains([]) {
      try catalogue.recordMounts(mounts.mountsToRecord(walk.mounts, absent: absent))
      try catalogue.recordScan(probeVersion: probe.version)
      outcome.isFullScan = true
    }
    try catalogue.refreshMoments(zone: timeZone, stop: options.stop)
    // The first scan lasts until deferred files have been rechecked. A second walk is that recheck.
    let isLastLook = options.isSecondWalk || outcome.fullScanDelay == nil
    if outcome.isFullScan && outcome.heldBack.isEmpty && isLastLook { try catalogue.recordFirstScanComplete() }
    state.progress.expected = count?.result ?? state.progress.expected
    onProgress(state.progress)
    outcome.progress = state.progress
    outcome.rechecks += (others.paths + state.brokenLinks).map { ($0, 0) }
    outcome.isComplete = outcome.refusal == nil
    return outcome
  }

  /// Refuses an empty library folder if the catalogue has files.
  private func emptyLibraryRefusal() throws(AssetSourceError) -> AssetLibraryError? {
    let count = try catalogue.fileCount()
    return count > 0 ? .libraryIsEmpty(path: directory, known: count) : nil
  }

  /// Missing files that were renamed to another path, or may have been.
  private func filesInTransit(
    among missing: [Int64], _ arrivals: () -> Arrivals, _ root: LibraryFolder
  ) throws(AssetSourceError) -> [KnownFile] {
    let told = arrivals()
    let top = try? root.open([], isFolder: true)
    let inodes = told.isPartialList ? [] : Set(told.files.compactMap { try? top?.entry($0).identity.inode })
    // A file that was renamed again during the look-up raised another event, which changes the count.
    let mayBeAny = told.isPartialList || arrivals().count != told.count
    if inodes.isEmpty && !mayBeAny { return [] }
    var arriving: [KnownFile] = []
    for start in stride(from: 0, to: missing.count, by: Self.pageSize) {
      arriving += try catalogue.knownFiles(Array(missing[start..<min(start + Self.pageSize, missing.count)])).filter {
        mayBeAny || inodes.contains($0.identity.inode)
      }
    }
    return arriving
  }

  /// The previous paths of the missing files that are kept for now.
  private func rechecks(
    ofKept missing: [Int64], except small: [Int64]
  ) throws(AssetSourceError) -> [(path: [UInt8], after: Int64)] {
    let small = Set(small)
    return try catalogue.knownFiles(missing.filter { !small.contains($0) }).map {
      ($0.path, Int64(settleTime / .nanoseconds(1)))
    }
  }
}

extension UnsettledFiles {
  fileprivate mutating func deferIfUnsettled(
    _ file: WalkedFile, known: KnownFile?, _ options: ScanOptions, _ scanner: LibraryScanner, _ root: LibraryFolder
  ) throws(AssetSourceError) -> Bool {
    let now = scanner.environment.now()
    guard let closed = options.closedFiles else { return deferIfUnsettled(file, known: known, now: now) }
    // A known file under a new name was complete before the rename.
    if try !scanner.catalogue.knownFiles(like: file.identity).isEmpty { return false }
    return deferIfUnsettled(file, known: known, now: now, isClosed: closed.contains(file.path), in: root)
  }
}
