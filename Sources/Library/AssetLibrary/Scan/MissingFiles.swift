// Rows whose files a scan did not find. They are removed at the end of the scan, unless the number of missing files
// suggests another problem.

import LibraryFolder
import PhotoModel

/// The identifiers of rows whose files a scan did not find. Only the identifiers are kept: eight bytes a file, even if
/// the whole library is missing.
struct MissingFiles {
  var ids: [Int64] = []

  /// Adds a row without a file. Rows in skipped folders are kept.
  mutating func add(_ row: KnownFile, _ state: inout ScanBatch) {
    if state.isInSkippedFolder(row.path) { state.progress.kept += 1 } else { ids.append(row.id) }
  }
}

extension LibraryScanner {
  /// Up to this number of missing files is removed regardless of their share of the library.
  private static let alwaysAllowedRemovals = 20

  /// Removes missing files, or returns why it refuses.
  func remove(
    _ missing: [Int64], _ options: ScanOptions, _ probe: FileProbe, _ progress: inout ScanProgress
  ) throws(AssetSourceError) -> AssetLibraryError? {
    guard !missing.isEmpty else { return nil }
    // Recent removals count as missing now, so that many small scans can't bypass the limit.
    let all = missing.count + options.recentRemovals
    if all > Self.alwaysAllowedRemovals && !options.acceptsRemovals {
      let count = try catalogue.fileCount() + options.recentRemovals
      if all * 100 > count * maximumRemovalPercent {
        return .tooMuchMissing(missing: all, known: count, limitPercent: maximumRemovalPercent)
      }
    }
    var removed = 0
    for start in stride(from: 0, to: missing.count, by: Self.pageSize) {
      let lock = try LibraryFilesLock(forScanInto: catalogue)
      defer { lock.unlock() }
      // A row may belong to another file by now, for example to an upload or to a file restored from the trash.
      let ids = try catalogue.knownFiles(Array(missing[start..<min(start + Self.pageSize, missing.count)]))
        .filter { !isStillPresent($0, probe.root) }.map(\.id)
      removed += ids.count
      // Other files of the same asset that still exist stay with the asset.
      let secondaryFiles = try catalogue.secondaryFiles(ofMissing: ids).map {
        WalkedFile(path: $0.path, identity: $0.identity, changed: $0.identity.modified)
      }
      try catalogue.remove(ids, secondaryFiles: probe.probe(secondaryFiles))
    }
    progress.removed = removed
    return nil
  }

  private func isStillPresent(_ file: KnownFile, _ root: LibraryFolder) -> Bool {
    file.path.first != 0 && (try? root.open(file.path).identity) == file.identity
  }
}
