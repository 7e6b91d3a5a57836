// The pending work of a scan: files to probe, findings to store and rows to move. `flush` writes it in batches.

import Dispatch
import LibraryFolder
import Logging
import PhotoModel
import Synchronization

#if canImport(Glibc)
  import Glibc
#endif

struct ScanBatch {
  let root: LibraryFolder
  let catalogue: Catalogue
  /// Whether unchanged files are probed again.
  let reprobesAll: Bool
  /// Rows above this one were added by this scan and can't be missing files.
  let lastID: Int64
  var progress = ScanProgress()
  /// Folders that are not scanned: files below them are neither missing nor moved.
  var skippedFolders: [[UInt8]] = []
  var waiting: [WalkedFile] = []
  /// Results that need no probe.
  var found: [ProbedFile] = []
  var moves: [(file: KnownFile, to: [UInt8])] = []
  /// Rows that this scan has moved or updated: they are not missing and can't be matched to another file.
  var claimedIDs: Set<Int64> = []
  /// Paths in `waiting` that have no row.
  private(set) var newPaths: Set<[UInt8]> = []
  /// Rows whose path now belongs to another file. Rows that are still unclaimed at the end are missing.
  var displaced: [KnownFile] = []

  /// Paths of links whose row moved along with their target. The links are broken now and are recorded as unreadable.
  private(set) var brokenLinks: [[UInt8]] = []

  /// Number of pending writes, probed or not.
  var count: Int { waiting.count + found.count + moves.count }

  init(root: LibraryFolder, catalogue: Catalogue, reprobesAll: Bool, lastID: Int64) {
    self.root = root
    self.catalogue = catalogue
    self.reprobesAll = reprobesAll
    self.lastID = lastID
  }

  mutating func add(_ file: WalkedFile, known: KnownFile?) throws(AssetSourceError) {
    let known = known.flatMap { claimedIDs.contains($0.id) ? nil : $0 }
    if let known, known.identity == file.identity {
      if reprobesAll { waiting.append(file) }
      return
    }
    // The path is new, but the file may be a known one that was renamed.
    for candidate in try catalogue.knownFiles(like: file.identity, upTo: lastID) where candidate.id != known?.id {
      // This scan may already have moved it to another path, from which it was renamed again.
      let pending = moves.firstIndex { $0.file.id == candidate.id }
      guard try isGone(candidate, pending.map { moves[$0].to } ?? candidate.path) else { continue }
      if let pending { moves[pending].to = file.path } else { moves.append((candidate, file.path)) }
      recordBrokenLink(leftBy: candidate)
      if claimedIDs.insert(candidate.id).inserted { progress.moved += 1 }
      if let known { displaced.append(known) }
      if reprobesAll { waiting.append(file) }
      return
    }
    if let known {
      claimedIDs.insert(known.id)
    } else {
      newPaths.insert(file.path)
    }
    waiting.append(file)
  }

  /// Matches a probed file without a row to a missing row. A file that was moved to another disk has another inode, so
  /// the match requires the same fingerprint and the same metadata, and the same modification time or file name.
  mutating func recognize(_ file: inout ProbedFile) throws(AssetSourceError) {
    guard case .media(let media) = file.finding, newPaths.contains(file.path) else { return }
    for candidate in try catalogue.knownFiles(like: media, upTo: lastID)
    where !claimedIDs.contains(candidate.id) {
      let isNamedAlike = OriginalFile.displayName(candidate.path) == OriginalFile.displayName(file.path)
      guard isNamedAlike || candidate.identity.isOfSameTime(as: file.identity), try isGone(candidate, candidate.path)
      else { continue }
      file.movedFromRow = candidate.id
      recordBrokenLink(leftBy: candidate)
      claimedIDs.insert(candidate.id)
      progress.moved += 1
      return
    }
  }

  private mutating func recordBrokenLink(leftBy file: KnownFile) {
    guard file.path.first != 0, let top = try? root.open([], isFolder: true) else { return }
    if (try? top.entry(file.path))?.kind == .link { brokenLinks.append(file.path) }
  }

  mutating func add(unreadable path: [UInt8], _ reason: String, known: KnownFile?) {
    if known?.identity == .unknown { return }
    found.append(ProbedFile(path: path, identity: .unknown, finding: .unreadable(reason)))
  }

  mutating func removeWritten() {
    waiting = []
    found = []
    newPaths = []
  }

  func isInSkippedFolder(_ path: [UInt8]) -> Bool { skippedFolders.contains { isPath(path, below: $0) } }

  /// Whether a known file has left its path: the path is free, or belongs to another known file now, as when names are
  /// swapped or renumbered. New content at the same path is an edit of the same asset.
  ///
  /// - Parameter path: its last known path.
  private func isGone(_ file: KnownFile, _ path: [UInt8]) throws(AssetSourceError) -> Bool {
    if path.first == 0 { return true }
    if isInSkippedFolder(path) { return false }
    let now: FileIdentity
    do throws(SystemError) {
      now = try root.open(path).identity
    } catch {
      // An error is no proof that the file is gone.
      return error.code == ENOENT || error.code == ENOTDIR
    }
    if now == file.identity { return false }
    return try catalogue.knownFiles(like: now).contains { $0.id != file.id }
  }
}

extension LibraryScanner {
  /// Probes the waiting files, one per core at a time, and stores the results in one transaction.
  func flush(_ state: inout ScanBatch, _ probe: FileProbe) throws(AssetSourceError) {
    try catalogue.move(state.moves)
    state.moves = []
    let waiting = state.waiting
    guard !waiting.isEmpty || !state.found.isEmpty else { return }
    // The lock keeps this batch from running between the steps of a deletion or an upload.
    let lock = try LibraryFilesLock(forScanInto: catalogue)
    defer { lock.unlock() }
    var found = state.found + probe.probe(waiting)
    for index in state.found.count..<found.count { try state.recognize(&found[index]) }
    for file in found {
      guard case .unreadable(let reason) = file.finding else { continue }
      state.progress.unreadable += 1
      logger.info("file not indexed", metadata: ["path": "\(display(file.path))", "reason": "\(reason)"])
    }
    try catalogue.store(found)
    state.progress.probed += waiting.count
    state.removeWritten()
  }
}
