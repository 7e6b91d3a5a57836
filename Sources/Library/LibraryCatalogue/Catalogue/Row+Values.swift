import Foundation
import GRDB
import PhotoModel

// GRDB's `row[i]` ends the process at a NULL where the value's type is not optional. Tables declare such columns NOT
// NULL, so only a damaged page has one that SQLite does not report. No single place can throw instead: GRDB has no hook
// between a statement and its rows, a subscript that throws needs `try` at each of the reads, and a default in place of
// a lost row number or path could be written back as if it were true. Where a read is worth it,
// `try row.decode(atIndex:)` throws and costs the same.

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
