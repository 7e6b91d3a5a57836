/// Splits the text of a predicate into tokens. Linear in the text; reads no further ahead than requested.
struct Lexer {
  let scalars: [Unicode.Scalar]
  private var position = 0

  /// - Throws: if the text is longer than the limit.
  init(_ text: String, limits: PredicateLimits) throws(PredicateError) {
    scalars = Array(text.unicodeScalars.prefix(limits.characters + 1))
    guard scalars.count <= limits.characters else {
      throw error(at: limits.characters, .atMost(limits.characters, of: "characters"))
    }
  }

  /// An error that quotes the text up to the approximate end of the token at `offset`.
  func error(at offset: Int, _ expected: Expectation) -> PredicateError {
    let rest = scalars[offset...]
    let length: Int
    if let first = rest.first, Self.isNamePart(first) {
      length = rest.prefix(while: Self.isNamePart).count
    } else if let first = rest.first, first == "'" || first == "\"" {
      length = rest.count
    } else {
      length = 1
    }
    return error(at: offset..<min(offset + length, scalars.count), expected)
  }

  func error(at range: Range<Int>, _ expected: Expectation) -> PredicateError {
    var found = String.UnicodeScalarView()
    found.append(contentsOf: scalars[range].prefix(PredicateError.foundCharacters))
    return PredicateError(offset: range.lowerBound, expected: expected, found: String(found))
  }

  mutating func next() throws(PredicateError) -> Token {
    skipSpace()
    let start = position
    let kind = try kind()
    return Token(kind: kind, range: start..<position)
  }

  /// Skips a `-` if it is the next character, without checking the character after it.
  mutating func consumeMinus() -> Bool {
    skipSpace()
    guard peek() == "-" else { return false }
    position += 1
    return true
  }

  /// The offset of a `-` if it comes next.
  var minusOffset: Int? { peek() == "-" ? position : nil }

  private mutating func skipSpace() {
    while let space = peek(), space == " " || ("\t"..."\r").contains(space) { position += 1 }
  }

  private func peek(_ distance: Int = 0) -> Unicode.Scalar? {
    position + distance < scalars.count ? scalars[position + distance] : nil
  }

  private mutating func kind() throws(PredicateError) -> Token.Kind {
    guard let first = peek() else { return .end }
    if first == "'" || first == "\"" { return .string(try string(quote: first)) }
    if Self.isDigit(first) || first == "-" || first == "." && peek(1).map(Self.isDigit) == true { return try number() }
    if Self.isNamePart(first) {
      let word = text(scalars[position...].prefix(while: Self.isNamePart))
      position += word.unicodeScalars.count
      return Keyword(word).map { .keyword($0) } ?? .name(word)
    }
    for length in [2, 1] where position + length <= scalars.count {
      guard let sign = Sign(rawValue: text(scalars[position..<position + length])) else { continue }
      position += length
      return .sign(sign)
    }
    position += 1
    return .other
  }

  private func text(_ scalars: ArraySlice<Unicode.Scalar>) -> String {
    var view = String.UnicodeScalarView()
    view.append(contentsOf: scalars)
    return String(view)
  }

  // MARK: Numbers

  /// `-12`, `1.5`, `.5`, `2e-3`, `0x1F`: with an optional sign, fraction and exponent. A name can't directly follow a
  /// number.
  private mutating func number() throws(PredicateError) -> Token.Kind {
    let start = position
    if peek() == "-" { position += 1 }
    if peek() == "0", let x = peek(1), x == "x" || x == "X" { return try hexadecimal(from: start) }
    try digits(areNeeded: peek() != ".")
    var isReal = false
    if peek() == "." {
      isReal = true
      position += 1
      try digits(areNeeded: true)
    }
    if let e = peek(), e == "e" || e == "E" {
      isReal = true
      position += 1
      if let sign = peek(), sign == "-" || sign == "+" { position += 1 }
      try digits(areNeeded: true)
    }
    try endOfNumber()
    let literal = text(scalars[start..<position])
    if !isReal, let integer = Int64(literal) { return .integer(integer) }
    guard let real = Double(literal), real.isFinite else {
      throw error(at: start..<position, .finiteNumber)
    }
    return isReal ? .real(real) : .outOfRangeInteger(real)
  }

  private mutating func hexadecimal(from start: Int) throws(PredicateError) -> Token.Kind {
    position += 2
    let first = position
    while let digit = peek(), digit.properties.isASCIIHexDigit { position += 1 }
    guard position > first else { throw error(at: position, .digit) }
    try endOfNumber()
    let sign = scalars[start] == "-" ? "-" : ""
    guard let integer = Int64(sign + text(scalars[first..<position]), radix: 16) else {
      throw error(at: start..<position, .integerOf64Bits)
    }
    return .integer(integer)
  }

  private mutating func digits(areNeeded: Bool) throws(PredicateError) {
    let start = position
    while let digit = peek(), Self.isDigit(digit) { position += 1 }
    guard position > start || !areNeeded else { throw error(at: position, .digit) }
  }

  private func endOfNumber() throws(PredicateError) {
    if let next = peek(), Self.isNamePart(next) || next == "." { throw error(at: position, .digit) }
  }

  // MARK: Strings

  private mutating func string(quote: Unicode.Scalar) throws(PredicateError) -> String {
    position += 1
    var string = String.UnicodeScalarView()
    while let scalar = peek() {
      switch scalar {
      case quote:
        position += 1
        return String(string)
      case "\\": string.append(try escape())
      case "\0": throw error(at: position, .textWithoutNUL)
      default:
        string.append(scalar)
        position += 1
      }
    }
    throw error(at: position, .closingQuote(quote))
  }

  /// The character of an escape sequence. `\u` is that of JSON: four hexadecimal digits, or two such sequences for
  /// characters beyond U+FFFF (RFC 8259 §7).
  private mutating func escape() throws(PredicateError) -> Unicode.Scalar {
    let start = position
    position += 2
    switch start + 1 < scalars.count ? scalars[start + 1] : nil {
    case "n": return "\n"
    case "r": return "\r"
    case "t": return "\t"
    case let same? where same == "'" || same == "\"" || same == "\\": return same
    case "u":
      guard let unit = codeUnit() else { break }
      var value = UInt32(unit)
      if UTF16.isLeadSurrogate(unit), peek() == "\\", peek(1) == "u" {
        position += 2
        guard let trail = codeUnit(), UTF16.isTrailSurrogate(trail) else { break }
        value = 0x10000 + (UInt32(unit) - 0xD800) << 10 + (UInt32(trail) - 0xDC00)
      }
      guard let scalar = Unicode.Scalar(value) else { break }
      if scalar == "\0" { throw error(at: start..<position, .textWithoutNUL) }
      return scalar
    default: break
    }
    throw error(at: start..<min(start + 2, scalars.count), .escape)
  }

  private mutating func codeUnit() -> UInt16? {
    guard position + 4 <= scalars.count, scalars[position..<position + 4].allSatisfy(\.properties.isASCIIHexDigit)
    else {
      return nil
    }
    position += 4
    return UInt16(text(scalars[position - 4..<position]), radix: 16)
  }

  private static func isDigit(_ scalar: Unicode.Scalar) -> Bool { ("0"..."9").contains(scalar) }

  private static func isNamePart(_ scalar: Unicode.Scalar) -> Bool {
    ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar) || isDigit(scalar) || scalar == "_"
  }
}
