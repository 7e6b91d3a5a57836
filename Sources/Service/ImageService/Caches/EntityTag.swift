import Cryptography

/// Strong entity tags (RFC 9110 §8.8.3): 128 bits of SHA-256 in hexadecimal, including the quotes.
package enum EntityTag {
  package static func strong(over bytes: [UInt8]) -> String {
    let digits = Array("0123456789abcdef".utf8)
    let digest = Digest.sha256(bytes).prefix(16).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
    return "\"\(String(decoding: digest, as: UTF8.self))\""
  }
}
