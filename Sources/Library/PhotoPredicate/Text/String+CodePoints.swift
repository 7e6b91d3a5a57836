// Strings in predicates are sequences of Unicode scalars, compared one by one. The bytes of UTF-8 sort in the same
// order as the scalars, and SQLite compares text the same way (collation BINARY).

extension String {
  /// -1, 0 or 1, by Unicode code point.
  func codePointOrder(_ other: String) -> Int {
    if utf8.elementsEqual(other.utf8) { return 0 }
    return utf8.lexicographicallyPrecedes(other.utf8) ? -1 : 1
  }

  func hasCodePointPrefix(_ prefix: String) -> Bool { utf8.starts(with: prefix.utf8) }

  func hasCodePointSuffix(_ suffix: String) -> Bool {
    utf8.count >= suffix.utf8.count && utf8.suffix(suffix.utf8.count).elementsEqual(suffix.utf8)
  }

  func containsCodePoints(_ part: String) -> Bool {
    guard let first = part.utf8.first else { return true }
    var rest = utf8[...]
    while let start = rest.firstIndex(of: first) {
      if rest[start...].starts(with: part.utf8) { return true }
      rest = rest[rest.index(after: start)...]
    }
    return false
  }

  /// The least string that follows all strings with this prefix; `nil` if there is none.
  var codePointSuccessor: String? {
    var scalars = Array(unicodeScalars)
    while let last = scalars.popLast() {
      // U+D800 to U+DFFF are not scalars; nothing follows U+10FFFF.
      let next = last.value == 0xD7FF ? 0xE000 : last.value + 1
      guard let next = Unicode.Scalar(next) else { continue }
      var view = String.UnicodeScalarView()
      view.append(contentsOf: scalars)
      view.append(next)
      return String(view)
    }
    return nil
  }
}
