// The pending work of a walk: files to probe, findings to store and rows to move. `flush` writes it in batches.

import LibraryCatalogue
import LibraryFolder
import Logging
import PhotoModel
import Primitives

#if canImport(Glibc)
  import Glibc
#endif

struct ScanBatch {
  /// A probed file, by its index in a batch, and a row that it may belong to.
  private struct PathMatch {
    let index: Int
    let former: FormerFile
  }

  /// The maximum number of known files of the same content that are compared with a new one.
  private static let maximumCopies = 64
  /// The maximum number of files that wait for the end of the walk. Further ones are decided at once.
  private static let maximumUndecided = 10_000

  let probe: FileProbe
  let catalogue: Catalogue
  private let stop: StopFlag
  private let logger: Logger
  /// Whether unchanged files are probed again.
  private let reprobesAll: Bool
  /// Files that a writer has closed. They are probed even if they seem to be unchanged.
  private let writtenFiles: Set<[UInt8]>
  /// Rows above this one were added since the scan began.
  let lastID: Int64
  /// The inodes of the files that this scan has stored.
  private(set) var storedInodes = InodeFilter()
  var progress = ScanProgress()
  /// Folders that are not scanned: files below them are neither missing nor moved.
  var skippedFolders: [[UInt8]] = []
  /// Paths of files to probe.
  private var waiting: [[UInt8]] = []
  /// Paths of files of which only the ctime changed: the mode, a name or a link changed, or a program wrote the file in
  /// place and set its modification time back.
  private var touched: [[UInt8]] = []
  /// Paths in `waiting` that have no row.
  private var newPaths: Set<[UInt8]> = []
  /// Results that need no probe.
  private var found: [ProbedFile] = []
  private var moves: [MovedFile] = []
  private var size = AdaptiveBatchSize()
  /// Rows that this scan has moved or updated: they are not missing and can't be matched to another file.
  private(set) var claimedIDs: Set<Int64> = []
  /// Rows whose path now belongs to another file. Rows that are still unclaimed at the end are missing.
  private(set) var displaced: [KnownFile] = []
  /// Paths of links whose row moved along with their target. The links are broken now; their paths are scanned again.
  private(set) var brokenLinks: [[UInt8]] = []
  /// Former paths of files that lost an addition to their name, such as from `a.jpg~` to `a.jpg`. A file that is found
  /// at such a path now has swapped names with the other file, and is not a backup.
  private var exchangedPaths: Set<[UInt8]> = []
  /// Paths of new files with the content of files that left their paths. They are decided at the end of the walk,
  /// because it may still find those files at other paths.
  private var undecided: [[UInt8]] = []
  private var isWalkComplete = false
  /// Rows of files that were renamed a moment ago and are held back. No copy is matched to them.
  var renamedRows: Set<Int64> = []
  /// The renamed paths that are not scanned yet; `nil`: the scan follows no events.
  var arrivals: (@Sendable () -> Arrivals)?
  /// New files with the content of files that were, or may have been, renamed to a path in `arrivals`.
  private(set) var postponed: [[UInt8]] = []

  /// Number of pending writes, probed or not.
  private var count: Int { waiting.count + touched.count + found.count + moves.count }

  var root: LibraryFolder { probe.root }

  init(
    probe: FileProbe, catalogue: Catalogue, reprobesAll: Bool, writtenFiles: Set<[UInt8]>, lastID: Int64,
    stop: StopFlag, logger: Logger
  ) {
    self.probe = probe
    self.catalogue = catalogue
    self.reprobesAll = reprobesAll
    self.writtenFiles = writtenFiles
    self.lastID = lastID
    self.stop = stop
    self.logger = logger
  }

  // MARK: Pending work

  /// Adds a file that the walk found, with its row. An unchanged file is skipped.
  mutating func add(_ file: WalkedFile, known: KnownFile?) throws(AssetSourceError) {
    let known = known.flatMap { claimedIDs.contains($0.id) ? nil : $0 }
    if let known, known.identity == file.identity {
      if reprobesAll {
        waiting.append(file.path)
      } else if known.changeTimeNanoseconds != file.changeTimeNanoseconds || writtenFiles.contains(file.path) {
        touched.append(file.path)
      }
      return
    }
    // The path is new, but the file may be a known one that was renamed.
    for candidate in try formerFiles(of: file, known: known) {
      // This scan may already have moved it to another path, from which it was renamed again.
      let pending = moves.firstIndex { $0.file.id == candidate.id }
      guard try isGone(candidate, pending.map { moves[$0].path } ?? candidate.path, to: file.path),
        try !isBackup(file.path, of: candidate)
      else { continue }
      if let pending {
        let earlier = moves[pending].path
        waiting.removeAll { $0 == earlier }
        moves[pending].path = file.path
        moves[pending].changeTimeNanoseconds = file.changeTimeNanoseconds
      } else {
        moves.append(MovedFile(candidate, to: file.path, changeTimeNanoseconds: file.changeTimeNanoseconds))
        if Self.isPath(candidate.path, extending: file.path) { exchangedPaths.insert(candidate.path) }
      }
      recordBrokenLink(leftBy: candidate)
      if claimedIDs.insert(candidate.id).inserted { progress.moved += 1 }
      if let known { displaced.append(known) }
      // An earlier scan may have recorded the row's former path as unreadable.
      let isSidecar = SidecarPaths.type(of: file.path) != nil
      let needsProbe = reprobesAll || candidate.isUnreadable || isSidecar
      if needsProbe || SubtypeHeuristic.mayDiffer(candidate.path, file.path) { waiting.append(file.path) }
      return
    }
    if let known {
      claimedIDs.insert(known.id)
    } else {
      newPaths.insert(file.path)
    }
    waiting.append(file.path)
  }

