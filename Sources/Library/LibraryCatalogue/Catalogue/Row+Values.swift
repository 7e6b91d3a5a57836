import Foundation
import GRDB
import PhotoModel

// GRDB's `row[i]` traps at a NULL if the value's type is not optional. Tables declare such columns NOT NULL, so only a
// damaged page that SQLite does not detect can contain one. That can't be made to throw in one place: GRDB has no hook
// between a statement and its rows, a throwing subscript needs `try` at each read, and a default instead of a lost row
// number or path could be written back. Where it matters, `try row.decode(atIndex:)` throws and costs the same.

/// Values of files in the columns of a row.
extension Row {
  /// The bytes of a column; none if it is NULL.
  func bytes(_ index: Int) throws -> [UInt8] {
    try withUnsafeData(atIndex: index) { $0.map { [UInt8]($0) } ?? [] }
  }

  /// Three columns from an index on: inode, size and modification time.
  func identity(from index: Int) -> FileIdentity {
    FileIdentity(inode: UInt64(bitPattern: self[index] as Int64), size: self[index + 1], modified: self[index + 2])
  }

  /// `nil` if the column is NULL.
  func fingerprint(_ index: Int) throws -> FileFingerprint? {
    try withUnsafeData(atIndex: index) { data in
      data.flatMap { $0.withUnsafeBytes { FileFingerprint($0) } }
    }
  }
}
