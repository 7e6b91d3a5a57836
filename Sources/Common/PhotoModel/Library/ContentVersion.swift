/// An opaque, keyed digest of the identity of a file and its adjustments. It changes exactly when the pixels may have
/// changed.
///
/// After a user set regions, their digest follows the files' after a dot: pictures that are cropped to the regions
/// change, all others stay as they are.
package struct ContentVersion: Sendable, Hashable, CustomStringConvertible {
  package let rawValue: String

  package init(_ rawValue: String) {
    self.rawValue = rawValue
  }

  /// The version without the digest of the regions. After an at sign follows what else is shown of the asset: the time
  /// of a video's frame, or the RAW file of a pair.
  package var pixels: ContentVersion {
    let whole = rawValue.prefix { $0 != "@" }
    return ContentVersion(String(whole.prefix { $0 != "." } + rawValue[whole.endIndex...]))
  }

  /// The length of `content`: base64url of 128 bits.
  package static let contentLength = 22

  /// The part that all versions of the same pixels share: those with other regions, of the frames of a video, and of
  /// the RAW file of a pair.
  package var content: String { String(rawValue.prefix(Self.contentLength)) }

  package var description: String { rawValue }
}
