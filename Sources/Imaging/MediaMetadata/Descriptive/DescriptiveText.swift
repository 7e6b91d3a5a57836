import PhotoModel

/// Makes texts of files fit for the catalogue: no control characters, no white space around them, limited length, no
/// coordinates.
enum DescriptiveText {
  /// A text of one line; `nil` if nothing is left.
  static func name(_ text: String?, limit: Int = DescriptiveLimits.nameBytes) -> String? {
    cleaned(text, limit: limit) { _ in nil }
  }

  /// A text that may have several lines.
  static func caption(_ text: String?) -> String? {
    cleaned(text, limit: DescriptiveLimits.captionBytes) { control in
      switch control {
      case "\n", "\t": control
      case "\r": "\n"
      default: nil
      }
    }
  }

  /// The URI of a license that programs know: one of Creative Commons, or of rightsstatements.org.
  static func license(_ text: String) -> String? {
    let text = MetadataText.trimmed(text)
    let isPlain = text.utf8.count <= DescriptiveLimits.nameBytes && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    let known = ["creativecommons.org/licenses/", "creativecommons.org/publicdomain/", "rightsstatements.org/vocab/"]
    // Both organizations define their URIs with this scheme.
    for scheme in ["http://", "https://"] where isPlain && text.hasPrefix(scheme) {
      let rest = text.dropFirst(scheme.count)
      let name = rest.hasPrefix("www.") ? rest.dropFirst(4) : rest
      if known.contains(where: name.hasPrefix) { return "http://" + name }
    }
    return nil
  }

  /// A list without duplicates.
  static func words(_ texts: some Sequence<String>, atMost limit: Int) -> [String] {
    var seen: Set<String> = []
    var words: [String] = []
    for text in texts {
      guard words.count < limit else { break }
      guard let word = name(text, limit: DescriptiveLimits.wordBytes), seen.insert(word).inserted else { continue }
      words.append(word)
    }
    return words
  }

  /// - Parameter replacement: replaces each control character; `nil`: a space.
  private static func cleaned(
    _ text: String?, limit: Int, _ replacement: (Unicode.Scalar) -> Unicode.Scalar?
  ) -> String? {
    guard let text else { return nil }
    var scalars = String.UnicodeScalarView()
    var bytes = 0
    var previous: Unicode.Scalar?
    for scalar in text.unicodeScalars {
      defer { previous = scalar }
      if scalars.isEmpty, scalar.properties.isWhitespace { continue }
      // CR LF is one line break.
      if scalar == "\n", previous == "\r" { continue }
      let isControl = scalar.properties.generalCategory == .control
      let kept = isControl ? replacement(scalar) ?? " " : scalar
      bytes += UTF8.width(kept)
      guard bytes <= limit else { break }
      scalars.append(kept)
    }
    let result = MetadataText.trimmed(String(scalars))
    return result.isEmpty || DescriptiveMetadata.isCoordinates(result) ? nil : result
  }
}
