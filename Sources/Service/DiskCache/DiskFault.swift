import GRDB

#if canImport(Glibc)
  import Glibc
#endif

/// Why the store can't write. Appears only in the log.
enum DiskFault: Error, CustomStringConvertible {
  /// A system call failed.
  case systemCallFailed(DiskStep, code: Int32)
  case nearlyFull(freeBytes: Int64, minimumBytes: Int64)
  /// The folder can't be created or locked.
  case folderUnusable(code: Int32)
  /// Another store uses the folder.
  case folderInUse
  /// SQLite could not read or write the index.
  case indexFailed(String)
  /// The index contains impossible values.
  case indexDamaged(String)

  init(_ error: any Error) {
    switch error {
    case let fault as DiskFault: self = fault
    case let error as DatabaseError:
      switch error.resultCode {
      // The file is not a database, or lacks the tables, or has invalid values in them.
      case .SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_ERROR, .SQLITE_SCHEMA, .SQLITE_CONSTRAINT, .SQLITE_MISMATCH:
        self = .indexDamaged("\(error)")
      default: self = .indexFailed("\(error)")
      }
    default: self = .indexFailed("\(error)")
    }
  }

  var description: String {
    switch self {
    case .systemCallFailed(let step, let code): "\(step.rawValue): \(Self.text(code))"
    case .nearlyFull(let free, let minimum): "only \(free) bytes are free on the disk; \(minimum) must stay free"
    case .folderUnusable(let code): "the folder can't be used: \(Self.text(code))"
    case .folderInUse: "another process uses the folder"
    case .indexFailed(let reason): "the index failed: \(reason)"
    case .indexDamaged(let reason): "the index is damaged: \(reason)"
    }
  }

  private static func text(_ code: Int32) -> String { String(cString: strerror(code)) }
}
