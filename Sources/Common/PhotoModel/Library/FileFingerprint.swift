/// A digest of the size and both ends of a file: 128 bits that recognise a file whose inode has changed.
///
/// A hint, not a proof: the middle of the file is not included. `LibraryFolder` reads it from a file.
package struct FileFingerprint: Sendable, Hashable {
  package static let byteCount = 16

  private let first: UInt64
  private let second: UInt64

  /// - Parameter bytes: `byteCount` of them; `nil` for any other number.
  package init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count == Self.byteCount else { return nil }
    first = bytes.loadUnaligned(as: UInt64.self)
    second = bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
  }

  package var bytes: [UInt8] {
    withUnsafeBytes(of: first) { Array($0) } + withUnsafeBytes(of: second) { Array($0) }
  }
}