  /// Whether a file is the backup of a known file: its name adds to the known name, and another file has the known name
  /// now. A program has kept the former content, and the asset stays with the known name. But if the two files swapped
  /// names, or users changed the other file's asset, also a missing one, they are two photographs, and each keeps its
  /// asset.
  func isBackup(_ path: [UInt8], of file: KnownFile) throws(AssetSourceError) -> Bool {
    let name = file.lastPath
    guard Self.isPath(path, extending: name), !exchangedPaths.contains(path), let other = try? root.open(name),
      other.isRegularFile
    else { return false }
    for row in try catalogue.knownFiles(like: other.identity) where row.id != file.id {
      if row.path == path { return false }
      if try catalogue.hasUserValues(row) { return false }
    }
    return try !isOfMissingAsset(other)
  }

  /// Whether a path adds to a name, as `IMG_1.jpg~` and `IMG_1.jpg_original` do.
  private static func isPath(_ path: [UInt8], extending name: [UInt8]) -> Bool {
    path.count > name.count && path.starts(with: name) && !path[name.count].isASCIILetterOrDigit
  }

  private mutating func recordBrokenLink(leftBy file: KnownFile) {
    guard file.hasPath, let top = try? root.open([], isFolder: true) else { return }
    if (try? top.entry(file.path))?.kind == .link { brokenLinks.append(file.path) }
  }

  /// Adds a path that can't be examined.
  mutating func add(unreadable path: [UInt8], _ reason: String, known: KnownFile?) {
    if known?.identity == .unknown { return }
    found.append(ProbedFile(path: path, identity: .unknown, finding: .unreadable(reason)))
  }

  // MARK: Writing

  /// Whether the pending work fills a transaction.
  var isFull: Bool { count >= size.limit }

  /// Writes the pending work once it fills a transaction.
  mutating func flushIfFull() throws(AssetSourceError) {
    guard isFull else { return }
    let count = self.count
    let start = ContinuousClock.now
    try flush()
    size.batchWritten(count, in: ContinuousClock.now - start)
  }

  /// Moves rows, probes the waiting files, one per core at a time, and stores the results in one transaction. If the
  /// scan is stopped while another caller moves files, they stay pending.
  mutating func flush() throws(AssetSourceError) {
    if count == 0 { return }
    // The lock keeps this batch from running between the steps of a deletion or an upload.
    guard let lock = try DataFolderLock.forBatch(into: catalogue, until: stop) else { return }
    defer { lock.unlock() }
    try dropOutdatedMoves()
    let reread = try catalogue.move(moves)
    for path in reread where !waiting.contains(path) { waiting.append(path) }
    moves = []
    var probed = probe.probe(all: waiting + touched)
    // Skip files that were renamed since the walk: this scan or the next one finds them at their new paths.
    probed.removeAll { newPaths.contains($0.path) && $0.identity == .unknown && isAbsent($0.path) }
    let moved = Set(reread)
    for index in probed.indices {
      probed[index].wasWritten = writtenFiles.contains(probed[index].path)
      probed[index].mayJoin = moved.contains(probed[index].path)
    }
    let heldBack = try recognise(&probed)
    probed.removeAll { heldBack.contains($0.path) }
    let findings = found + probed
    for file in findings {
      guard case .unreadable(let reason) = file.finding else { continue }
      progress.unreadable += 1
      logger.info("file not indexed", metadata: ["path": "\(LibraryPath.display(file.path))", "reason": "\(reason)"])
    }
    let displacedRows = try catalogue.store(findings)
    // Their files are missing, or will be found at other paths.
    claimedIDs.subtract(displacedRows)
    displaced += try catalogue.knownFiles(displacedRows)
    for file in findings { storedInodes.insert(file.identity.inode) }
    progress.probed += probed.count - touched.count
    (waiting, touched, found, newPaths) = ([], [], [], [])
  }

  /// Whether no file has a path, not even a link that leads nowhere.
  private func isAbsent(_ path: [UInt8]) -> Bool {
    do throws(SystemError) {
      _ = try root.open(LibraryPath.folder(of: path), isFolder: true).entry(LibraryPath.name(of: path))
      return false
    } catch {
      return error.code == ENOENT || error.code == ENOTDIR
    }
  }

