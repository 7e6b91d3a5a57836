import Crypto

/// Strong entity tags for bodies that are cheaper to digest than to send.
enum RepresentationTag {
  /// 128 bits of SHA-256 in hexadecimal, with quotes.
  static func of(_ body: [UInt8]) -> String {
    let digits = Array("0123456789abcdef".utf8)
    let digest = SHA256.hash(data: body).prefix(16).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
    return "\"\(String(decoding: digest, as: UTF8.self))\""
  }
}
