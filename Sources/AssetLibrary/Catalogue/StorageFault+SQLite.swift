import GRDB
import PhotoModel

extension StorageFault {
  /// What SQLite's word for a failure means, where it is about the disk (https://www.sqlite.org/rescode.html).
  init?(_ error: any Error) {
    guard let error = error as? DatabaseError else { return nil }
    switch error.resultCode {
    case .SQLITE_FULL: self = .full
    case .SQLITE_READONLY, .SQLITE_PERM: self = .readOnly
    case .SQLITE_IOERR: self = .failing
    case .SQLITE_CANTOPEN: self = .unopenable
    case .SQLITE_CORRUPT, .SQLITE_NOTADB: self = .damaged
    default: return nil
    }
  }
}