  /// Stores the files that waited for the end of the walk.
  mutating func flushUndecided() throws(AssetSourceError) {
    isWalkComplete = true
    let paths = undecided
    undecided = []
    for path in paths {
      if stop.isRaised { return }
      newPaths.insert(path)
      waiting.append(path)
      try flushIfFull()
    }
    try flush()
  }

  /// Drops moves that no longer hold: the row has another file by now, because its asset was deleted or restored; or
  /// the former path has new content, which edits the asset, and the file to be moved is a backup. The file of a
  /// dropped move is probed like any other.
  private mutating func dropOutdatedMoves() throws(AssetSourceError) {
    var rows: [Int64: KnownFile] = [:]
    for row in try catalogue.knownFiles(moves.map(\.file.id)) { rows[row.id] = row }
    var current: [MovedFile] = []
    for move in moves {
      let row = rows[move.file.id]
      let isSameFile = row?.path == move.file.path && row?.identity == move.file.identity
      if isSameFile, try isGone(move.file, move.file.path, to: move.path) {
        current.append(move)
        continue
      }
      claimedIDs.remove(move.file.id)
      progress.moved -= 1
      if let index = displaced.firstIndex(where: { $0.path == move.path }) {
        claimedIDs.insert(displaced.remove(at: index).id)
      } else {
        newPaths.insert(move.path)
      }
      if !waiting.contains(move.path) { waiting.append(move.path) }
    }
    moves = current
  }

  /// Matches probed files without a row to missing rows. A file that was moved to another disk has another inode, so
  /// the match requires the same fingerprint and the same metadata, and the same modification time or file name. The
  /// most probable rows come first, so that each of several copies is matched to its own.
  ///
  /// - Returns: the paths of files that are decided later.
  private mutating func recognise(_ files: inout [ProbedFile]) throws(AssetSourceError) -> Set<[UInt8]> {
    let chosen = try missingRows(for: files)
    var heldBack: Set<[UInt8]> = []
    if chosen.isEmpty { return heldBack }
    if !isWalkComplete && undecided.count < Self.maximumUndecided {
      for match in chosen {
        undecided.append(files[match.index].path)
        heldBack.insert(files[match.index].path)
      }
      return heldBack
    }
    // Read only now, after the rows were found missing: files that were renamed since then are included.
    let inTransit = FilesInTransit(arrivals, in: root)
    for match in chosen {
      let (path, row) = (files[match.index].path, match.former.row)
      if inTransit.contains(row.identity) {
        renamedRows.insert(row.id)
        postponed.append(path)
        heldBack.insert(path)
        continue
      }
      files[match.index].movedFromRow = row.id
      recordBrokenLink(leftBy: row)
      claimedIDs.insert(row.id)
      progress.moved += 1
    }
    return heldBack
  }

  /// The missing rows that probed files without a row belong to: at most one for each file, and each row once.
  private func missingRows(for files: [ProbedFile]) throws(AssetSourceError) -> [PathMatch] {
    var chosen: [PathMatch] = []
    var recognised: Set<Int> = []
    var taken: Set<Int64> = []
    for match in try matches(for: files) {
      let row = match.former.row
      guard !recognised.contains(match.index), !taken.contains(row.id) else { continue }
      if claimedIDs.contains(row.id) || renamedRows.contains(row.id) { continue }
      recognised.insert(match.index)
      taken.insert(row.id)
      chosen.append(match)
    }
    return chosen
  }

  /// The missing rows that probed files without a row may belong to, the most probable ones first.
  private func matches(for files: [ProbedFile]) throws(AssetSourceError) -> [PathMatch] {
    var matches: [PathMatch] = []
    for (index, file) in files.enumerated() {
      guard case .media(let media) = file.finding, newPaths.contains(file.path) else { continue }
      for row in try catalogue.knownFiles(like: media, upTo: lastID, limit: Self.maximumCopies) {
        let hasSameName = PathLikeness(row.lastPath, file.path).hasSameName
        guard hasSameName || row.identity.isOfSameTime(as: file.identity) else { continue }
        guard try isGone(row, row.path, to: file.path), try !isBackup(file.path, of: row) else { continue }
        matches.append(PathMatch(index: index, former: try formerFile(row, of: file.path)))
      }
    }
    matches.sort { $0.former.precedes($1.former) }
    return matches
  }

  // MARK: Missing rows

  /// Whether a path is in a folder that is not scanned.
  func isInSkippedFolder(_ path: [UInt8]) -> Bool { skippedFolders.contains { LibraryPath.isPath(path, below: $0) } }
}

extension DataFolderLock {
  /// For one batch of a scan. A holder of this lock never waits for a scan.
  ///
  /// - Returns: `nil` if the scan was stopped while it waited.
  package static func forBatch(
    into catalogue: Catalogue, until stop: StopFlag
  ) throws(AssetSourceError) -> DataFolderLock? {
    do throws(SystemError) {
      return try forFiles(of: catalogue.dataFolder, until: stop)
    } catch {
      if error.code == EWOULDBLOCK { return nil }
      throw .catalogueFailed("files.lock: \(error)")
    }
  }
}
