import DurableFiles
import GRDB
import LibraryFolder
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

extension StorageFault {
  /// The storage fault that an SQLite error reports; `nil` if the error is not about storage
  /// (https://www.sqlite.org/rescode.html).
  init?(_ error: any Error) {
    if error is CatalogueFile.ReplacedError {
      self = .replaced
      return
    }
    guard let error = error as? DatabaseError else { return nil }
    switch error.resultCode {
    case .SQLITE_FULL: self = .full
    case .SQLITE_READONLY, .SQLITE_PERM: self = .readOnly
    case .SQLITE_IOERR: self = .failing
    // SQLite does not report the `errno` of the call.
    case .SQLITE_CANTOPEN: self = FileDescriptors.areExhausted ? .outOfDescriptors : .unopenable
    case .SQLITE_BUSY: self = .busy
    case .SQLITE_CORRUPT, .SQLITE_NOTADB: self = .damaged
    default: return nil
    }
  }
}

extension LibraryError {
  /// The error for an unusable data folder, by the `errno` of the failed system call.
  static func unusable(_ dataFolder: String, _ error: SystemError) -> LibraryError {
    switch error.code {
    case ENOSPC, EDQUOT: .storageFailed(dataFolder: dataFolder, .full, "\(error)")
    case EROFS: .storageFailed(dataFolder: dataFolder, .readOnly, "\(error)")
    case EIO: .storageFailed(dataFolder: dataFolder, .failing, "\(error)")
    default: .dataFolderUnusable(path: dataFolder, error)
    }
  }
}
