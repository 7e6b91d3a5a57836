// Finds missing files that moved during the walk to a folder that it had already passed. Inotify reports this only if
// every folder is watched, so a full scan checks it before it removes anything: it lists all folders again and examines
// the files in folders that changed since the walk listed them, including their subfolders, because a whole folder may
// have moved. If nothing is missing, this costs only the times of the folders.
//
// A folder counts as changed if its time differs from the one at the listing. Both times are of one clock, so this
// works on a file server whose clock is wrong, too. A file system that rounds times may give both the same time:
// therefore a folder also counts as changed if its time is not before the scan, by this machine's clock.

import LibraryCatalogue
import LibraryFolder
import PhotoModel

extension LibraryMerge {
  /// In nanoseconds: some file systems round times to two seconds.
  private static let timeTolerance: Int64 = 2_000_000_000

  /// Keeps the rows of missing files that moved during the walk, and schedules their new paths. If a new path was
  /// another file's, that file has moved too, and only a second walk finds it; after the second walk, the next scan
  /// does.
  mutating func keepMovedDuringWalk(_ outcome: inout ScanOutcome) throws(AssetSourceError) {
    guard isFullScan, !missing.isEmpty else { return }
    let wanted = Set(missing)
    var moved: Set<Int64> = []
    var folders: [(path: [UInt8], depth: Int, isRecent: Bool)] = [([], 0, false)]
    while let next = folders.popLast(), !options.stop.isRaised {
      guard !batch.skippedFolders.contains(next.path), let folder = try? root.open(next.path, isFolder: true),
        var names = try? FolderNames(notFollowingLinksOf: folder)
      else { continue }
      let time = max(folder.changeTimeNanoseconds, folder.identity.modified)
      let isRecent =
        next.isRecent || walk.listedFolders.hasChanged(next.path, folder) ?? false
        || time >= start - Self.timeTolerance
      while let entry = names.next() {
        let path = LibraryPath.join(next.path, entry.name)
        if entry.isFolder {
          if next.depth + 1 < LibraryWalk.maximumDepth { folders.append((path, next.depth + 1, isRecent)) }
          continue
        }
        guard isRecent, let file = try? folder.entry(entry.name), file.kind == .file else { continue }
        let movedRows = try rows(movedTo: path, file.identity, among: wanted)
        if movedRows.isEmpty { continue }
        moved.formUnion(movedRows)
        if try scanner.catalogue.knownFile(at: path) == nil {
          outcome.appeared.append(path)
        } else if !options.isSecondWalk {
          // The file that had this path is elsewhere by now, for example after a swap of names.
          outcome.fullScanDelayNanoseconds = 0
        }
      }
    }
    missing.removeAll { moved.contains($0) }
  }

  /// The missing rows that a file at another path belongs to.
  private func rows(
    movedTo path: [UInt8], _ identity: FileIdentity, among wanted: Set<Int64>
  ) throws(AssetSourceError) -> [Int64] {
    let known = try scanner.catalogue.knownFiles(like: identity)
    // The missing path was another name of this file, such as one below a link to its folder.
    if known.contains(where: { $0.path == path }) { return [] }
    var rows: [Int64] = []
    for row in known where wanted.contains(row.id) {
      if try batch.isGone(row, row.path, to: path) { rows.append(row.id) }
    }
    return rows
  }
}
