import Foundation

/// base64url without padding (RFC 4648 §5): what identifiers are written in.
enum Base64URL {
  static func encode(_ bytes: some Sequence<UInt8>) -> String {
    Data(bytes).base64EncodedString()
      .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
  }

  /// 128 random bits.
  static func randomIdentifier() -> String {
    var generator = SystemRandomNumberGenerator()
    let words = [UInt64.random(in: 0 ... .max, using: &generator), UInt64.random(in: 0 ... .max, using: &generator)]
    return words.withUnsafeBytes { encode($0) }
  }
}
