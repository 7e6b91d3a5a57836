import CZlib

/// The CRC-32 of APPNOTE §4.4.7, computed piece by piece.
package struct CRC32: Sendable, Hashable {
  /// The CRC of the bytes so far.
  package private(set) var value: UInt32 = 0

  package init() {}

  package init(_ bytes: [UInt8]) { update(bytes) }

  package mutating func update(_ bytes: [UInt8]) {
    value = bytes.withUnsafeBufferPointer { UInt32(crc32_z(UInt(value), $0.baseAddress, $0.count)) }
  }
}
