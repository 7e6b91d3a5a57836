// The originals in the library's folder: a file name from the catalogue becomes bytes, if the file is still the one
// that the catalogue knows.
//
// A file is unchanged if its inode, size and time are the same; this check reads no content. After a copy to another
// disk or a restored backup the inodes differ. Then size, time and fingerprint decide, which reads 4 KiB of each opened
// file until a scan has recorded the new inode.

import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

extension OriginalStore {
  package init(folder: LibraryFolder) {
    self.init { original throws(OriginalStoreError) in try Self.open(original, in: folder) }
  }

  private static func open(
    _ original: OriginalFile, in folder: LibraryFolder
  ) throws(OriginalStoreError) -> any ByteSource {
    let file: LibraryFile
    do throws(SystemError) {
      file = try folder.open(original.path)
    } catch {
      let isGone = [ENOENT, ENOTDIR, EXDEV, ELOOP, ENXIO].contains(error.code)
      throw isGone ? .notFound : .failed(error)
    }
    guard file.isRegularFile else { throw .notFound }
    if file.identity == original.identity { return file }
    do throws(ByteSourceError) {
      if try file.isCopy(of: original) { return file }
    } catch {
      switch error {
      case .readFailed(let code): throw .failed(SystemError(code: code))
      }
    }
    throw .changed
  }
}

extension LibraryFile {
  /// Whether the file has another inode than the one that the catalogue knows, and the same content: the library was
  /// copied, or restored from a backup. A file with the same inode and another time was written to, so it is not a
  /// copy. Reads both ends of the file if its size and time are the same.
  package func isCopy(of original: OriginalFile) throws(ByteSourceError) -> Bool {
    let known = original.identity
    guard let fingerprint = original.fingerprint, identity.inode != known.inode, identity.size == known.size,
      identity.isOfSameTime(as: known)
    else { return false }
    return try FileFingerprint(of: self) == fingerprint
  }
}
