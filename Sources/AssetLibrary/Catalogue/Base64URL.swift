/// base64url without padding (RFC 4648 §5): what identifiers are written in.
enum Base64URL {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

  /// Of the bytes, six bits a letter; a table, for it is called for each file that is scanned.
  static func encode(_ bytes: some Sequence<UInt8>) -> String {
    var letters: [UInt8] = []
    letters.reserveCapacity(24)
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

  /// 128 random bits.
  static func randomIdentifier() -> String {
    var generator = SystemRandomNumberGenerator()
    let words = [UInt64.random(in: 0 ... .max, using: &generator), UInt64.random(in: 0 ... .max, using: &generator)]
    return words.withUnsafeBytes { encode($0) }
  }
}
