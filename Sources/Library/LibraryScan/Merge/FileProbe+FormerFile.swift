// Finds the row of a file that was renamed since the last scan, for change lists that name the new path before a scan
// does. It decides as a scan would.

import LibraryCatalogue
import LibraryFolder
import Logging
import PhotoModel

extension FileProbe {
  /// The known file that was renamed to a probed file. `nil` if the new path has a row: only a scan of both paths could
  /// decide which of the two assets gets that path, so the change list stores the file as an edit of that row's asset.
  package func formerFile(
    of file: ProbedFile, in catalogue: Catalogue, logger: Logger
  ) throws(AssetSourceError) -> KnownFile? {
    if try catalogue.knownFile(at: file.path) != nil { return nil }
    var batch = ScanBatch(
      probe: self, catalogue: catalogue, reprobesAll: false, writtenFiles: [], lastID: .max, stop: StopFlag(),
      logger: logger)
    let found = WalkedFile(
      path: file.path, identity: file.identity, changeTimeNanoseconds: file.changeTimeNanoseconds)
    let candidates = try batch.formerFiles(of: found, known: nil)
    if candidates.isEmpty { return nil }
    // The files of a missing disk have not left their paths.
    let mounts = try MountCheck(catalogue: catalogue, root: root, environment: .system)
    batch.skippedFolders = try mounts.missingMounts().map(\.path)
    for candidate in candidates {
      if try batch.isGone(candidate, candidate.path, to: file.path), try !batch.isBackup(file.path, of: candidate) {
        return candidate
      }
    }
    return nil
  }
}
