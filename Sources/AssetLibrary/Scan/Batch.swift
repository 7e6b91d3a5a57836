// What a scan has gathered and not yet written: which files are to be read, which rows have another name now.

import Dispatch
import LibraryFolder
import Logging
import PhotoModel
import Synchronization

#if canImport(Glibc)
  import Glibc
#endif

/// What a scan has gathered and not yet written.
struct Batch {
  let root: LibraryFolder
  let catalogue: Catalogue
  /// Files are read although they did not change.
  let readsAll: Bool
  /// Rows above this one were added by the scan itself, and are no file that is gone.
  let lastID: Int64
  var progress = ScanProgress()
  /// Folders that are not looked into: what is known below them is neither missing nor moved.
  var keptFolders: [[UInt8]] = []
  var waiting: [WalkedFile] = []
  /// Findings that needed no probe.
  var found: [ProbedFile] = []
  var moves: [(file: KnownFile, to: [UInt8])] = []
  /// Every row that was moved or brought up to date in this scan: it is not missing, and nobody else's any more.
  var claimedIDs: Set<Int64> = []
  /// Of those that wait, the paths that had no row.
  private(set) var strangers: Set<[UInt8]> = []
  /// Rows whose name another file has taken. Those that nobody claims in the end are missing.
  var displaced: [KnownFile] = []

  /// Links whose row went along with a file that they led to. They lead nowhere, and are to be known as that.
  private(set) var leftLinks: [[UInt8]] = []

  /// Everything that is to be written, whether or not it is to be read first.
  var count: Int { waiting.count + found.count + moves.count }

  init(root: LibraryFolder, catalogue: Catalogue, readsAll: Bool, lastID: Int64) {
    self.root = root
    self.catalogue = catalogue
    self.readsAll = readsAll
    self.lastID = lastID
  }

  mutating func add(_ file: WalkedFile, known: KnownFile?) throws(AssetSourceError) {
    let known = known.flatMap { claimedIDs.contains($0.id) ? nil : $0 }
    if let known, known.identity == file.identity {
      if readsAll { waiting.append(file) }
      return
    }
    // The file is new here, but it may be an old one under another name.
    for candidate in try catalogue.knownFiles(like: file.identity, upTo: lastID) where candidate.id != known?.id {
      // This scan may have met it under another name already, from which it has gone on since.
      let pending = moves.firstIndex { $0.file.id == candidate.id }
      guard try hasLeft(candidate, pending.map { moves[$0].to } ?? candidate.path) else { continue }
      if let pending { moves[pending].to = file.path } else { moves.append((candidate, file.path)) }
      noteLink(leftBy: candidate)
      if claimedIDs.insert(candidate.id).inserted { progress.moved += 1 }
      if let known { displaced.append(known) }
      if readsAll { waiting.append(file) }
      return
    }
    if let known {
      claimedIDs.insert(known.id)
    } else {
      strangers.insert(file.path)
    }
    waiting.append(file)
  }

  /// Whether a file that was read, and had no row, is one that is gone from somewhere else: on another disk, so that the
  /// inode tells nothing. Its fingerprint and what it says of itself are the same, and so is its time or its name.
  mutating func recognize(_ file: inout ProbedFile) throws(AssetSourceError) {
    guard case .media(let media) = file.finding, strangers.contains(file.path) else { return }
    for candidate in try catalogue.knownFiles(like: media, upTo: lastID)
    where !claimedIDs.contains(candidate.id) {
      let isNamedAlike = OriginalFile.displayName(candidate.path) == OriginalFile.displayName(file.path)
      guard isNamedAlike || candidate.identity.isOfSameTime(as: file.identity), try hasLeft(candidate, candidate.path)
      else { continue }
      file.formerRow = candidate.id
      noteLink(leftBy: candidate)
      claimedIDs.insert(candidate.id)
      progress.moved += 1
      return
    }
  }

  private mutating func noteLink(leftBy file: KnownFile) {
    guard file.path.first != 0, let top = try? root.open([], isFolder: true) else { return }
    if (try? top.entry(file.path))?.kind == .link { leftLinks.append(file.path) }
  }

  mutating func add(unreadable path: [UInt8], _ reason: String, known: KnownFile?) {
    if known?.identity == .unknown { return }
    found.append(ProbedFile(path: path, identity: .unknown, finding: .unreadable(reason)))
  }

  mutating func forgetWhatIsWritten() {
    waiting = []
    found = []
    strangers = []
  }

  func keeps(_ path: [UInt8]) -> Bool { keptFolders.contains { isPath(path, below: $0) } }

  /// Whether a known file is no longer where it was: its name is gone, or is now the name of another known file, as
  /// when names are exchanged or counted up. A name with new content is an edited file, and stays the asset that it was.
  ///
  /// - Parameter path: where it was last.
  private func hasLeft(_ file: KnownFile, _ path: [UInt8]) throws(AssetSourceError) -> Bool {
    if path.first == 0 { return true }
    if keeps(path) { return false }
    let now: FileIdentity
    do throws(SystemError) {
      now = try root.open(path).identity
    } catch {
      // What can't be looked at has not left.
      return error.code == ENOENT || error.code == ENOTDIR
    }
    if now == file.identity { return false }
    return try catalogue.knownFiles(like: now).contains { $0.id != file.id }
  }
}

extension LibraryScanner {
  /// Probes what waits, as many at once as there are cores, and stores it in one transaction.
  func flush(_ state: inout Batch, _ probe: FileProbe) throws(AssetSourceError) {
    try catalogue.move(state.moves)
    state.moves = []
    let waiting = state.waiting
    guard !waiting.isEmpty || !state.found.isEmpty else { return }
    // What is on its way to the trash, or from an upload to the catalogue, is not met halfway.
    let turn = try FilesTurn(scanningInto: catalogue)
    defer { turn.end() }
    var found = state.found + probe.probe(waiting)
    for index in state.found.count..<found.count { try state.recognize(&found[index]) }
    for file in found {
      guard case .unreadable(let reason) = file.finding else { continue }
      state.progress.unreadable += 1
      logger.info("not indexed", metadata: ["path": "\(display(file.path))", "reason": "\(reason)"])
    }
    try catalogue.store(found)
    state.progress.probed += waiting.count
    state.forgetWhatIsWritten()
  }
}

extension FileIdentity {
  /// Whether two files were last written at the same time, as far as a file system can tell: some keep two seconds.
  fileprivate func isOfSameTime(as other: FileIdentity) -> Bool {
    if modified == other.modified { return true }
    let isCoarse = modified % 1_000_000_000 == 0 || other.modified % 1_000_000_000 == 0
    return isCoarse && modified.distance(to: other.modified).magnitude <= 2_000_000_000
  }
}
