import LibraryCatalogue
import LibraryFolder
import PhotoModel

extension LibraryMerge {
  /// Holds back a new or changed file that may still be written, and returns whether it did.
  mutating func deferIfUnsettled(_ file: WalkedFile, known: KnownFile?) throws(AssetSourceError) -> Bool {
    let now = scanner.environment.now()
    guard let closed = options.closedFiles else { return unsettled.deferIfUnsettled(file, known: known, now: now) }
    // A known file under a new name was complete before the rename.
    if try !scanner.catalogue.knownFiles(like: file.identity).isEmpty { return false }
    return unsettled.deferIfUnsettled(file, known: known, now: now, isClosed: closed.contains(file.path), in: root)
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
      if again.identity == file.identity && again.changed == file.changed {
        try batch.add(file, known: known)
        try batch.flushIfFull()
      } else {
        unsettled.recordDeferred(again.identity, known)
      }
    }
    try batch.flush()
  }
}
