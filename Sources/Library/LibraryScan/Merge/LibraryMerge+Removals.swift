// Decides which rows of missing files are removed at the end of a walk. A missing file may have been moved; and if many
// files are missing, a disk is probably not mounted.

import LibraryCatalogue
import LibraryFolder
import PhotoModel
import Primitives

extension LibraryMerge {
  private var catalogue: Catalogue { scanner.catalogue }

  /// Keeps missing files that were moved, or may have been, to a path that is not scanned yet.
  mutating func keepPossiblyMoved(_ outcome: inout ScanOutcome) throws(AssetSourceError) {
    let claimed = batch.claimedIDs
    missing.removeAll { claimed.contains($0) }
    try keepLinks()
    try keepRenamed(&outcome)
    try keepPossiblyCopied(&outcome)
    try keepArriving(&outcome)
    try keepMovedDuringWalk(&outcome)
  }

  /// Keeps links while a disk is missing, because their targets may be on it.
  private mutating func keepLinks() throws(AssetSourceError) {
    if missingMounts.isEmpty && hiddenFolders.isEmpty { return }
    var links: Set<Int64> = []
    for start in stride(from: 0, to: missing.count, by: LibraryScanner.pageSize) {
      for file in try catalogue.knownFiles(page(from: start)) where LibraryWalk.isLink(file.path, in: root) {
        links.insert(file.id)
      }
    }
    batch.progress.kept += links.count
    missing.removeAll { links.contains($0) }
  }

  /// Keeps the rows of files that were renamed a moment ago. Their former paths are scanned again with the new ones.
  private mutating func keepRenamed(_ outcome: inout ScanOutcome) throws(AssetSourceError) {
    let renamedRows = batch.renamedRows
    let kept = missing.filter { renamedRows.contains($0) }
    if kept.isEmpty { return }
    batch.progress.kept += kept.count
    outcome.followUps += try catalogue.knownFiles(kept).map {
      Recheck(path: $0.path, delayNanoseconds: Self.renamePauseNanoseconds)
    }
    missing.removeAll { renamedRows.contains($0) }
  }

  /// While a new file is still written, it may be a copy of a missing file. A copy only grows, so missing files smaller
  /// than every unsettled new file are safe to remove.
  private mutating func keepPossiblyCopied(_ outcome: inout ScanOutcome) throws(AssetSourceError) {
    guard let size = unsettled.smallestNewSize else { return }
    let removable = try catalogue.files(missing, smallerThan: size)
    batch.progress.kept += missing.count - removable.count
    if options.returnsRechecks {
      let settled = scanner.settleTime.wholeNanoseconds
      let isRemovable = Set(removable)
      let kept = missing.filter { !isRemovable.contains($0) }
      outcome.followUps += try catalogue.knownFiles(kept).map { Recheck(path: $0.path, delayNanoseconds: settled) }
    }
    missing = removable
  }

  /// Keeps missing files that were renamed to a path with a pending event. They are scanned again at once. This
  /// includes files whose name was taken by another file, under their placeholder path: if the next scan does not find
  /// them, they are removed then.
  private mutating func keepArriving(_ outcome: inout ScanOutcome) throws(AssetSourceError) {
    guard !missing.isEmpty, let arrivals = options.arrivals else { return }
    let inTransit = FilesInTransit(arrivals, in: root)
    if inTransit.isEmpty { return }
    var arriving: [KnownFile] = []
    for start in stride(from: 0, to: missing.count, by: LibraryScanner.pageSize) {
      arriving += try catalogue.knownFiles(page(from: start)).filter { inTransit.contains($0.identity) }
    }
    let ids = Set(arriving.map(\.id))
    batch.progress.kept += arriving.count
    outcome.followUps += arriving.map { Recheck(path: $0.path, delayNanoseconds: 0) }
    missing.removeAll { ids.contains($0) }
  }

