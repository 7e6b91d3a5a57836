// One walk through the list of a store.

import LibraryCatalogue
import LibraryFolder
import LibraryScan
import Logging
import ObjectStores
import PhotoModel

struct RemoteMerge {
  /// Refused objects that the log names; the others are only counted.
  private static let namedRefusals = 20
  /// If the store refuses so many objects before any other was ever read, the key may read none.
  private static let maximumFirstRefusals = 1000

  private let scanner: RemoteScanner
  private let stop: StopFlag
  private let reprobesAll: Bool
  /// Rows above this one were added by this scan.
  private let lastID: Int64
  private var rows: ArraySlice<KnownFile> = []
  private var lastRowPath: [UInt8]?
  private var hasMoreRows = true
  private var lastKey: ObjectKey?
  private var waiting: [(entry: ObjectPage.Entry, isNew: Bool)] = []
  /// Rows without an object, as they were when the list had passed them.
  private var missing: [KnownFile] = []
  /// Rows that this scan has given to an object.
  private var claimed: Set<Int64> = []
  /// The sizes of new objects that the store refuses to read: each may be a missing one under another name.
  private var refusedSizes: Set<Int64> = []
  /// The last refusal of an object.
  private var lastRefusal: ObjectStoreError?
  private(set) var progress = RemoteScanProgress()

  private var catalogue: Catalogue { scanner.catalogue }

  init(_ scanner: RemoteScanner, _ stop: StopFlag) throws(RemoteScanError) {
    self.scanner = scanner
    self.stop = stop
    let catalogue = scanner.catalogue
    lastID = try scanner.source { () throws(AssetSourceError) in try catalogue.lastFileID() }
    reprobesAll = try scanner.source { () throws(AssetSourceError) in
      try catalogue.probeVersion() != scanner.probe.version
    }
  }

