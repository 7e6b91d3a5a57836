// A scan: the folder as it is, merged with the catalogue as it was, both in the order of their paths. What stands in
// both with the same identity is left alone, unopened; what is new or changed is probed, a batch in parallel; what is
// only in the catalogue is removed at the end, if it is not suspiciously much.

import Dispatch
import Foundation
import ImageCodec
import LibraryFolder
import Logging
import PhotoModel
import Synchronization

#if canImport(Glibc)
  import Glibc
#endif

/// What a scan has done so far.
package struct ScanProgress: Sendable, Hashable {
  /// Files met.
  package var files = 0
  /// Files whose contents were looked at.
  package var probed = 0
  package var unreadable = 0
  package var moved = 0
  package var removed = 0

  package init() {}
}

package struct LibraryScanner: Sendable {
  private static let batchSize = 128
  private static let pageSize = 1000
  /// Fewer missing files than this are believed whatever share of the library they are.
  private static let alwaysRemovable = 20

  private let catalogue: Catalogue
  private let directory: String
  private let timeZone: TimeZone
  private let maximumRemovalPercent: Int
  private let limits: CodecLimits
  private let logger: Logger

  /// - Parameters:
  ///   - directory: the library's folder.
  ///   - timeZone: what EXIF dates without an offset are in.
  ///   - maximumRemovalPercent: a scan that would remove more than this share of the files stops and says so.
  package init(
    catalogue: Catalogue, directory: String, timeZone: String, maximumRemovalPercent: Int, limits: CodecLimits,
    logger: Logger
  ) throws(AssetLibraryError) {
    guard let zone = TimeZone(identifier: timeZone) else { throw .unknownTimeZone(timeZone) }
    self.catalogue = catalogue
    self.directory = directory
    self.timeZone = zone
    self.maximumRemovalPercent = maximumRemovalPercent
    self.limits = limits
    self.logger = logger
  }

  /// Scans the whole library once. Blocks; `progressed` is called on this thread, a few times a second at most.
  ///
  /// A scan that is stopped leaves what it has done so far in the catalogue, and removes nothing.
  package func scan(
    stop: StopFlag = StopFlag(), progressed: (ScanProgress) -> Void = { _ in }
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
      outcome = try merge(root, stop, progressed)
    } catch {
      throw .catalogueFailed("\(error)")
    }
    if let refusal = outcome.refusal { throw refusal }
    return outcome.progress
  }
}

extension LibraryScanner {
  private func merge(
    _ root: LibraryFolder, _ stop: StopFlag, _ progressed: (ScanProgress) -> Void
  ) throws(AssetSourceError) -> (progress: ScanProgress, refusal: AssetLibraryError?) {
    var walk = LibraryWalk(root: root)
    var known = KnownFiles(catalogue: catalogue, pageSize: Self.pageSize, lastID: try catalogue.lastFileID())
    let probe = FileProbe(root: root, limits: limits, timeZone: timeZone)
    let readsAll = try catalogue.probeMark() != probe.mark
    var state = Batch(root: root, catalogue: catalogue, readsAll: readsAll)
    var missing: [KnownFile] = []
    var unreadableFolders: [[UInt8]] = []
    var lastReport = ContinuousClock.now

    while !stop.isRaised, let item = walk.next() {
      let path: [UInt8]
      switch item {
      case .unreadableFolder(let folder, let reason):
        logger.warning("a folder can't be read", metadata: ["path": "\(display(folder))", "reason": "\(reason)"])
        unreadableFolders.append(folder)
        continue
      case .unreadable(let itsPath, _): path = itsPath
      case .file(let file): path = file.path
      }
      state.progress.files += 1
      while let row = try known.next(before: path) { missing.append(row) }
      let row = try known.next(at: path)
      switch item {
      case .file(let file): try state.add(file, known: row)
      case .unreadable(_, let reason): state.add(unreadable: path, reason, known: row)
      case .unreadableFolder: break
      }
      if state.count >= Self.batchSize { try flush(&state, probe) }
      if ContinuousClock.now - lastReport > .milliseconds(200) {
        lastReport = .now
        progressed(state.progress)
      }
    }
    try flush(&state, probe)
    guard !stop.isRaised else { return (state.progress, nil) }
    while let row = try known.next(before: nil) { missing.append(row) }
    missing += state.displaced
    missing.removeAll { row in
      state.claimedIDs.contains(row.id) || unreadableFolders.contains { isPath(row.path, below: $0) }
    }
    let refusal = try remove(missing, &state.progress)
    // A root that could not be listed was not scanned.
    if refusal == nil && !unreadableFolders.contains([]) { try catalogue.scanIsComplete(probeMark: probe.mark) }
    progressed(state.progress)
    return (state.progress, refusal)
  }

  /// Probes what waits, as many at once as there are cores, and stores it in one transaction.
  private func flush(_ state: inout Batch, _ probe: FileProbe) throws(AssetSourceError) {
    try catalogue.move(state.moves)
    state.moves = []
    let waiting = state.waiting
    guard !waiting.isEmpty || !state.found.isEmpty else { return }
    let results = Mutex<[ProbedFile]>([])
    DispatchQueue.concurrentPerform(iterations: waiting.count) { i in
      let result = probe.probe(waiting[i])
      results.withLock { $0.append(result) }
    }
    let found = state.found + results.withLock { $0 }
    for file in found {
      guard case .unreadable(let reason) = file.finding else { continue }
      state.progress.unreadable += 1
      logger.info("not indexed", metadata: ["path": "\(display(file.path))", "reason": "\(reason)"])
    }
    try catalogue.store(found)
    state.progress.probed += waiting.count
    state.waiting = []
    state.found = []
  }

