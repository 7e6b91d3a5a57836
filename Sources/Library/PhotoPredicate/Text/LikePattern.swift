/// The patterns of `LIKE`: `*` matches any text, `?` one character (one Unicode scalar), and `\` makes the next
/// character literal (Predicate Format String Syntax, "String Comparisons"). A `\` at the end of the pattern is
/// literal.
package enum LikePattern {
  /// Whether the whole text matches the pattern.
  ///
  /// At worst the product of both lengths: only the last `*` backtracks, since an earlier one could not do better.
  package static func matches(_ text: String, pattern: String) -> Bool {
    withBytes(of: text) { text in withBytes(of: pattern) { pattern in matches(text, pattern) } }
  }

  private static func matches(_ text: UnsafeBufferPointer<UInt8>, _ pattern: UnsafeBufferPointer<UInt8>) -> Bool {
    var (t, p) = (0, 0)
    // The position after the last `*` in the pattern, and the position in the text that it has reached.
    var retry: (pattern: Int, text: Int)?
    while t < text.count {
      if p < pattern.count {
        switch pattern[p] {
        case UInt8(ascii: "*"):
          p += 1
          retry = (p, t)
          continue
        case UInt8(ascii: "?"):
          t = nextScalar(in: text, after: t)
          p += 1
          continue
        default:
          let literal = pattern[p] == UInt8(ascii: "\\") && p + 1 < pattern.count ? p + 1 : p
          if pattern[literal] == text[t] {
            t += 1
            p = literal + 1
            continue
          }
        }
      }
      guard let last = retry else { return false }
      t = nextScalar(in: text, after: last.text)
      p = last.pattern
      retry = (p, t)
    }
    while p < pattern.count, pattern[p] == UInt8(ascii: "*") { p += 1 }
    return p == pattern.count
  }

  private static func nextScalar(in text: UnsafeBufferPointer<UInt8>, after index: Int) -> Int {
    var next = index + 1
    while next < text.count, text[next] & 0xC0 == 0x80 { next += 1 }
    return next
  }

  private static func withBytes<Result>(of text: String, _ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
    text.utf8.withContiguousStorageIfAvailable(body) ?? Array(text.utf8).withUnsafeBufferPointer(body)
  }

  /// The number of wildcards in a pattern, without escaped ones.
  static func wildcardCount(_ pattern: String) -> Int {
    parts(pattern).count { if case .literal = $0 { false } else { true } }
  }

  enum Part: Equatable {
    case literal(String)
    case anyText
    case anyScalar
  }

  /// The parts of a pattern; literals are as long as possible.
  static func parts(_ pattern: String) -> [Part] {
    var parts: [Part] = []
    var literal = String.UnicodeScalarView()
    func finished() -> [Part] { literal.isEmpty ? parts : parts + [.literal(String(literal))] }
    var isEscaped = false
    for scalar in pattern.unicodeScalars {
      switch scalar {
      case _ where isEscaped:
        literal.append(scalar)
        isEscaped = false
      case "\\": isEscaped = true
      case "*", "?":
        parts = finished() + [scalar == "*" ? .anyText : .anyScalar]
        literal = .init()
      default: literal.append(scalar)
      }
    }
    if isEscaped { literal.append("\\") }
    return finished()
  }
}
