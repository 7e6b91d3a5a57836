import LibraryCatalogue
import LibraryFolder
import PhotoModel

extension LibraryMerge {
  /// A known file gets its new name this long after it was renamed. Programs that save a file and keep a backup rename
  /// the old content, and write or rename the new content to the old name a moment later. The asset then has the new
  /// content.
  static let renamePauseNanoseconds: Int64 = 500_000_000

  /// Holds back a new or changed file that may still be written, and returns whether it did.
  mutating func deferIfUnsettled(_ file: WalkedFile, known: KnownFile?) throws(AssetSourceError) -> Bool {
    let now = scanner.environment.now()
    guard let closed = options.closedFiles else { return unsettled.deferIfUnsettled(file, known: known, now: now) }
    let isClosed = closed.contains(file.path)
    let sameFiles = try scanner.catalogue.knownFiles(like: file.identity)
    if sameFiles.isEmpty {
      return unsettled.deferIfUnsettled(file, known: known, now: now, isClosed: isClosed, in: root)
    }
    // A known file under a new name was complete before the rename. A file in a renamed folder has no event of its own.
    guard isClosed, !options.awaitedRenames.contains(file.path) else { return false }
    return try deferRename(of: file, known: known, sameFiles)
  }

  /// Holds back a known file that has left its former path, and returns whether it did.
  private mutating func deferRename(
    of file: WalkedFile, known: KnownFile?, _ sameFiles: [KnownFile]
  ) throws(AssetSourceError) -> Bool {
    var isDeferred = false
    for row in sameFiles where row.id != known?.id && row.hasPath {
      guard try batch.isGone(row, row.path, to: file.path) else { continue }
      batch.renamedRows.insert(row.id)
      isDeferred = true
    }
    if isDeferred { renamedPaths.append(file.path) }
    return isDeferred
  }

  /// Rechecks the deferred files, or leaves that to the caller.
  mutating func settle() throws(AssetSourceError) {
    if options.returnsRechecks {
      unsettled.rescheduleAll(now: scanner.environment.now())
    } else {
      try retryUnsettled()
    }
    batch.progress.unsettled = unsettled.deferredCount
  }

  /// Waits until the deferred files should have settled, and indexes those that did not change.
  private mutating func retryUnsettled() throws(AssetSourceError) {
    guard !unsettled.waiting.isEmpty else { return }
    let now = scanner.environment.now()
    scanner.environment.wait(unsettled.settledAt(now: now) - now, options.stop)
    for (file, known) in unsettled.waiting {
      if options.stop.isRaised { return }
      let again: LibraryFile
      do throws(SystemError) {
        again = try root.open(file.path)
      } catch {
        // Removed again, like a temporary file, or not readable: the next scan checks the path.
        unsettled.recordDeferred(file.identity, known)
        continue
      }
      if again.identity == file.identity && again.changeTimeNanoseconds == file.changeTimeNanoseconds {
        try batch.add(file, known: known)
        try batch.flushIfFull()
      } else {
        unsettled.recordDeferred(again.identity, known)
      }
    }
    try batch.flush()
  }
}
