// Compares the trash with its records. The record of an asset is committed before its files move to the trash, and is
// deleted after they have left it. So a second look at one of them, after the other, excludes changes that are under
// way.

import LibraryCatalogue
import LibraryFolder
import PhotoModel

extension CatalogueCheck {
  func compareTrash(_ root: LibraryFolder, _ report: (CheckDifference) -> Void) throws {
    let disks = try MountCheck(catalogue: catalogue, root: root, environment: environment)
    let walk = TrashWalk(root: root)
    for top in Set(disks.recorded.map(\.path) + [[]]) {
      let (paths, failure) = files(below: top, walk)
      if let failure {
        report(.unreadableFolder(path: LibraryPath.join(top, TrashWalk.name), reason: failure.description))
      }
      for path in paths {
        let isKnown = try catalogue.isInTrash(path)
        if !isKnown && isPresent(path, root) { report(.trashFileWithoutRecord(path: path)) }
      }
    }
    var last: Int64 = 0
    while true {
      let records = try catalogue.trashRecords(deletedBefore: .max, after: last, limit: Self.pageSize)
      guard let end = records.last else { return }
      last = end.id
      for record in records { try reportMissing(record, disks, root, report) }
    }
  }

  /// The paths of the files in the trash of one file system.
  private func files(below top: [UInt8], _ walk: TrashWalk) -> (paths: [[UInt8]], failure: SystemError?) {
    var paths: [[UInt8]] = []
    do throws(SystemError) {
      for folder in try walk.folders(below: top) { paths += try walk.files(in: folder) }
      return (paths, nil)
    } catch {
      return (paths, error)
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

  private func isPresent(_ path: [UInt8], _ root: LibraryFolder) -> Bool {
    do throws(SystemError) {
      _ = try root.open(LibraryPath.folder(of: path), isFolder: true).entry(LibraryPath.name(of: path))
      return true
    } catch {
      return false
    }
  }
}
