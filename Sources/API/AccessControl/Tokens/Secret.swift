import Crypto
import FoundationEssentials

/// A bearer secret: 256 random bits as text. Possession of the text grants access, so the text is stored nowhere. The
/// database stores its digest.
package struct Secret: Sendable {
  /// The use of a secret. A secret of one kind is not accepted as another kind.
  package enum Kind: String, Sendable {
    case token = "photod_"
    case session = "session_"
  }

  /// Length of the longest secret in bytes: 256 bits are 43 characters of base64url (RFC 4648 §5) without padding.
  package static let maximumBytes = 51

  package let text: String

  /// Creates a random secret.
  package init(_ kind: Kind) {
    var generator = SystemRandomNumberGenerator()
    let bytes = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    text = kind.rawValue + Base64URL.text(bytes)
  }

  /// Parses a secret that a client sent; `nil` if it is malformed.
  package init?(_ text: String, _ kind: Kind) {
    guard text.utf8.count <= Self.maximumBytes, text.hasPrefix(kind.rawValue),
      Base64URL.bytes(String(text.dropFirst(kind.rawValue.count)))?.count == 32
    else { return nil }
    self.text = text
  }

  /// SHA-256 of the text. The secret is random, so a slow password hash is not needed.
  package var digest: [UInt8] { Array(SHA256.hash(data: Array(text.utf8))) }
}

/// RFC 4648 §5, without padding.
enum Base64URL {
  static func text(_ bytes: [UInt8]) -> String {
    var text = Data(bytes).base64EncodedString()
    text = text.replacing("+", with: "-").replacing("/", with: "_")
    return String(text.prefix { $0 != "=" })
  }

  /// Returns `nil` if the text is not base64url, or not the canonical encoding of its bytes.
  static func bytes(_ text: String) -> [UInt8]? {
    let standard = text.replacing("-", with: "+").replacing("_", with: "/")
    guard !text.contains("+"), !text.contains("/"), !text.contains("="),
      let data = Data(base64Encoded: standard + String(repeating: "=", count: (4 - text.utf8.count % 4) % 4))
    else { return nil }
    let bytes = [UInt8](data)
    return Self.text(bytes) == text ? bytes : nil
  }
}
