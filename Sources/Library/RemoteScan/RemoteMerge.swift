// One walk through the list of a store.

import LibraryCatalogue
import LibraryFolder
import LibraryScan
import Logging
import ObjectStores
import PhotoModel

struct RemoteMerge {
  /// Maximum number of refused objects that the log names; further ones are only counted.
  private static let namedRefusals = 20
  /// If the store refuses more objects than this before one could be read, the key may not read any.
  private static let maximumFirstRefusals = 1000
  /// The maximum number of known objects that are looked up for a new one, each with a request.
  private static let maximumCandidates = 8

  struct Finding {
    var file: ProbedFile
    /// The row that the object had when it was listed; `nil` for a new object.
    let known: KnownFile?
  }

  let scanner: RemoteScanner
  let stop: StopFlag
  private let reprobesAll: Bool
  private var rows: KnownFileCursor
  private var lastKey: ObjectKey?
  var waiting: [HeadReader.Object] = []
  /// Rows without an object, as they were when the list had passed them.
  var missing: [KnownFile] = []
  /// Rows that have an object, among them those that this scan has given to one.
  var claimed: Set<Int64> = []
  /// The sizes of new objects that the store refuses to read: each may be a missing one under another name.
  var refusedSizes: Set<Int64> = []
  /// The sizes of new objects that were moved or replaced before they were read: each may be a missing one, too.
  var changedSizes: Set<Int64> = []
  /// The last refusal of an object.
  private var lastRefusal: ObjectStoreError?
  var progress = RemoteScanProgress()

  var catalogue: Catalogue { scanner.catalogue }

  init(_ scanner: RemoteScanner, _ stop: StopFlag) throws(RemoteScanError) {
    self.scanner = scanner
    self.stop = stop
    let catalogue = scanner.catalogue
    let lastID = try scanner.source { () throws(AssetSourceError) in try catalogue.lastFileID() }
    rows = KnownFileCursor(catalogue: catalogue, pageSize: RemoteScanner.pageSize, lastID: lastID)
    reprobesAll = try scanner.source { () throws(AssetSourceError) in
      try catalogue.beginScan(probeVersion: scanner.probe.version)
    }
  }

  /// Lists the store, and stores what is new or changed.
  mutating func run(_ onProgress: (RemoteScanProgress) -> Void) throws(RemoteScanError) {
    var position: ObjectPage.Position?
    repeat {
      let page = try page(from: position)
      progress.skipped += page.skipped
      for entry in page.entries {
        if stop.isRaised { return }
        try add(entry)
        if waiting.count >= scanner.options.batchObjects {
          try flush()
          onProgress(progress)
        }
      }
      position = page.next
    } while position != nil && !stop.isRaised
    try flush()
    if !stop.isRaised { try checkFirstRefusals(limit: 0) }
    try passRows(before: nil)
  }

  /// The next page of the list, or the first one of another list.
  mutating func page(from position: ObjectPage.Position?) throws(RemoteScanError) -> ObjectPage {
    let page: ObjectPage
    do throws(ObjectStoreError) {
      page = try scanner.store.waitForPage(from: position, stop: stop)
    } catch {
      throw .store(error)
    }
    if position == nil { lastKey = nil }
    for entry in page.entries {
      if let lastKey, !(lastKey < entry.key) { throw .unsortedList }
      lastKey = entry.key
    }
    for key in page.unidentified {
      if let row = try knownFile(at: key.bytes) { claimed.insert(row.id) }
    }
    return page
  }

  private mutating func add(_ entry: ObjectPage.Entry) throws(RemoteScanError) {
    progress.objects += 1
    let known = try passRows(before: entry.key.bytes)
    if let known {
      let isUnchanged = known.identity.isIdentity(of: entry.identity, entry.key)
      if isUnchanged, !known.isUnreadable, !reprobesAll { return }
      claimed.insert(known.id)
    }
    waiting.append(HeadReader.Object(entry: entry, known: known))
  }

