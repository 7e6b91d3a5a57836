// Format characters (the general category Cf) in names of files.

extension String.UnicodeScalarView {
  /// The text without format characters. They are invisible, and some reorder the text around them, so that a name
  /// looks like another one.
  ///
  /// Format characters that belong to the spelling stay: a joiner or non-joiner between two characters outside of
  /// ASCII, as in Persian, in Indic scripts and in emoji of several persons, and tags after an emoji, as in the flag of
  /// Wales.
  ///
  /// - Parameter replacement: takes the place of each; `nil` removes them.
  package func replacingFormatCharacters(with replacement: Unicode.Scalar?) -> String.UnicodeScalarView {
    var kept = String.UnicodeScalarView()
    for index in indices {
      let scalar = self[index]
      let following = self.index(after: index)
      let next: Unicode.Scalar? = following < endIndex ? self[following] : nil
      let isFormat = scalar.properties.generalCategory == .format
      if !isFormat || scalar.isSpelling(after: kept.last, before: next) {
        kept.append(scalar)
      } else if let replacement {
        kept.append(replacement)
      }
    }
    return kept
  }
}

extension Unicode.Scalar {
  private var isTag: Bool { (0xE0020...0xE007F).contains(value) }

  /// Whether a format character is part of how a text is written.
  fileprivate func isSpelling(after previous: Unicode.Scalar?, before next: Unicode.Scalar?) -> Bool {
    guard let previous, !previous.isASCII else { return false }
    if isTag { return previous.isTag || previous.properties.isEmoji }
    guard value == 0x200C || value == 0x200D, let next, !next.isASCII else { return false }
    return previous.properties.generalCategory != .format && next.properties.generalCategory != .format
  }
}
