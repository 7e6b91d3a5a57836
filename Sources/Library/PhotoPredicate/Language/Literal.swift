import PhotoModel
import Primitives

/// A value as written, before the key that it is compared with determines its type: `1` may be a number, true, or
/// `image`.
struct Literal {
  indirect enum Kind {
    case integer(Int64)
    case real(Double)
    /// An integer that exceeds 64 bits, stored as a real with limited precision.
    case outOfRangeInteger(Double)
    case boolean(Bool)
    case null
    /// The date of a `CAST`.
    case date(Timestamp)
    case string(String)
    /// The name of an enumeration value.
    case name(String)
    /// `photoHDR | photoLive`.
    case union([Literal])
  }

  var kind: Kind
  /// The range in Unicode scalars of the text.
  var range: Range<Int>
  /// Whether it is in parentheses; then `&` can't bind to a part of a union.
  var isEnclosed = false

  /// The parts of a union, or the literal itself.
  var parts: [Literal] { if case .union(let parts) = kind { parts } else { [self] } }
}

extension Literal {
  /// A literal of the wrong type, and its range.
  struct TypeMismatch: Error {
    var range: Range<Int>
  }

  /// The value for a key.
  func value(for key: PropertyKey) throws(TypeMismatch) -> PropertyValue {
    switch (key.type, kind) {
    case (.boolean, .boolean(let value)): return .boolean(value)
    case (.boolean, .integer(let number)) where number == 0 || number == 1: return .boolean(number == 1)
    case (.integer, .integer(let number)): return .integer(number)
    case (.integer, .real(let number)):
      // A fraction is allowed: a width may be compared with 1.5. A number beyond the integers is not.
      guard let whole = Int64(exactly: number.rounded(.down)) else { throw TypeMismatch(range: range) }
      return Double(whole) == number ? .integer(whole) : .real(number)
    case (.real, .integer(let number)): return .real(Double(number))
    case (.real, .real(let number)), (.real, .outOfRangeInteger(let number)): return .real(number)
    case (.string, .string(let text)): return .string(text)
    case (.date, .date(let date)): return .date(date)
    case (.date, .string(let text)): return .date(try date(text))
    case (.enumeration(let enumeration), _):
      guard let name = named(in: enumeration)?.name else { throw TypeMismatch(range: range) }
      return .name(name)
    case (.options(let enumeration), _): return .integer(try bits(enumeration))
    case (.integer, .union(let parts)):
      var union: Int64 = 0
      for part in parts {
        guard case .integer(let number) = part.kind else { throw TypeMismatch(range: part.range) }
        union |= number
      }
      return .integer(union)
    default: throw TypeMismatch(range: range)
    }
  }

  /// The date in a string.
  func date(_ text: String) throws(TypeMismatch) -> Timestamp {
    do throws(MalformedRFC3339) {
      return try Timestamp(rfc3339: text)
    } catch {
      // The exact character, unless an escape sequence shifts the offsets.
      let isPlain = range.count == text.unicodeScalars.count + 2
      let start = isPlain ? range.lowerBound + 1 + error.position : range.lowerBound
      throw TypeMismatch(range: start..<range.upperBound)
    }
  }

  private func named(in enumeration: Enumeration) -> Enumeration.Case? {
    switch kind {
    case .name(let name), .string(let name): enumeration.named(name)
    case .integer(let number): enumeration.numbered(number)
    default: nil
    }
  }

  private func bits(_ enumeration: Enumeration) throws(TypeMismatch) -> Int64 {
    switch kind {
    case .integer(let number) where number >= 0: return number
    case .name(let name), .string(let name):
      guard let bit = enumeration.named(name)?.number else { throw TypeMismatch(range: range) }
      return bit
    case .union(let parts):
      var union: Int64 = 0
      for part in parts { union |= try part.bits(enumeration) }
      return union
    default: throw TypeMismatch(range: range)
    }
  }
}
