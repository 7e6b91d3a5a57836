/// An opaque, keyed digest of the identity of a file and its adjustments. It changes exactly when the pixels may have
/// changed.
///
/// After a user has set regions, a dot and their digest are appended: pictures that are cropped to the regions change,
/// and all others stay the same.
package struct ContentVersion: Sendable, Hashable, CustomStringConvertible {
  package let rawValue: String

  package init(_ rawValue: String) {
    self.rawValue = rawValue
  }

  /// The version if only a part of the asset is shown: a frame of a video at a requested time, or the RAW file of a
  /// pair. The part follows after an at sign.
  package func showing(_ part: String) -> ContentVersion { ContentVersion("\(rawValue)@\(part)") }

  /// Whether only a part of the asset is shown: see ``showing(_:)``.
  package var showsPart: Bool { rawValue.contains("@") }

  /// The version without the digest of the regions.
  package var pixels: ContentVersion {
    let whole = rawValue.prefix { $0 != "@" }
    return ContentVersion(String(whole.prefix { $0 != "." } + rawValue[whole.endIndex...]))
  }

  /// The length of `content`: base64url of 128 bits.
  package static let contentLength = 22

  /// The part that all versions of the same content share: also with other regions, for each frame of a video, and for
  /// the RAW file of a pair.
  package var content: String { String(rawValue.prefix(Self.contentLength)) }

  package var description: String { rawValue }
}
