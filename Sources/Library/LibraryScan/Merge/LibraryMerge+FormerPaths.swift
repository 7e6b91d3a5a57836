// Missing files whose path another file has taken. Most often a program has saved one: it wrote a temporary file, which
// a scan indexed, and gave it the name of the original. See `Catalogue.restorePaths` for which asset the path goes to.
//
// This is decided at the end of a walk. Until then the missing file may be found under another name, as when files swap
// names or are renumbered.

import LibraryCatalogue
import LibraryFolder
import Logging
import PhotoModel

extension LibraryMerge {
  /// Gives missing files their former paths back where `Catalogue.restorePaths` decides so.
  mutating func restoreFormerPaths(_ outcome: inout ScanOutcome) throws(AssetSourceError) {
    guard !missing.isEmpty else { return }
    let displaced = try scanner.catalogue.filesWithoutPath()
    // In a skipped folder or on a missing disk, it is unknown which file has the path now.
    let uncheckable = Set(
      displaced.filter { file in
        file.formerPath.map { batch.isInSkippedFolder($0) || isOnMissingDisk($0) } ?? false
      }.map(\.id))
    let count = missing.count
    missing.removeAll { uncheckable.contains($0) }
    batch.progress.kept += count - missing.count
    let ids = Set(displaced.map(\.id))
    let wanted = Set(missing.filter { ids.contains($0) })
    let files = displaced.filter { wanted.contains($0.id) }
    for start in stride(from: 0, to: files.count, by: LibraryScanner.pageSize) {
      try restoreFormerPaths(of: files[start..<min(start + LibraryScanner.pageSize, files.count)], &outcome)
    }
  }

  private mutating func restoreFormerPaths(
    of files: ArraySlice<KnownFile>, _ outcome: inout ScanOutcome
  ) throws(AssetSourceError) {
    let catalogue = scanner.catalogue
    guard let lock = try DataFolderLock.forBatch(into: catalogue, until: options.stop) else { return }
    defer { lock.unlock() }
    var rows: [Int64] = []
    var paths: [[UInt8]] = []
    var takers: [Int64] = []
    for file in files {
      guard let path = file.formerPath, (try? root.open(path))?.isRegularFile == true else { continue }
      rows.append(file.id)
      paths.append(path)
      if let taker = try catalogue.knownFile(at: path) { takers.append(taker.id) }
    }
    if rows.isEmpty { return }
    // Other files of an asset that loses the path stay with it.
    let secondaryFiles = try catalogue.secondaryFiles(ofMissing: takers).map(\.path)
    let found = batch.probe.probe(all: paths)
    let restored = try catalogue.restorePaths(
      zip(rows, found).map { (row: $0, found: $1) }, secondaryFiles: batch.probe.probe(all: secondaryFiles))
    batch.progress.probed += restored.rows.count
    missing.removeAll { restored.rows.contains($0) }
    outcome.followUps += try catalogue.knownFiles(restored.cleared).map {
      Recheck(path: $0.path, delayNanoseconds: 0)
    }
    for asset in restored.joined {
      scanner.logger.warning(
        "two changed assets became one",
        metadata: [
          "path": "\(LibraryPath.display(asset.path))", "asset": "\(asset.kept)", "removed": "\(asset.removed)",
        ])
    }
  }
}