  /// Removes what is missing, or says why it does not.
  private func remove(
    _ missing: [KnownFile], _ progress: inout ScanProgress
  ) throws(AssetSourceError) -> AssetLibraryError? {
    guard !missing.isEmpty else { return nil }
    let count = try catalogue.fileCount()
    if missing.count > Self.alwaysRemovable && missing.count * 100 > count * maximumRemovalPercent {
      return .tooMuchMissing(missing: missing.count, known: count, limitPercent: maximumRemovalPercent)
    }
    for start in stride(from: 0, to: missing.count, by: Self.pageSize) {
      try catalogue.remove(Array(missing[start..<min(start + Self.pageSize, missing.count)]))
    }
    progress.removed = missing.count
    return nil
  }
}

/// What a scan has gathered and not yet written.
private struct Batch {
  let root: LibraryFolder
  let catalogue: Catalogue
  /// Files are read although they did not change.
  let readsAll: Bool
  var progress = ScanProgress()
  var waiting: [WalkedFile] = []
  /// Findings that needed no probe.
  var found: [ProbedFile] = []
  var moves: [(file: KnownFile, to: [UInt8])] = []
  /// Every row that was moved or brought up to date in this scan: it is not missing, and nobody else's any more.
  var claimedIDs: Set<Int64> = []
  /// Rows whose name another file has taken. Those that nobody claims in the end are missing.
  var displaced: [KnownFile] = []

  /// Everything that is to be written, whether or not it is to be read first.
  var count: Int { waiting.count + found.count + moves.count }

  init(root: LibraryFolder, catalogue: Catalogue, readsAll: Bool) {
    self.root = root
    self.catalogue = catalogue
    self.readsAll = readsAll
  }

  mutating func add(_ file: WalkedFile, known: KnownFile?) throws(AssetSourceError) {
    let known = known.flatMap { claimedIDs.contains($0.id) ? nil : $0 }
    if let known, known.identity == file.identity {
      if readsAll { waiting.append(file) }
      return
    }
    // The file is new here, but it may be an old one under another name.
    for candidate in try catalogue.knownFiles(like: file.identity)
    where candidate.id != known?.id && !claimedIDs.contains(candidate.id) {
      guard try hasLeft(candidate) else { continue }
      moves.append((candidate, file.path))
      claimedIDs.insert(candidate.id)
      if let known { displaced.append(known) }
      progress.moved += 1
      if readsAll { waiting.append(file) }
      return
    }
    if let known { claimedIDs.insert(known.id) }
    waiting.append(file)
  }

  mutating func add(unreadable path: [UInt8], _ reason: String, known: KnownFile?) {
    if known?.identity == .unknown { return }
    found.append(ProbedFile(path: path, identity: .unknown, finding: .unreadable(reason)))
  }

  /// Whether a known file is no longer where it was: its name is gone, or is now the name of another known file, as
  /// when names are exchanged or counted up. A name with new content is an edited file, and stays the asset that it was.
  private func hasLeft(_ file: KnownFile) throws(AssetSourceError) -> Bool {
    if file.path.first == 0 { return true }
    let now: FileIdentity
    do throws(SystemError) {
      now = try root.open(file.path).identity
    } catch {
      // What can't be looked at has not left.
      return error.code == ENOENT || error.code == ENOTDIR
    }
    if now == file.identity { return false }
    return try catalogue.knownFiles(like: now).contains { $0.id != file.id }
  }
}

/// The catalogue's files as they were when the scan began, in the order of their paths, a page at a time.
private struct KnownFiles {
  let catalogue: Catalogue
  let pageSize: Int
  /// Rows above this one were added by the scan itself.
  let lastID: Int64
  private var page: ArraySlice<KnownFile> = []
  private var last: [UInt8]?
  private var isAtEnd = false

  init(catalogue: Catalogue, pageSize: Int, lastID: Int64) {
    self.catalogue = catalogue
    self.pageSize = pageSize
    self.lastID = lastID
  }

  /// The next file if its path comes before this one; `nil` as the path: whatever comes.
  mutating func next(before path: [UInt8]?) throws(AssetSourceError) -> KnownFile? {
    guard let file = try peek() else { return nil }
    if let path, !file.path.lexicographicallyPrecedes(path) { return nil }
    page.removeFirst()
    return file
  }

  /// The next file if it has exactly this path.
  mutating func next(at path: [UInt8]) throws(AssetSourceError) -> KnownFile? {
    guard let file = try peek(), file.path == path else { return nil }
    page.removeFirst()
    return file
  }

  private mutating func peek() throws(AssetSourceError) -> KnownFile? {
    if page.isEmpty && !isAtEnd {
      page = try catalogue.knownFiles(after: last, upTo: lastID, limit: pageSize)[...]
      isAtEnd = page.count < pageSize
      last = page.last?.path
    }
    return page.first
  }
}

private func isPath(_ path: [UInt8], below folder: [UInt8]) -> Bool {
  folder.isEmpty || path.starts(with: folder + [UInt8(ascii: "/")])
}

private func display(_ path: [UInt8]) -> String { String(decoding: path, as: UTF8.self) }