  /// Removes missing files, or returns why it refuses.
  mutating func removeMissing(_ outcome: inout ScanOutcome) throws(AssetSourceError) -> LibraryError? {
    guard !missing.isEmpty else { return nil }
    // Without the list of file systems, a missing disk goes unnoticed.
    if mounts.isRecordUnreadable && !options.acceptsRemovals { return .mountsUnreadable }
    if !isFullScan {
      // A full scan has checked this before the walk.
      if LibraryWalk.isEmpty(root), let refusal = try scanner.emptyLibraryRefusal() { return refusal }
      try linkedNames.add(ofMissing: missing)
    }
    if let refusal = try limitRefusal() { return refusal }
    var removed = 0
    let all = Set(missing)
    for start in stride(from: 0, to: missing.count, by: LibraryScanner.pageSize) {
      let rows = page(from: start)
      // An asset's files are removed together, also those from later pages.
      let companions = try catalogue.secondaryFiles(ofMissing: rows).map(\.id).filter(all.contains)
      removed += try remove(rows + companions, &outcome)
    }
    batch.progress.removed = removed
    return nil
  }

  /// Refuses to remove a large share of the library.
  private func limitRefusal() throws(AssetSourceError) -> LibraryError? {
    // Recent removals count as missing now, so that many small scans can't bypass the limit.
    let all = missing.count + options.recentRemovals
    guard all > RemovalLimit.alwaysAllowed && !options.acceptsRemovals else { return nil }
    let count = try catalogue.fileCount() + options.recentRemovals
    let limit = RemovalLimit(percent: scanner.maximumRemovalPercent)
    guard limit.isExceeded(by: all, of: count) else { return nil }
    return .tooMuchMissing(missing: all, known: count, limitPercent: scanner.maximumRemovalPercent)
  }

  /// Removes the rows of missing files, except those whose path has a file again.
  ///
  /// - Returns: the number of removed rows.
  private mutating func remove(_ rows: [Int64], _ outcome: inout ScanOutcome) throws(AssetSourceError) -> Int {
    guard let lock = try DataFolderLock.forBatch(into: catalogue, until: options.stop) else { return 0 }
    defer { lock.unlock() }
    var ids: [Int64] = []
    for file in try catalogue.knownFiles(rows) {
      // The path has an upload, a file restored from the trash, or new content of the same asset.
      if isOccupied(file) { outcome.appeared.append(file.path) } else { ids.append(file.id) }
    }
    let adopted = try adoptCopies(ofMissing: ids)
    batch.progress.moved += adopted
    // Other files of the same asset that still exist stay with the asset.
    let secondaryFiles = try catalogue.secondaryFiles(ofMissing: ids).map(\.path)
    let pictures = try catalogue.pictures(beside: secondaryFiles)
    try catalogue.remove(
      ids, secondaryFiles: batch.probe.probe(all: secondaryFiles), pictures: batch.probe.probe(all: pictures))
    return ids.count - adopted
  }

  /// Keeps assets that users changed, if copies of their files are known: a program copied a folder before it removed
  /// it, or a disk is mounted under another name.
  ///
  /// - Returns: the number of rows that no longer exist.
  private func adoptCopies(ofMissing rows: [Int64]) throws(AssetSourceError) -> Int {
    let paths = try catalogue.copies(ofMissing: rows)
    if paths.isEmpty { return 0 }
    return try catalogue.adoptCopies(batch.probe.probe(all: paths), ofMissing: rows)
  }

  /// Whether the path of a row has a file, with whatever content, that the next walk finds.
  private func isOccupied(_ file: KnownFile) -> Bool {
    guard file.hasPath, let opened = try? root.open(file.path), opened.isRegularFile else { return false }
    return LibraryWalk.reaches(file.path, in: root)
  }

  private func page(from start: Int) -> [Int64] {
    Array(missing[start..<min(start + LibraryScanner.pageSize, missing.count)])
  }
}
