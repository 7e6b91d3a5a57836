/// Builds boxes of ISO base media files (ISO/IEC 14496-12 §4.2).
package enum Boxes {
  /// A box with a size of 32 bits.
  package static func box(_ type: String, _ content: [UInt8]...) -> [UInt8] {
    let content = Array(content.joined())
    return number(content.count + 8, 4) + fourCC(type) + content
  }

  /// A box with a size of 64 bits.
  package static func longBox(_ type: String, _ content: [UInt8]) -> [UInt8] {
    number(1, 4) + fourCC(type) + number(content.count + 16, 8) + content
  }

  /// A box with a version and flags.
  package static func fullBox(_ type: String, version: Int = 0, flags: Int = 0, _ content: [UInt8]...) -> [UInt8] {
    box(type, number(version, 1) + number(flags, 3), Array(content.joined()))
  }

  /// A box whose type is 16 bytes.
  package static func userBox(_ type: [UInt8], _ content: [UInt8]) -> [UInt8] { box("uuid", type, content) }

  package static func number(_ value: Int, _ bytes: Int) -> [UInt8] {
    (0..<bytes).map { UInt8(truncatingIfNeeded: value >> (8 * (bytes - 1 - $0))) }
  }

  /// Four characters of Latin-1.
  package static func fourCC(_ text: String) -> [UInt8] { text.unicodeScalars.map { UInt8($0.value) } }

  package static func text(_ text: String) -> [UInt8] { Array(text.utf8) + [0] }

  package static func fileType(_ major: String, _ compatible: [String] = []) -> [UInt8] {
    box("ftyp", fourCC(major), number(0, 4), compatible.flatMap { fourCC($0) })
  }

  /// The type of a box that contains an XMP packet (XMP specification part 3 §1.2.6).
  package static let xmpType: [UInt8] = [
    0xBE, 0x7A, 0xCF, 0xCB, 0x97, 0xA9, 0x42, 0xE8, 0x9C, 0x71, 0x99, 0x94, 0x91, 0xE3, 0xAF, 0xAC,
  ]
}
