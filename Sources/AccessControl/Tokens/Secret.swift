import Crypto
import FoundationEssentials

/// 256 random bits that open something, as text. Whoever has the text has what it opens, so it is kept nowhere: the list
/// has its digest.
package struct Secret: Sendable {
  /// What it opens; one of a kind opens nothing of another.
  package enum Kind: String, Sendable {
    case token = "photod_"
    case session = "session_"
  }

  /// Of the longest text: 256 bits are 43 characters of base64url (RFC 4648 §5) without padding.
  package static let maximumLength = 51

  package let text: String

  /// A new one.
  package init(_ kind: Kind) {
    var generator = SystemRandomNumberGenerator()
    let bytes = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    text = kind.rawValue + Base64URL.text(bytes)
  }

  /// What somebody sent; `nil` where it can't be one.
  package init?(_ text: String, _ kind: Kind) {
    guard text.utf8.count <= Self.maximumLength, text.hasPrefix(kind.rawValue),
      Base64URL.bytes(String(text.dropFirst(kind.rawValue.count)))?.count == 32
    else { return nil }
    self.text = text
  }

  /// SHA-256 of the text. The bits are random, so nothing slower is needed.
  package var digest: [UInt8] { Array(SHA256.hash(data: Array(text.utf8))) }
}

/// RFC 4648 §5, without padding.
enum Base64URL {
  static func text(_ bytes: [UInt8]) -> String {
    var text = Data(bytes).base64EncodedString()
    text = text.replacing("+", with: "-").replacing("/", with: "_")
    return String(text.prefix { $0 != "=" })
  }

  /// `nil`: it is none, or has bits that no text of ours has.
  static func bytes(_ text: String) -> [UInt8]? {
    let standard = text.replacing("-", with: "+").replacing("_", with: "/")
    guard !text.contains("+"), !text.contains("/"), !text.contains("="),
      let data = Data(base64Encoded: standard + String(repeating: "=", count: (4 - text.utf8.count % 4) % 4))
    else { return nil }
    let bytes = [UInt8](data)
    return Self.text(bytes) == text ? bytes : nil
  }
}
