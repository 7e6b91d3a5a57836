// A scan: the folder as it is, merged with the catalogue as it was, both in the order of their paths. What stands in
// both with the same identity is left alone, unopened; what is new or changed is probed, a batch in parallel; what is
// only in the catalogue is removed at the end, if the library is here at all and it is not suspiciously much.

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
  private let quiet: Duration
  private let limits: CodecLimits
  let surroundings: LibrarySurroundings
  let logger: Logger

  /// - Parameters:
  ///   - directory: the library's folder.
  ///   - timeZone: what EXIF dates without an offset are in.
  ///   - maximumRemovalPercent: a scan that would remove more than this share of the files stops and says so.
  ///   - quiet: a new or changed file is left until nothing of it has changed for so long.
  package init(
    catalogue: Catalogue, directory: String, timeZone: String, maximumRemovalPercent: Int,
    quiet: Duration = .zero, limits: CodecLimits, surroundings: LibrarySurroundings = .system, logger: Logger
  ) throws(AssetLibraryError) {
    guard let zone = TimeZone(identifier: timeZone) else { throw .unknownTimeZone(timeZone) }
    self.catalogue = catalogue
    self.directory = directory
    self.timeZone = zone
    self.maximumRemovalPercent = maximumRemovalPercent
    self.quiet = quiet
    self.limits = limits
    self.surroundings = surroundings
    self.logger = logger
  }

  /// Scans the whole library once. Blocks; `progressed` is called on this thread, a few times a second at most.
  ///
  /// A scan that is stopped leaves what it has done so far in the catalogue, and removes nothing.
  ///
  /// - Parameters:
  ///   - acceptsRemovals: what is not there is gone, however much it is and whatever disk is missing.
  ///   - foresees: progress is told with what is to be expected.
  package func scan(
    acceptingRemovals acceptsRemovals: Bool = false, foreseeing foresees: Bool = false, stop: StopFlag = StopFlag(),
    progressed: (ScanProgress) -> Void = { _ in }
  ) throws(AssetLibraryError) -> ScanProgress {
    let root: LibraryFolder
    do throws(SystemError) {
      root = try LibraryFolder(path: directory)
    } catch {
      throw .libraryUnavailable(path: directory, error)
    }
    let lock = try ScanLock(dataFolder: catalogue.dataFolder)
    defer { withExtendedLifetime(lock) {} }
    let outcome: (progress: ScanProgress, refusal: AssetLibraryError?)
    do throws(AssetSourceError) {
      let mounts = try MountCheck(catalogue: catalogue, root: root, surroundings: surroundings)
      let absent = acceptsRemovals ? [] : try mounts.absent()
      outcome = try merge(root, mounts, absent, acceptsRemovals, foresees, stop, progressed)
    } catch {
      throw AssetLibraryError(error, dataFolder: catalogue.dataFolder)
    }
    if let refusal = outcome.refusal { throw refusal }
    return outcome.progress
  }
}

extension LibraryScanner {
  private func merge(
    _ root: LibraryFolder, _ mounts: MountCheck, _ absent: [KnownMount], _ acceptsRemovals: Bool, _ foresees: Bool,
    _ stop: StopFlag, _ progressed: (ScanProgress) -> Void
  ) throws(AssetSourceError) -> (progress: ScanProgress, refusal: AssetLibraryError?) {
    let before = mounts.state()
    var walk = LibraryWalk(root: root, surroundings: surroundings, passingOver: Set(absent.map(\.path)))
    if walk.isEmpty && !acceptsRemovals {
      let count = try catalogue.fileCount()
      if count > 0 { return (ScanProgress(), .libraryIsEmpty(path: directory, known: count)) }
    }
    if absent.contains(where: { $0.path.isEmpty }) { return (ScanProgress(), .otherFileSystem(path: directory)) }
    let lastID = try catalogue.lastFileID()
    var known = KnownFiles(catalogue: catalogue, pageSize: Self.pageSize, lastID: lastID)
    let probe = FileProbe(root: root, limits: limits, timeZone: timeZone)
    let readsAll = try catalogue.probeMark() != probe.mark
    var state = Batch(root: root, catalogue: catalogue, readsAll: readsAll, lastID: lastID)
    state.keptFolders = absent.map(\.path)
    state.progress.absentMounts = absent.count
    var missing = MissingFiles()
    var batch = BatchLimit()
    var written = FilesBeingWritten(quiet: quiet)
    var lastReport = ContinuousClock.now
    var count: NameCount?
    if foresees {
      let known = try catalogue.fileCount()
      if known > 0 { state.progress.expected = known } else { count = NameCount(root: root) }
    }
    defer { count?.end() }

    while !stop.isRaised, let item = walk.next() {
      let path: [UInt8]
      switch item {
      case .unreadableFolder(let folder, let reason):
        logger.warning("a folder can't be read", metadata: ["path": "\(display(folder))", "reason": "\(reason)"])
        state.keptFolders.append(folder)
        continue
      case .unreadable(let itsPath, _): path = itsPath
      case .file(let file): path = file.path
      }
      state.progress.files += 1
      while let row = try known.next(before: path) { missing.add(row, &state) }
      let row = try known.next(at: path)
      switch item {
      case .file(let file):
        if row?.identity == file.identity || !written.holdsBack(file, known: row, now: surroundings.now()) {
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
        progressed(state.progress)
      }
    }
    try flush(&state, probe)
    try revisit(&written, &state, probe, stop)
    guard !stop.isRaised else { return (state.progress, nil) }
    while let row = try known.next(before: nil) { missing.add(row, &state) }
    for row in state.displaced { missing.add(row, &state) }
    for mount in absent {
      logger.warning(
        "a disk is not here; what is known of it is kept", metadata: ["path": "\(display(mount.path))"])
    }
    // A disk that came or went meanwhile took its files along.
    guard mounts.isUnchanged(since: before, walk.mounts, directory: directory) else {
      return (state.progress, missing.ids.isEmpty ? nil : .mountsChanged)
    }
    missing.ids.removeAll { state.claimedIDs.contains($0) }
    if let size = written.smallestNew {
      // A file that is still being written may be one that is missing, on its way to another place.
      let small = try catalogue.files(missing.ids, smallerThan: size)
      state.progress.kept += missing.ids.count - small.count
      missing.ids = small
    }
    let refusal = try remove(missing.ids, acceptsRemovals, probe, &state.progress)
    // A root that could not be listed was not scanned.
    if refusal == nil && !state.keptFolders.contains([]) {
      try catalogue.note(mounts.met(walk.mounts, absent: absent))
      try catalogue.scanIsComplete(probeMark: probe.mark)
    }
    try catalogue.refreshMoments(zone: timeZone, stop: stop)
    state.progress.expected = count?.result ?? state.progress.expected
    progressed(state.progress)
    return (state.progress, refusal)
  }
}
