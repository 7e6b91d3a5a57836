// Compares the trash with its records. The record of an asset is committed before its files move to the trash, and is
// deleted after they have left it. So each check looks at one side again after the other, and reports no change that is
// in progress.

import LibraryCatalogue
import LibraryFolder
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

extension CatalogueCheck {
  func compareTrash(_ root: LibraryFolder, _ report: (CheckDifference) -> Void) throws {
    let disks = try MountCheck(catalogue: catalogue, root: root, environment: environment)
    for top in Set(disks.recorded.map(\.path) + [[]]) {
      try reportUnknown(below: LibraryPath.join(top, TrashWalk.name), root, report)
    }
    var last: Int64 = 0
    while true {
      let records = try catalogue.trashRecords(deletedBefore: .max, after: last, limit: Self.pageSize)
      guard let end = records.last else { return }
      last = end.id
      for record in records { try reportMissing(record, disks, root, report) }
    }
  }

  /// Reports the files of one trash that are in no record, also those beside the folders of assets and in folders
  /// inside them: photod ignores these.
  private func reportUnknown(below trash: [UInt8], _ root: LibraryFolder, _ report: (CheckDifference) -> Void) throws {
    let walk = TrashWalk(root: root)
    var folders = [trash]
    while let folder = folders.popLast() {
      let contents: (files: [[UInt8]], folders: [[UInt8]])
      do throws(SystemError) {
        contents = try walk.contents(of: folder)
      } catch {
        report(.unreadableFolder(path: folder, reason: error.description))
        continue
      }
      folders += contents.folders
      for path in contents.files {
        let isKnown = try catalogue.isInTrash(path)
        if !isKnown && isPresent(path, root) { report(.trashFileWithoutRecord(path: path)) }
      }
    }
  }

  private func reportMissing(
    _ record: TrashRecord, _ disks: MountCheck, _ root: LibraryFolder, _ report: (CheckDifference) -> Void
  ) throws(AssetSourceError) {
    for file in record.files where !isPresent(file.trashPath, root) {
      guard try disks.isMounted(at: file.trashPath) else { continue }
      guard let record = try catalogue.trashRecord(record.id), record.state == .trashed, record.files.contains(file)
      else { continue }
      report(.trashFileMissing(path: file.trashPath))
    }
  }

  /// True also if this can't be determined, as in a folder that can't be opened, which `reportUnknown` reports.
  private func isPresent(_ path: [UInt8], _ root: LibraryFolder) -> Bool {
    do throws(SystemError) {
      _ = try root.open(LibraryPath.folder(of: path), isFolder: true).entry(LibraryPath.name(of: path))
      return true
    } catch {
      return error.code != ENOENT && error.code != ENOTDIR
    }
  }
}