  /// Lists the store, and stores what is new or changed.
  mutating func run(_ onProgress: (RemoteScanProgress) -> Void) throws(RemoteScanError) {
    var position: ObjectPage.Position?
    repeat {
      let page: ObjectPage
      do throws(ObjectStoreError) {
        page = try scanner.store.waitForPage(from: position, stop: stop)
      } catch {
        throw .store(error)
      }
      progress.skipped += page.skipped
      for entry in page.entries {
        if stop.isRaised { return }
        if let lastKey, !(lastKey < entry.key) { throw .unsortedList }
        lastKey = entry.key
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
    while let row = try nextRow() { missing.append(row) }
  }

  private mutating func add(_ entry: ObjectPage.Entry) throws(RemoteScanError) {
    progress.objects += 1
    var known: KnownFile?
    while let row = try peekRow(), !entry.key.bytes.lexicographicallyPrecedes(row.path) {
      rows.removeFirst()
      if row.path == entry.key.bytes {
        known = row
      } else {
        missing.append(row)
      }
    }
    if let known, known.identity == FileIdentity(entry), !known.isUnreadable, !reprobesAll { return }
    if let known { claimed.insert(known.id) }
    waiting.append((entry, known == nil))
  }

  // MARK: Rows of the catalogue

  private mutating func nextRow() throws(RemoteScanError) -> KnownFile? {
    guard let row = try peekRow() else { return nil }
    rows.removeFirst()
    return row
  }

  private mutating func peekRow() throws(RemoteScanError) -> KnownFile? {
    if rows.isEmpty, hasMoreRows {
      let (catalogue, after, last) = (catalogue, lastRowPath, lastID)
      rows = try scanner.source { () throws(AssetSourceError) in
        try catalogue.knownFiles(below: [], after: after, upTo: last, limit: RemoteScanner.pageSize)[...]
      }
      lastRowPath = rows.last?.path
      hasMoreRows = rows.count == RemoteScanner.pageSize
    }
    return rows.first
  }

  // MARK: Batches

  /// Reads the heads of the objects that wait, and stores the findings.
  private mutating func flush() throws(RemoteScanError) {
    guard !waiting.isEmpty else { return }
    let heads = try HeadReader(scanner, stop).read(waiting.map(\.entry))
    progress.bytes += heads.bytes
    progress.ranges += heads.ranges
    // Stopped: what was not read is found again by the next scan.
    if stop.isRaised {
      waiting = []
      return
    }
    var found: [ProbedFile] = []
    for (index, head) in heads.files.enumerated() {
      if let refusal = heads.refusals[index] {
        let (entry, isNew) = waiting[index]
        noteRefusal(of: entry.key, refusal)
        if isNew {
          refusedSizes.insert(entry.identity.size)
        } else {
          found.append(Self.unreadable(entry, refusal))
        }
      }
      guard var head else { continue }
      progress.probed += 1
      if case .unreadable(let reason) = head.finding {
        progress.unreadable += 1
        scanner.logger.info(
          "object not indexed", metadata: ["key": "\(waiting[index].entry.key)", "reason": "\(reason)"])
      }
      if waiting[index].isNew { try recognise(&head) }
      found.append(head)
    }
    let (catalogue, files) = (catalogue, found)
    try scanner.source { () throws(AssetSourceError) in
      let lock = try Self.lock(catalogue)
      defer { lock.unlock() }
      try catalogue.store(files)
    }
    waiting = []
    try checkFirstRefusals(limit: Self.maximumFirstRefusals)
  }

  // MARK: Refused objects

  /// The finding of a known object that the store refuses to read: its row stays, with the reason, and is read again by
  /// the next scan. A new object gets no row, which has the same effect.
  private static func unreadable(_ entry: ObjectPage.Entry, _ refusal: ObjectStoreError) -> ProbedFile {
    ProbedFile(path: entry.key.bytes, identity: .unknown, finding: .unreadable(refusal.refusalDescription))
  }

  private mutating func noteRefusal(of key: ObjectKey, _ refusal: ObjectStoreError) {
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
  /// same name or time.
  private mutating func recognise(_ file: inout ProbedFile) throws(RemoteScanError) {
    guard case .media(let media) = file.finding else { return }
    let (catalogue, last) = (catalogue, lastID)
    let candidates = try scanner.source { () throws(AssetSourceError) in
      try catalogue.knownFiles(like: media, upTo: last)
    }
    for candidate in candidates where !claimed.contains(candidate.id) {
      let isNamedAlike = OriginalFile.displayName(candidate.path) == OriginalFile.displayName(file.path)
      guard isNamedAlike || candidate.identity.isOfSameTime(as: file.identity), try isGone(candidate.path) else {
        continue
      }
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
      // It is there, for others.
      if error.isRefusal { return false }
      throw .store(error)
    }
  }

  // MARK: Missing rows

  mutating func removeMissing(acceptsAll: Bool) throws(RemoteScanError) {
    let removable = missing.filter {
      !claimed.contains($0.id) && (acceptsAll || !refusedSizes.contains($0.identity.size))
    }
    guard !removable.isEmpty else { return }
    let catalogue = catalogue
    let count = try scanner.source { () throws(AssetSourceError) in try catalogue.fileCount() }
    if !acceptsAll {
      if progress.objects == 0 { throw .library(.libraryIsEmpty(path: scanner.store.name, known: count)) }
      let percent = scanner.options.maximumRemovalPercent
      if RemovalLimit(percent: percent).isExceeded(by: removable.count, of: count) {
        throw .library(.tooMuchMissing(missing: removable.count, known: count, limitPercent: percent))
      }
    }
    for start in stride(from: 0, to: removable.count, by: RemoteScanner.pageSize) {
      let page = removable[start..<min(start + RemoteScanner.pageSize, removable.count)]
      let ids = page.map(\.id)
      // Other objects of the same asset stay with it, and become its picture or video.
      let secondary = try scanner.source { () throws(AssetSourceError) in
        try catalogue.secondaryFiles(ofMissing: ids)
      }
      var entries: [ObjectPage.Entry] = []
      for file in secondary {
        guard let key = ObjectKey(file.path) else { continue }
        do throws(ObjectStoreError) {
          let head = try scanner.store.waitForHead(key, stop: stop)
          entries.append(ObjectPage.Entry(key: key, identity: head.identity, modified: head.modified))
        } catch {
          if error.isRefusal {
            noteRefusal(of: key, error)
          } else if error != .notFound {
            throw .store(error)
          }
        }
      }
      let heads = try HeadReader(scanner, stop).read(entries)
      for (index, refusal) in heads.refusals { noteRefusal(of: entries[index].key, refusal) }
      let files = heads.files.compactMap(\.self)
      var removed = 0
      try scanner.source { () throws(AssetSourceError) in
        let lock = try Self.lock(catalogue)
        defer { lock.unlock() }
        // A row may have got an object meanwhile, for example by an upload or a restoration.
        let listed = Dictionary(page.map { ($0.id, $0) }) { first, _ in first }
        let unchanged = try catalogue.knownFiles(ids).filter {
          listed[$0.id]?.identity == $0.identity && listed[$0.id]?.path == $0.path
        }
        try catalogue.remove(unchanged.map(\.id), secondaryFiles: files)
        removed = unchanged.count
      }
      progress.removed += removed
    }
  }

  /// For one batch: no batch runs between the steps of a deletion or an upload.
  private static func lock(_ catalogue: Catalogue) throws(AssetSourceError) -> DataFolderLock {
    do throws(SystemError) {
      return try DataFolderLock.forFiles(of: catalogue.dataFolder)
    } catch {
      throw .catalogueFailed("files.lock: \(error)")
    }
  }
}
