import Cryptography
import FoundationEssentials
import Primitives

/// A bearer secret: 256 random bits as text. Possession of the text grants access, so the text is stored nowhere. The
/// database stores its digest.
package struct Secret: Sendable {
  /// The use of a secret. A secret of one kind is not accepted as another kind.
  package enum Kind: String, Sendable {
    case token = "photod_"
    case session = "session_"
  }

  /// Length of the longest secret in bytes: 256 bits are 43 characters of base64url (RFC 4648 §5) without padding.
  static let maximumBytes = 51

  let kind: Kind
  package let text: String

  /// Creates a random secret.
  package init(_ kind: Kind) {
    var generator = SystemRandomNumberGenerator()
    let bytes = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    self.kind = kind
    text = kind.rawValue + Base64URL.encode(bytes)
  }

  /// Parses a secret that a client sent; `nil` if it is malformed.
  package init?(_ text: String, _ kind: Kind) {
    guard text.utf8.count <= Self.maximumBytes, text.hasPrefix(kind.rawValue),
      Base64URL.decode(String(text.dropFirst(kind.rawValue.count)))?.count == 32
    else { return nil }
    self.kind = kind
    self.text = text
  }

  /// SHA-256 of the text. The secret is random, so a slow password hash is not needed.
  var digest: [UInt8] { Digest.sha256(text.utf8) }
}
