import Cryptography

/// Strong entity tags (RFC 9110 §8.8.3): 128 bits of SHA-256 in hexadecimal, including the quotes.
package enum EntityTag {
  package static func strong(over bytes: [UInt8]) -> String {
    "\"\(Digest.sha256(bytes).prefix(16).hexadecimal)\""
  }
}
