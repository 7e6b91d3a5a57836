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
    guard try isCopy(file, of: original) else { throw .changed }
    return file
  }

  /// Whether a file with another inode has the content that the catalogue knows. A file with the same inode and another
  /// time was written to, so it is not a copy.
  private static func isCopy(_ file: LibraryFile, of original: OriginalFile) throws(OriginalStoreError) -> Bool {
    let (found, known) = (file.identity, original.identity)
    guard let fingerprint = original.fingerprint, found.inode != known.inode, found.size == known.size,
      found.isOfSameTime(as: known)
    else { return false }
    do throws(ByteSourceError) {
      return try FileFingerprint(of: file) == fingerprint
    } catch {
      switch error {
      case .readFailed(let code): throw .failed(SystemError(code: code))
      }
    }
  }
}
