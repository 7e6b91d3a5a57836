// Decides which known file a found file is. The inode is not enough: a copied library has other inodes, file systems
// reuse the inodes of deleted files, and links share one. The first rule that applies:
//
// 1. The file has the identity (inode, size, time) of its path's row: it is that file; its content is not read.
// 2. The file has the size, time and content of its path's row: it is that file. The library was copied to another
//    disk, or an equal file has taken the path.
// 3. The file has the identity and content of files that left their paths: it is the most probable of them
//    (`FormerFile`), and was renamed. If a copy has taken the path of the row with this identity, the file gets the row
//    of the copy.
// 4. Its path has a row: it is that file, and was edited. But a file with the identity and content of a missing asset,
//    whose identity no row has, brings that asset back, and the row loses its path (`AssetWriter.missingAsset`).
// 5. The file has the content and metadata, and the name or the time, of files that left their paths: it is the most
//    probable of them, and was moved to another disk.
// 6. Otherwise it is a new file.
//
// A walk may find a copy of a file before the renamed file itself. So rule 5 is applied at the end of the walk, and not
// to rows of files that were renamed to paths that are held back or not scanned yet.
//
// Content means the fingerprint, which is 4 KiB of the file. It is read only if another row has the identity. Sidecars
// have no fingerprint: only their inodes are compared, and a sidecar that was moved is read again.

import LibraryCatalogue
import LibraryFolder
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

extension ScanBatch {
  /// Maximum number of rows of one file, stored by this scan, that are compared.
  private static let maximumNewLinks = 8

  /// The known files that a file may have been before it was renamed to its path, the most probable one first. Their
  /// former paths may still have a file.
  ///
  /// - Parameter known: the row of its path.
  func formerFiles(of file: WalkedFile, known: KnownFile?) throws(AssetSourceError) -> [KnownFile] {
    var sameFiles = try catalogue.knownFiles(like: file.identity, upTo: lastID)
    if storedInodes.mayContain(file.identity.inode) {
      // A file that was renamed during the scan may already be stored under its former path.
      sameFiles += try catalogue.knownFiles(like: file.identity, after: lastID, limit: Self.maximumNewLinks)
    }
    let candidates = sameFiles.filter { $0.id != known?.id && !isFurtherLink($0, at: file.path) }
    if candidates.isEmpty { return [] }
    let fingerprint = fingerprint(of: file)
    if let known, known.identity.isSameExceptInode(file.identity), try hasContent(known, fingerprint) { return [] }
    var alike: [KnownFile] = []
    for candidate in candidates where try hasContent(candidate, fingerprint) { alike.append(candidate) }
    if alike.isEmpty { return [] }
    let ids = Set(sameFiles.map(\.id))
    var copies: [KnownFile] = []
    if let fingerprint {
      copies = try catalogue.knownFiles(like: file.identity, with: fingerprint).filter {
        !ids.contains($0.id) && $0.id != known?.id && $0.id <= lastID
      }
    }
    return try mostProbableFirst(alike, of: file.path) + mostProbableFirst(copies, of: file.path)
  }

  private func mostProbableFirst(_ rows: [KnownFile], of path: [UInt8]) throws(AssetSourceError) -> [KnownFile] {
    if rows.count < 2 { return rows }
    var former: [FormerFile] = []
    for row in rows { former.append(try formerFile(row, of: path)) }
    former.sort { $0.precedes($1) }
    return former.map { $0.row }
  }

  /// Whether this scan has stored a row for another link to the file, which is still there. `isGone` would find the
  /// same, but more slowly, and libraries of snapshots have many links.
  private func isFurtherLink(_ row: KnownFile, at path: [UInt8]) -> Bool {
    guard row.id > lastID, let now = try? root.open(row.path) else { return false }
    return now.identity == row.identity && !NameSpellings.areSpellings(row.path, path)
  }

  /// A known file that a found one may have been.
  ///
  /// - Parameter path: the path of the found file.
  func formerFile(_ row: KnownFile, of path: [UInt8]) throws(AssetSourceError) -> FormerFile {
    let hasUserValues = try catalogue.hasUserValues(row)
    // A link to the moved file may be found before the file itself.
    let isPreferred = hasUserValues != isLinked(path)
    return FormerFile(
      row: row, isLinked: isLinked(row.lastPath), likeness: PathLikeness(row.lastPath, path), isPreferred: isPreferred)
  }

  /// Whether a path leads through a symbolic link, also if the link leads nowhere.
  private func isLinked(_ path: [UInt8]) -> Bool {
    guard !VacantPath.isVacant(path), let top = try? root.open([], isFolder: true) else { return false }
    var place: [UInt8] = []
    for component in path.split(separator: UInt8(ascii: "/")) {
      place = LibraryPath.join(place, Array(component))
      guard let entry = try? top.entry(place) else { return false }
      if entry.kind == .link { return true }
    }
    return false
  }

  /// Whether a known file has left its path: no file has the path, or it belongs to another known file now, as when
  /// names are swapped or renumbered, or to a missing asset, which comes back. New content at the same path is an edit
  /// of the same asset.
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
    if !sameFiles.contains(where: { $0.id != file.id }) {
      guard try isOfMissingAsset(now) else { return false }
    }
    // In a copied library the inode may be that of any other file.
    guard now.identity.isSameExceptInode(file.identity) else { return true }
    let fingerprint = try? FileFingerprint(of: now)
    return try !hasContent(file, fingerprint)
  }

  /// Whether a file belongs to a missing asset.
  func isOfMissingAsset(_ file: LibraryFile) throws(AssetSourceError) -> Bool {
    guard let fingerprint = try? FileFingerprint(of: file) else { return false }
    return try catalogue.isOfMissingAsset(file.identity, fingerprint)
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

/// A known file that a found one may have been, and what decides between several of them.
struct FormerFile {
  let row: KnownFile
  /// Its last path leads through a symbolic link. Such a row comes last: probably the link's target was renamed, not
  /// the link.
  let isLinked: Bool
  let likeness: PathLikeness
  /// Decides between rows with equally similar paths: for a file, one whose asset users changed; for a path through a
  /// link, one whose asset they did not.
  let isPreferred: Bool

  /// Whether it is more probable than another one.
  func precedes(_ other: FormerFile) -> Bool {
    if isLinked != other.isLinked { return other.isLinked }
    if likeness != other.likeness { return likeness > other.likeness }
    if isPreferred != other.isPreferred { return isPreferred }
    return row.id < other.row.id
  }
}

extension FileIdentity {
  /// Whether two identities have the same size and time, as those of a file and of its copy on another disk.
  fileprivate func isSameExceptInode(_ other: FileIdentity) -> Bool {
    size == other.size && modified == other.modified
  }
}
