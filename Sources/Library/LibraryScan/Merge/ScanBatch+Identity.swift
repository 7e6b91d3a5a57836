// Which known file a found one is. Inodes alone don't say so: a copied library has other ones, a file system gives those
// of deleted files to new ones, and links share one. So:
//
// 1. The file has the identity (inode, size, time) of its path's row: that one, without a look at its content.
// 2. Only the inode differs, and the content is the row's: that one. The library was copied to another disk.
// 3. It has the identity and the content of files that left their paths: the one with the most similar path. It was
//    renamed.
// 4. Its path has a row: that one. It was edited.
// 5. It has the content and the metadata of files that left their paths, and the name or the time: the one with the most
//    similar path. It was moved to another disk.
// 6. Otherwise it is a new file.
//
// Content means the fingerprint, which is 4 KiB of the file. It is read only if another row has the identity.

import LibraryCatalogue
import LibraryFolder
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

extension ScanBatch {
  /// The known files that a file may have been before it was renamed to its path, the most similar path first. Their
  /// former paths may still have a file.
  ///
  /// - Parameter known: the row of its path.
  func formerFiles(of file: WalkedFile, known: KnownFile?) throws(AssetSourceError) -> [KnownFile] {
    let sameFiles = try catalogue.knownFiles(like: file.identity, upTo: lastID)
    let candidates = sameFiles.filter { $0.id != known?.id }
    if candidates.isEmpty { return [] }
    let fingerprint = fingerprint(of: file)
    if let known, known.identity.isSameExceptInode(file.identity), try hasContent(known, fingerprint) { return [] }
    var alike: [(row: KnownFile, likeness: PathLikeness)] = []
    for candidate in candidates {
      guard try hasContent(candidate, fingerprint) else { continue }
      alike.append((row: candidate, likeness: PathLikeness(candidate.lastPath, file.path)))
    }
    alike.sort { one, other in
      one.likeness == other.likeness ? one.row.id < other.row.id : one.likeness > other.likeness
    }
    return alike.map { $0.row }
  }

  /// Whether a known file has left its path: no file has the path, or it belongs to another known file now, as when
  /// names are swapped or renumbered. New content at the same path is an edit of the same asset.
  ///
  /// - Parameters:
  ///   - path: its last known path.
  ///   - found: the path of the file that it may be now.
  func isGone(_ file: KnownFile, _ path: [UInt8], to found: [UInt8]) throws(AssetSourceError) -> Bool {
    if VacantPath.isVacant(path) { return true }
    if isInSkippedFolder(path) { return false }
    let now: LibraryFile
    do throws(SystemError) {
      now = try root.open(path)
    } catch {
      // Nothing is there, or a link that leads out of the library, or a socket. Any other error does not prove that the
      // file is gone.
      return [ENOENT, ENOTDIR, EXDEV, ELOOP, ENXIO].contains(error.code)
    }
    // A folder or a pipe has the name now.
    guard now.isRegularFile else { return true }
    // Where case is ignored, `open` may have found the new file under its old name.
    if NameSpellings.areSpellings(path, found), !LibraryWalk.reaches(path, in: root) { return true }
    if now.identity == file.identity { return false }
    let sameFiles = try catalogue.knownFiles(like: now.identity)
    guard sameFiles.contains(where: { $0.id != file.id }) else { return false }
    // In a copied library the inode may be that of any other file.
    guard now.identity.isSameExceptInode(file.identity) else { return true }
    let fingerprint = try? FileFingerprint(of: now)
    return try !hasContent(file, fingerprint)
  }

  /// Whether a known file may have this content. A file that can't be read, and one that is no picture or video, have
  /// no fingerprint: their inodes decide.
  private func hasContent(_ file: KnownFile, _ fingerprint: FileFingerprint?) throws(AssetSourceError) -> Bool {
    guard let fingerprint, let known = try catalogue.fingerprint(of: file) else { return true }
    return fingerprint == known
  }

  /// `nil` if the file can't be read, or is no longer the one that the walk found.
  private func fingerprint(of file: WalkedFile) -> FileFingerprint? {
    guard let opened = try? root.open(file.path), opened.isRegularFile, opened.identity == file.identity else {
      return nil
    }
    return try? FileFingerprint(of: opened)
  }
}

extension FileIdentity {
  /// Whether two identities have the same size and time, as those of a file and of its copy on another disk.
  fileprivate func isSameExceptInode(_ other: FileIdentity) -> Bool {
    size == other.size && modified == other.modified
  }
}