  // MARK: Rows of the catalogue

  func knownFile(at path: [UInt8]) throws(RemoteScanError) -> KnownFile? {
    let catalogue = catalogue
    return try scanner.source { () throws(AssetSourceError) in try catalogue.knownFile(at: path) }
  }

  /// Adds the rows before a path to `missing`, and returns the row at the path, if there is one. With `nil`, all
  /// remaining rows are missing.
  @discardableResult
  private mutating func passRows(before path: [UInt8]?) throws(RemoteScanError) -> KnownFile? {
    do throws(AssetSourceError) {
      while let row = try rows.next(before: path) { missing.append(row) }
      if let path { return try rows.next(at: path) }
      return nil
    } catch {
      throw .library(LibraryError(error, dataFolder: catalogue.dataFolder))
    }
  }

  // MARK: Batches

  /// Reads the heads of the objects that wait, and stores the findings.
  mutating func flush() throws(RemoteScanError) {
    guard !waiting.isEmpty else { return }
    let objects = waiting
    waiting = []
    let heads = try HeadReader(scanner, stop).read(objects)
    progress.ranges += heads.ranges
    // Stopped: what was not read is found again by the next scan.
    if stop.isRaised { return }
    var found: [Finding] = []
    for (index, object) in objects.enumerated() {
      if let refusal = heads.refusals[index] {
        noteRefusal(of: object.entry.key, refusal)
        if let known = object.known {
          found.append(Finding(file: Self.unreadable(object.entry, refusal), known: known))
        } else {
          refusedSizes.insert(object.entry.identity.size)
        }
        continue
      }
      guard var head = heads.files[index] else {
        if object.known == nil { changedSizes.insert(object.entry.identity.size) }
        continue
      }
      progress.probed += 1
      if case .unreadable(let reason) = head.finding {
        progress.unreadable += 1
        scanner.logger.info(
          "object not indexed", metadata: ["key": "\(object.entry.key)", "reason": "\(reason)"])
      }
      if object.known == nil { try recognise(&head) }
      found.append(Finding(file: head, known: object.known))
    }
    try store(found)
    try checkFirstRefusals(limit: Self.maximumFirstRefusals)
  }

  /// The lock for one batch. Throws `cancelled` if the scan is stopped while it waits.
  func lock() throws(RemoteScanError) -> DataFolderLock {
    let lock = try scanner.source { () throws(AssetSourceError) in
      try DataFolderLock.forBatch(into: catalogue, until: stop)
    }
    guard let lock else { throw .store(.cancelled) }
    return lock
  }

  private func store(_ found: [Finding]) throws(RemoteScanError) {
    let catalogue = catalogue
    let lock = try lock()
    defer { lock.unlock() }
    let files = try current(found)
    // No row loses its path: objects are not renamed.
    _ = try scanner.source { () throws(AssetSourceError) in try catalogue.store(files) }
  }

  /// The paths of deletions and restorations that have failed. Their objects are neither new nor missing: the recovery
  /// moves them back. Call with the lock held.
  func unfinishedPaths() throws(RemoteScanError) -> Set<[UInt8]> {
    let catalogue = catalogue
    return try scanner.source { () throws(AssetSourceError) in try catalogue.unfinishedTrashPaths() }
  }

