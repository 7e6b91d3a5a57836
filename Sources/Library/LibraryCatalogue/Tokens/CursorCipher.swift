import Cryptography
import Foundation
import Primitives

/// Encrypts and decrypts cursors with ChaCha20-Poly1305 (RFC 8439) and a key derived from the catalogue's secret. The
/// nonce is derived from the plaintext, so equal cursors have equal texts and pages keep their entity tags.
struct CursorCipher: Sendable {
  private let key: [UInt8]
  private let nonceCode: HMACSHA256

  init(secret: Data) {
    key = HMACSHA256.code(of: "cursor".utf8, key: secret)
    nonceCode = HMACSHA256(key: HMACSHA256.code(of: "cursor nonce".utf8, key: secret))
  }

  func seal(_ bytes: Data) -> String {
    let nonce = Array(nonceCode.code(of: bytes).prefix(ChaCha20Poly1305.nonceBytes))
    return Base64URL.encode(ChaCha20Poly1305.seal(Array(bytes), key: key, nonce: nonce))
  }

  /// `nil` if `seal` never returns this text.
  func open(_ text: String) -> Data? {
    guard let bytes = Base64URL.decode(text) else { return nil }
    return ChaCha20Poly1305.open(bytes, key: key).map { Data($0) }
  }
}
