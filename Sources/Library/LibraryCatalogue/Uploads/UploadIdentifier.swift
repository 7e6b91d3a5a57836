import Primitives

/// The identifier of a staged upload: `u.` and 22 letters of base64url. No asset's identifier contains a dot, so a JSON
/// member that may name either is unambiguous.
package struct UploadIdentifier: Sendable, Hashable, CustomStringConvertible {
  private static let prefix = "u."
  private static let byteCount = 16

  package let rawValue: String

  /// A new, random identifier.
  package init() { rawValue = Self.prefix + Base64URL.randomIdentifier() }

  /// `nil` if the text is not in this format. A valid text is safe as a file name.
  package init?(_ text: String) {
    guard text.hasPrefix(Self.prefix),
      Base64URL.decode(String(text.dropFirst(Self.prefix.count)))?.count == Self.byteCount
    else { return nil }
    rawValue = text
  }

  package var description: String { rawValue }
}
