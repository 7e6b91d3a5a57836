/// The type of a box, a brand or a handler: four bytes that are mostly letters.
struct FourCC: Hashable, ExpressibleByStringLiteral, CustomStringConvertible {
  let rawValue: UInt32

  init(_ bytes: ArraySlice<UInt8>) {
    rawValue = bytes.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
  }

  /// Four characters of Latin-1, such as QuickTime's `©xyz`.
  init(stringLiteral text: StaticString) {
    rawValue = String(describing: text).unicodeScalars.reduce(0) { $0 << 8 | ($1.value & 0xFF) }
  }

  /// For messages: a question mark replaces every byte that is not a letter.
  var description: String {
    String(
      (0..<4).map { i in
        let byte = UInt8(truncatingIfNeeded: rawValue >> (24 - 8 * i))
        return (0x20...0x7E).contains(byte) ? Character(UnicodeScalar(byte)) : "?"
      })
  }
}
