/// base64url without padding (RFC 4648 §5): the text form of identifiers, secrets, signatures, tokens and cursors.
package enum Base64URL {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

  /// Encodes bytes, six bits per letter.
  package static func encode(_ bytes: some Sequence<UInt8>) -> String { encode(Array(bytes)) }

  /// Encodes bytes. Table-driven and not generic, because a scan calls it for each file.
  package static func encode(_ bytes: [UInt8]) -> String {
    var letters: [UInt8] = []
    letters.reserveCapacity((bytes.count * 4 + 2) / 3)
    var bits = 0
    var held: UInt32 = 0
    for byte in bytes {
      held = held << 8 | UInt32(byte)
      bits += 8
      while bits >= 6 {
        bits -= 6
        letters.append(alphabet[Int(held >> UInt32(bits) & 63)])
      }
    }
    if bits > 0 { letters.append(alphabet[Int(held << UInt32(6 - bits) & 63)]) }
    return String(decoding: letters, as: UTF8.self)
  }

  /// Decodes text. `nil` if `encode` produces this text for no bytes: a letter outside the alphabet, padding, or
  /// leftover bits that are not zero.
  package static func decode(_ text: String) -> [UInt8]? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count * 3 / 4)
    var bits = 0
    var held: UInt32 = 0
    for letter in text.utf8 {
      guard let value = alphabet.firstIndex(of: letter) else { return nil }
      held = held << 6 | UInt32(value)
      bits += 6
      guard bits >= 8 else { continue }
      bits -= 8
      bytes.append(UInt8(truncatingIfNeeded: held >> UInt32(bits)))
    }
    // Leftover bits must be zero, so that each byte string has exactly one text.
    return bits < 6 && held & (1 << UInt32(bits) - 1) == 0 ? bytes : nil
  }

  /// 128 random bits as 22 letters. The first is not a hyphen, which commands would take for the beginning of an
  /// option.
  package static func randomIdentifier() -> String {
    var generator = SystemRandomNumberGenerator()
    while true {
      let words = [UInt64.random(in: 0 ... .max, using: &generator), UInt64.random(in: 0 ... .max, using: &generator)]
      let identifier = words.withUnsafeBytes { encode($0) }
      if !identifier.hasPrefix("-") { return identifier }
    }
  }
}
