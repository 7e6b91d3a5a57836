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

extension LibraryScanner {
  /// Probes what waits, as many at once as there are cores, and stores it in one transaction.
  func flush(_ state: inout Batch, _ probe: FileProbe) throws(AssetSourceError) {
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
}