  /// The findings that no deletion, restoration or upload has overtaken since the list, and for which none has to be
  /// recovered. Call with the lock held.
  func current(_ found: [Finding]) throws(RemoteScanError) -> [ProbedFile] {
    let catalogue = catalogue
    let ids = found.compactMap { $0.known?.id ?? $0.file.movedFromRow }
    let newPaths = found.filter { $0.known == nil }.map(\.file.path)
    let rows = try scanner.source { () throws(AssetSourceError) in try catalogue.knownFiles(ids) }
    let inUse = try scanner.source { () throws(AssetSourceError) in try catalogue.pathsInUse(among: newPaths) }
    let paths = Dictionary(rows.map { ($0.id, $0.path) }) { first, _ in first }
    let unfinished = try unfinishedPaths()
    var files: [ProbedFile] = []
    for finding in found {
      let path = finding.file.path
      if unfinished.contains(path) { continue }
      if let row = finding.file.movedFromRow, let former = paths[row], unfinished.contains(former) { continue }
      if let known = finding.known {
        guard paths[known.id] == known.path else { continue }
      } else {
        // The next scan compares the object with its row.
        if inUse.known.contains(path) { continue }
        // Added and deleted since the list, unless another object has come to the path since the deletion.
        if inUse.trashed.contains(path), try isGone(path) { continue }
      }
      files.append(finding.file)
    }
    return files
  }

  // MARK: Refused objects

  /// The finding of a known object that the store refuses to read: its row stays, with the reason, and the next scan
  /// reads the object again. A new object gets no row, so the next scan reads it again, too.
  private static func unreadable(_ entry: ObjectPage.Entry, _ refusal: ObjectStoreError) -> ProbedFile {
    ProbedFile(path: entry.key.bytes, identity: .unknown, finding: .unreadable(refusal.refusalDescription))
  }

  mutating func noteRefusal(of key: ObjectKey, _ refusal: ObjectStoreError) {
    progress.refused += 1
    lastRefusal = refusal
    guard progress.refused <= Self.namedRefusals else { return }
    scanner.logger.warning(
      "object refused", metadata: ["key": "\(key)", "reason": "\(refusal.refusalDescription)"])
  }

  /// Ends the scan if the store refuses everything and the catalogue is still empty: then the key or the server is
  /// wrong, not an object.
  private func checkFirstRefusals(limit: Int) throws(RemoteScanError) {
    guard let lastRefusal, progress.probed == 0, progress.refused > limit else { return }
    let catalogue = catalogue
    let count = try scanner.source { () throws(AssetSourceError) in try catalogue.fileCount() }
    if count == 0 { throw .allRefused(lastRefusal) }
  }

  /// Matches a new object to the row of one that is gone: the same first and last bytes and the same metadata, and the
  /// same name, time or entity tag. A copy, of which a rename in a bucket consists, has another time.
  private mutating func recognise(_ file: inout ProbedFile) throws(RemoteScanError) {
    guard case .media(let media) = file.finding else { return }
    let (catalogue, last) = (catalogue, rows.lastID)
    let candidates = try scanner.source { () throws(AssetSourceError) in
      try catalogue.knownFiles(like: media, upTo: last, limit: Self.maximumCandidates)
    }
    let (path, identity) = (file.path, file.identity)
    let isAlike = { (candidate: KnownFile) in
      OriginalFile.displayName(candidate.path) == OriginalFile.displayName(path)
        || candidate.identity.isOfSameTime(as: identity)
    }
    // In a bucket the inode is a digest of the entity tag. In a folder, an equal inode means the same file.
    let hasSameTag = { (candidate: KnownFile) in
      candidate.identity.inode == identity.inode && candidate.identity.size == identity.size
    }
    // Of equal pictures, each keeps its name.
    let ordered = candidates.filter(isAlike) + candidates.filter { !isAlike($0) && hasSameTag($0) }
    for candidate in ordered where !claimed.contains(candidate.id) {
      guard try isGone(candidate.path) else { continue }
      file.movedFromRow = candidate.id
      claimed.insert(candidate.id)
      progress.moved += 1
      return
    }
  }

  private func isGone(_ path: [UInt8]) throws(RemoteScanError) -> Bool {
    guard let key = ObjectKey(path) else { return true }
    do throws(ObjectStoreError) {
      _ = try scanner.store.waitForHead(key, stop: stop)
      return false
    } catch {
      if error == .notFound { return true }
      // The object exists, although this key may not read it.
      if error.isRefusal { return false }
      throw .store(error)
    }
  }
}
