import Crypto
import Foundation
import Primitives

/// Encrypts and decrypts cursors with ChaCha20-Poly1305 (RFC 8439) and a key derived from the catalogue's secret. The
/// nonce is derived from the plaintext, so equal cursors have equal texts and pages keep their entity tags.
struct CursorCipher: Sendable {
  private static let nonceBytes = 12
  private static let tagBytes = 16

  private let key: SymmetricKey
  private let nonceKey: SymmetricKey

  init(secret: Data) {
    func derived(_ name: String) -> SymmetricKey {
      SymmetricKey(data: HMAC<SHA256>.authenticationCode(for: Data(name.utf8), using: SymmetricKey(data: secret)))
    }
    key = derived("cursor")
    nonceKey = derived("cursor nonce")
  }

  func seal(_ bytes: Data) -> String {
    let nonce = Array(HMAC<SHA256>.authenticationCode(for: bytes, using: nonceKey).prefix(Self.nonceBytes))
    guard let nonce = try? ChaChaPoly.Nonce(data: nonce),
      let box = try? ChaChaPoly.seal(bytes, using: key, nonce: nonce)
    else { preconditionFailure("ChaCha20-Poly1305 failed with a twelve-byte nonce") }
    return Base64URL.encode(box.combined)
  }

  /// `nil` if the text was not encrypted with this key.
  func open(_ text: String) -> Data? {
    var base64 = text.replacing("-", with: "+").replacing("_", with: "/")
    base64 += String(repeating: "=", count: (4 - base64.utf8.count % 4) % 4)
    guard let bytes = Data(base64Encoded: base64), bytes.count >= Self.nonceBytes + Self.tagBytes,
      let box = try? ChaChaPoly.SealedBox(combined: bytes)
    else { return nil }
    return try? ChaChaPoly.open(box, using: key)
  }
}
