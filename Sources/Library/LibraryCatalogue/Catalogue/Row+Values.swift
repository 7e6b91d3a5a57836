import Foundation
import GRDB
import PhotoModel

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
