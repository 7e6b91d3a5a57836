// What is known and was not met: at the end of a scan it goes, unless something else must be wrong.

import LibraryFolder
import PhotoModel

/// Rows whose files a scan has not met, by their numbers alone: a library that is gone altogether is eight bytes a
/// file.
struct MissingFiles {
  var ids: [Int64] = []

  /// A row that was passed. In a folder that was not looked into it is kept.
  mutating func add(_ row: KnownFile, _ state: inout Batch) {
    if state.keeps(row.path) { state.progress.kept += 1 } else { ids.append(row.id) }
  }
}

extension LibraryScanner {
  /// Fewer missing files than this are believed whatever share of the library they are.
  private static let alwaysRemovable = 20

  /// Removes what is missing, or says why it does not.
  func remove(
    _ missing: [Int64], _ order: ScanOrder, _ probe: FileProbe, _ progress: inout ScanProgress
  ) throws(AssetSourceError) -> AssetLibraryError? {
    guard !missing.isEmpty else { return nil }
    // What was removed a little at a time counts as if it were missing now.
    let all = missing.count + order.removedBefore
    if all > Self.alwaysRemovable && !order.acceptsRemovals {
      let count = try catalogue.fileCount() + order.removedBefore
      if all * 100 > count * maximumRemovalPercent {
        return .tooMuchMissing(missing: all, known: count, limitPercent: maximumRemovalPercent)
      }
    }
    var removed = 0
    for start in stride(from: 0, to: missing.count, by: Self.pageSize) {
      let turn = try FilesTurn(scanningInto: catalogue)
      defer { turn.end() }
      // A row may have been given to another file since it was passed, as an upload's, or one that came from the trash.
      let ids = try catalogue.knownFiles(Array(missing[start..<min(start + Self.pageSize, missing.count)]))
        .filter { !isInItsPlace($0, probe.root) }.map(\.id)
      removed += ids.count
      // What went with them and is still there stays their asset's.
      let companions = try catalogue.companions(ofMissing: ids).map {
        WalkedFile(path: $0.path, identity: $0.identity, changed: $0.identity.modified)
      }
      try catalogue.remove(ids, companions: probe.probe(companions))
    }
    progress.removed = removed
    return nil
  }

  private func isInItsPlace(_ file: KnownFile, _ root: LibraryFolder) -> Bool {
    file.path.first != 0 && (try? root.open(file.path).identity) == file.identity
  }
}
