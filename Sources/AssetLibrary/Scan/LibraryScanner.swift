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
    var order = ScanOrder(stop: stop)
    order.acceptsRemovals = acceptsRemovals
    order.foresees = foresees
    let outcome = try scan(order, progressed)
    if let refusal = outcome.refusal { throw refusal }
    return outcome.progress
  }

  /// Scans what the order says. One that is refused as a whole throws; an outcome's refusal is of the removals alone.
  func scan(
    _ order: ScanOrder, _ progressed: (ScanProgress) -> Void = { _ in }
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
      let mounts = try MountCheck(catalogue: catalogue, root: root, surroundings: surroundings)
      let absent = order.acceptsRemovals ? [] : try mounts.absent()
      return try merge(root, mounts, absent, order, progressed)
    } catch {
      throw AssetLibraryError(error, dataFolder: catalogue.dataFolder)
    }
  }
}

extension LibraryScanner {
  private func merge(
    _ root: LibraryFolder, _ mounts: MountCheck, _ absent: [KnownMount], _ order: ScanOrder,
    _ progressed: (ScanProgress) -> Void
  ) throws(AssetSourceError) -> ScanOutcome {
    let before = mounts.state()
    let isWhole = order.scope.isEverything
    let scope = order.scope.without(isWhole ? [] : absent.map(\.path))
    var walk = LibraryWalk(
      root: root, surroundings: surroundings, scope: scope, passingOver: Set(absent.map(\.path)),
      observer: order.observer)
    if walk.isEmpty && !order.acceptsRemovals, let refusal = try emptyLibrary() { return ScanOutcome(refusal: refusal) }
    if absent.contains(where: { $0.path.isEmpty }) {
      return ScanOutcome(refusal: .otherFileSystem(path: directory))
    }
    let lastID = try catalogue.lastFileID()
    var known = KnownFiles(catalogue: catalogue, pageSize: Self.pageSize, lastID: lastID, scope: scope)
    let probe = FileProbe(root: root, limits: limits, timeZone: timeZone)
    // What is told of is a few files; all of them are read anew by a scan of all.
    let readsAll = isWhole ? try catalogue.probeMark() != probe.mark : false
    var state = Batch(root: root, catalogue: catalogue, readsAll: readsAll, lastID: lastID)
    state.keptFolders = absent.map(\.path)
    state.progress.absentMounts = absent.count
    var missing = MissingFiles()
    var batch = BatchLimit()
    var written = FilesBeingWritten(quiet: quiet)
    var others = OtherNames(catalogue: catalogue, isWanted: !isWhole)
    var lastReport = ContinuousClock.now
    var count: NameCount?
    if order.foresees {
      let known = try catalogue.fileCount()
      if known > 0 { state.progress.expected = known } else { count = NameCount(root: root) }
    }
    defer { count?.end() }

    while !order.stop.isRaised, let item = walk.next() {
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
        if row?.identity == file.identity {
          try state.add(file, known: row)
        } else if try !written.holdsBack(file, known: row, order, self, root) {
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
        progressed(state.progress)
      }
    }
    try flush(&state, probe)
    if order.looksAgain {
      written.handOver(now: surroundings.now())
    } else {
      try revisit(&written, &state, probe, order.stop)
    }
    state.progress.notQuiet = written.left
    guard !order.stop.isRaised else { return ScanOutcome(progress: state.progress) }
    while let row = try known.next(before: nil) { missing.add(row, &state) }
    for row in state.displaced { missing.add(row, &state) }
    for mount in absent where isWhole {
      logger.warning(
        "a disk is not here; what is known of it is kept", metadata: ["path": "\(display(mount.path))"])
    }
    var outcome = ScanOutcome(progress: state.progress, again: written.again, isWalked: true)
    // A disk that came or went meanwhile took its files along.
    guard mounts.isUnchanged(since: before, walk.mounts, directory: directory) else {
      if !missing.ids.isEmpty { outcome.refusal = .mountsChanged }
      return outcome
    }
    missing.ids.removeAll { state.claimedIDs.contains($0) }
    if let size = written.smallestNew {
      // A file that is still being written may be one that is missing, on its way to another place.
      let small = try catalogue.files(missing.ids, smallerThan: size)
      state.progress.kept += missing.ids.count - small.count
      if order.looksAgain { outcome.again += try kept(missing.ids, except: small) }
      missing.ids = small
    }
    if !missing.ids.isEmpty, let arrivals = order.arrivals {
      let arriving = try arriving(among: missing.ids, arrivals, root)
      state.progress.kept += arriving.count
      // Also one that lost its name to another, by the name that stands for none: where nobody finds it, it goes then.
      outcome.again += arriving.map { ($0.path, 0) }
      let ids = Set(arriving.map(\.id))
      missing.ids.removeAll { ids.contains($0) }
    }
    if !isWhole, !missing.ids.isEmpty {
      // A library that looks empty is no less suspicious for having been told of it.
      if LibraryWalk.isEmpty(root), let refusal = try emptyLibrary() {
        outcome.refusal = refusal
        return outcome
      }
      try others.add(ofMissing: missing.ids)
    }
    outcome.refusal = try remove(missing.ids, order, probe, &state.progress)
    // A root that could not be listed was not scanned.
    if isWhole && outcome.refusal == nil && !state.keptFolders.contains([]) {
      try catalogue.note(mounts.met(walk.mounts, absent: absent))
      try catalogue.scanIsComplete(probeMark: probe.mark)
    }
    try catalogue.refreshMoments(zone: timeZone, stop: order.stop)
    state.progress.expected = count?.result ?? state.progress.expected
    progressed(state.progress)
    outcome.progress = state.progress
    outcome.again += (others.paths + state.leftLinks).map { ($0, 0) }
    outcome.isComplete = outcome.refusal == nil
    return outcome
  }

