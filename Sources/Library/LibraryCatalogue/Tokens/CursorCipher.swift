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

  /// `nil` if the text was not encrypted with this key.
  func open(_ text: String) -> Data? {
    var base64 = text.replacing("-", with: "+").replacing("_", with: "/")
    base64 += String(repeating: "=", count: (4 - base64.utf8.count % 4) % 4)
    guard let bytes = Data(base64Encoded: base64) else { return nil }
    return ChaCha20Poly1305.open(Array(bytes), key: key).map { Data($0) }
  }
}
