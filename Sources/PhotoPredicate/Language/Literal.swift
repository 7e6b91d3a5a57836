import PhotoModel

/// A value as it was written, before the key beside it says what it means: `1` may be a number, true, or `image`.
struct Literal {
  indirect enum Kind {
    case integer(Int64)
    case real(Double)
    /// An integer that only a real can hold, not to the last digit.
    case beyondIntegers(Double)
    case boolean(Bool)
    case null
    /// Of a `CAST`.
    case date(Timestamp)
    case string(String)
    /// Of an enumeration's value.
    case name(String)
    /// `photoHDR | photoLive`.
    case union([Literal])
  }

  var kind: Kind
  /// In scalars of the text.
  var range: Range<Int>
  /// Whether parentheses stand around it, so that `&` can't take a part of a union.
  var isEnclosed = false

  /// What a union is of, if it is one.
  var parts: [Literal] { if case .union(let parts) = kind { parts } else { [self] } }
}

extension Literal {
  /// What is wrong with a literal, and where.
  struct Misfit: Error {
    var range: Range<Int>
  }

  /// The value that this is for a key.
  func value(for key: PropertyKey) throws(Misfit) -> PropertyValue {
    switch (key.type, kind) {
    case (.boolean, .boolean(let value)): return .boolean(value)
    case (.boolean, .integer(let number)) where number == 0 || number == 1: return .boolean(number == 1)
    case (.integer, .integer(let number)): return .integer(number)
    case (.integer, .real(let number)):
      // A fraction is no mistake: a width may be compared with 1.5. Beyond the integers there is nothing to compare.
      guard let whole = Int64(exactly: number.rounded(.down)) else { throw Misfit(range: range) }
      return Double(whole) == number ? .integer(whole) : .real(number)
    case (.real, .integer(let number)): return .real(Double(number))
    case (.real, .real(let number)), (.real, .beyondIntegers(let number)): return .real(number)
    case (.string, .string(let text)): return .string(text)
    case (.date, .date(let date)): return .date(date)
    case (.date, .string(let text)): return .date(try date(text))
    case (.enumeration(let enumeration), _):
      guard let name = named(in: enumeration)?.name else { throw Misfit(range: range) }
      return .name(name)
    case (.options(let enumeration), _): return .integer(try bits(enumeration))
    case (.integer, .union(let parts)):
      var union: Int64 = 0
      for part in parts {
        guard case .integer(let number) = part.kind else { throw Misfit(range: part.range) }
        union |= number
      }
      return .integer(union)
    default: throw Misfit(range: range)
    }
  }

  /// The moment that a string names.
  func date(_ text: String) throws(Misfit) -> Timestamp {
    do throws(MalformedRFC3339) {
      return try Timestamp(rfc3339: text)
    } catch {
      // The very character, where no escape has moved it.
      let isPlain = range.count == text.unicodeScalars.count + 2
      let start = isPlain ? range.lowerBound + 1 + error.position : range.lowerBound
      throw Misfit(range: start..<range.upperBound)
    }
  }

  private func named(in enumeration: Enumeration) -> Enumeration.Case? {
    switch kind {
    case .name(let name), .string(let name): enumeration.named(name)
    case .integer(let number): enumeration.numbered(number)
    default: nil
    }
  }

  private func bits(_ enumeration: Enumeration) throws(Misfit) -> Int64 {
    switch kind {
    case .integer(let number) where number >= 0: return number
    case .name(let name), .string(let name):
      guard let bit = enumeration.named(name)?.number else { throw Misfit(range: range) }
      return bit
    case .union(let parts):
      var union: Int64 = 0
      for part in parts { union |= try part.bits(enumeration) }
      return union
    default: throw Misfit(range: range)
    }
  }
}
