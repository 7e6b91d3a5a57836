// Removes the rows of missing objects at the end of a walk through the list, after a second list has not shown them.

import LibraryCatalogue
import LibraryScan
import ObjectStores
import PhotoModel

extension RemoteMerge {
  mutating func removeMissing(acceptsAll: Bool) throws(RemoteScanError) {
    let unseen = removable(acceptsAll)
    guard !unseen.isEmpty else { return }
    let catalogue = catalogue
    let count = try scanner.source { () throws(AssetSourceError) in try catalogue.fileCount() }
    if !acceptsAll {
      if progress.objects == 0 { throw .library(.libraryIsEmpty(path: scanner.store.name, known: count)) }
      let percent = scanner.options.maximumRemovalPercent
      if RemovalLimit(percent: percent).isExceeded(by: unseen.count, of: count) {
        throw .library(.tooMuchMissing(missing: unseen.count, known: count, limitPercent: percent))
      }
    }
    try listAgain(for: unseen)
    if stop.isRaised { return }
    let rows = removable(acceptsAll)
    let all = Dictionary(rows.map { ($0.id, $0) }) { first, _ in first }
    for start in stride(from: 0, to: rows.count, by: RemoteScanner.pageSize) {
      let page = Array(rows[start..<min(start + RemoteScanner.pageSize, rows.count)])
      // An asset's objects are removed together, also those from later pages.
      let companions = try scanner.source { () throws(AssetSourceError) in
        try catalogue.secondaryFiles(ofMissing: page.map(\.id))
      }
      try remove(page + companions.compactMap { all[$0.id] })
    }
  }

  private func removable(_ acceptsAll: Bool) -> [KnownFile] {
    missing.filter {
      !claimed.contains($0.id) && !changedSizes.contains($0.identity.size)
        && (acceptsAll || !refusedSizes.contains($0.identity.size))
    }
  }

  /// Lists the store once more for missing rows. A list of several pages, or of a store that changes meanwhile, may
  /// lack an object that was moved to a key before its position, or that did not exist for a moment.
  private mutating func listAgain(for rows: [KnownFile]) throws(RemoteScanError) {
    let ids = Dictionary(rows.map { ($0.path, $0.id) }) { first, _ in first }
    let sizes = Set(rows.map(\.identity.size)).subtracting(refusedSizes)
    var position: ObjectPage.Position?
    repeat {
      let page = try page(from: position)
      for entry in page.entries {
        if stop.isRaised { return }
        if let id = ids[entry.key.bytes] {
          // The next scan reads it, if it has changed.
          claimed.insert(id)
        } else if sizes.contains(entry.identity.size), try knownFile(at: entry.key.bytes) == nil {
          waiting.append(HeadReader.Object(entry: entry, known: nil))
          if waiting.count >= scanner.options.batchObjects { try flush() }
        }
      }
      position = page.next
    } while position != nil && !stop.isRaised
    try flush()
  }

  private mutating func remove(_ rows: [KnownFile]) throws(RemoteScanError) {
    let (catalogue, ids) = (catalogue, rows.map(\.id))
    // Other objects of the same asset stay with it, and become its picture or video.
    let secondary = try scanner.source { () throws(AssetSourceError) in
      try catalogue.secondaryFiles(ofMissing: ids)
    }
    var objects: [HeadReader.Object] = []
    for file in secondary {
      guard let key = ObjectKey(file.path) else { continue }
      do throws(ObjectStoreError) {
        let head = try scanner.store.waitForHead(key, stop: stop)
        // Like an entry of the list, which may have no times.
        let modified = file.identity.needsPath ? nil : head.modified
        let entry = ObjectPage.Entry(key: key, identity: head.identity, modified: modified)
        objects.append(HeadReader.Object(entry: entry, known: file))
      } catch {
        if error.isRefusal {
          noteRefusal(of: key, error)
        } else if error != .notFound {
          throw .store(error)
        }
      }
    }
    let heads = try HeadReader(scanner, stop).read(objects)
    for (index, refusal) in heads.refusals { noteRefusal(of: objects[index].entry.key, refusal) }
    var found: [Finding] = []
    for (index, object) in objects.enumerated() {
      if let head = heads.files[index] { found.append(Finding(file: head, known: object.known)) }
    }
    let lock = try lock()
    defer { lock.unlock() }
    let files = try current(found)
    let unfinished = try unfinishedPaths()
    let listed = Dictionary(rows.map { ($0.id, $0) }) { first, _ in first }
    var removed = 0
    try scanner.source { () throws(AssetSourceError) in
      // A row may have got an object since, for example by an upload or a restoration.
      let rows = try catalogue.knownFiles(ids).filter { !unfinished.contains($0.path) }
      let unchanged = rows.filter {
        listed[$0.id]?.identity == $0.identity && listed[$0.id]?.path == $0.path
      }
      try catalogue.remove(unchanged.map(\.id), secondaryFiles: files)
      removed = unchanged.count
    }
    progress.removed += removed
  }
}