  /// Whether it is strange that the library is empty.
  private func emptyLibrary() throws(AssetSourceError) -> AssetLibraryError? {
    let count = try catalogue.fileCount()
    return count > 0 ? .libraryIsEmpty(path: directory, known: count) : nil
  }

  /// Missing files that are on their way to another name, or may be.
  private func arriving(
    among missing: [Int64], _ arrivals: () -> Arrivals, _ root: LibraryFolder
  ) throws(AssetSourceError) -> [KnownFile] {
    let told = arrivals()
    let top = try? root.open([], isFolder: true)
    let inodes = told.areMore ? [] : Set(told.files.compactMap { try? top?.entry($0).identity.inode })
    // What went on to a third name while it was looked for has been told by now.
    let mayBeAny = told.areMore || arrivals().count != told.count
    if inodes.isEmpty && !mayBeAny { return [] }
    var arriving: [KnownFile] = []
    for start in stride(from: 0, to: missing.count, by: Self.pageSize) {
      arriving += try catalogue.knownFiles(Array(missing[start..<min(start + Self.pageSize, missing.count)])).filter {
        mayBeAny || inodes.contains($0.identity.inode)
      }
    }
    return arriving
  }

  /// Where those of the missing files were that are kept for now.
  private func kept(
    _ missing: [Int64], except small: [Int64]
  ) throws(AssetSourceError) -> [(path: [UInt8], after: Int64)] {
    let small = Set(small)
    return try catalogue.knownFiles(missing.filter { !small.contains($0) }).map {
      ($0.path, Int64(quiet / .nanoseconds(1)))
    }
  }
}

extension FilesBeingWritten {
  fileprivate mutating func holdsBack(
    _ file: WalkedFile, known: KnownFile?, _ order: ScanOrder, _ scanner: LibraryScanner, _ root: LibraryFolder
  ) throws(AssetSourceError) -> Bool {
    let now = scanner.surroundings.now()
    guard let closed = order.closed else { return holdsBack(file, known: known, now: now) }
    // A known file under another name is as whole as it was.
    if try !scanner.catalogue.knownFiles(like: file.identity).isEmpty { return false }
    return holdsBack(file, known: known, now: now, isClosed: closed.contains(file.path), in: root)
  }
}
