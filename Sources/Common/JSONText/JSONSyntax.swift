// Checks the syntax of a text before it is decoded. Foundation's decoder takes more than JSON: other encodings,
// trailing commas, and objects in which a name occurs twice, of which it keeps the first. A proxy that keeps the last
// one would see another request.

/// Where a text is not JSON, and why.
package struct JSONSyntaxError: Error, Sendable, Equatable, CustomStringConvertible {
  package enum Reason: Sendable, Equatable {
    /// Something else must be there.
    case unexpected
    case endOfText
    case invalidUTF8
    /// A control character in a string, without an escape.
    case controlCharacter
    /// An unknown escape, or half of a surrogate pair.
    case invalidEscape
    case tooDeep
    case repeatedMember(String)
  }

  package let reason: Reason
  /// The name of a repeated member, after those of the objects around it, such as `http.bodyBytes`. Otherwise empty.
  package let path: String
  /// From 1; a column is a Unicode scalar.
  package let line: Int
  package let column: Int

  /// A sentence.
  package var description: String {
    let text =
      switch reason {
      case .unexpected: "this character can't be here"
      case .endOfText: "the text ends too early"
      case .invalidUTF8: "the string is not UTF-8"
      case .controlCharacter: "a control character must be escaped"
      case .invalidEscape: "the escape is not one of JSON, or is half of a surrogate pair"
      case .tooDeep: "arrays and objects are nested more than \(JSONSyntax.maximumDepth) deep"
      case .repeatedMember: "the object already has a member with this name"
      }
    return "Line \(line), column \(column): \(text)."
  }
}

package enum JSONSyntax {
  /// How deep arrays and objects may be nested, as in Foundation's decoder.
  static let maximumDepth = 512

  /// Checks that a text is one JSON value (RFC 8259) in UTF-8, and that no object has two members with the same name.
  /// A byte order mark at the beginning is ignored.
  ///
  /// - Parameter commentPrefix: members whose names begin with it are comments, which may be repeated.
  /// - Complexity: linear in the length of the text; no recursion.
  package static func check(_ text: [UInt8], commentPrefix: String? = nil) throws(JSONSyntaxError) {
    var checker = JSONSyntaxChecker(text: text, commentPrefix: commentPrefix)
    try checker.check()
  }
}

private struct JSONSyntaxChecker {
  /// An array or object that has not ended.
  private struct Container {
    let isObject: Bool
    var names: Set<String> = []
    /// The name of the last member.
    var name = ""
  }

  private let text: [UInt8]
  private let commentPrefix: String?
  private var position = 0
  /// From the outermost to the innermost.
  private var containers: [Container] = []

  init(text: [UInt8], commentPrefix: String?) {
    self.text = text
    self.commentPrefix = commentPrefix
  }

  private var next: UInt8? { position < text.count ? text[position] : nil }

  mutating func check() throws(JSONSyntaxError) {
    if text.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
    repeat {
      while try !readValue() {}
    } while try advanceToNextValue()
    skipSpace()
    if position < text.count { throw failure() }
  }

  /// Reads a value, or the beginning of an array or object with a first value.
  ///
  /// - Returns: `false` if that first value follows.
  private mutating func readValue() throws(JSONSyntaxError) -> Bool {
    skipSpace()
    guard let byte = next else { throw failure() }
    switch byte {
    case UInt8(ascii: "{"): return try open(isObject: true, end: UInt8(ascii: "}"))
    case UInt8(ascii: "["): return try open(isObject: false, end: UInt8(ascii: "]"))
    case UInt8(ascii: "\""): _ = try string()
    case UInt8(ascii: "t"): try word("true")
    case UInt8(ascii: "f"): try word("false")
    case UInt8(ascii: "n"): try word("null")
    default: try number()
    }
    return true
  }

  private mutating func open(isObject: Bool, end: UInt8) throws(JSONSyntaxError) -> Bool {
    if containers.count == JSONSyntax.maximumDepth { throw failure(.tooDeep) }
    position += 1
    skipSpace()
    if next == end {
      position += 1
      return true
    }
    containers.append(Container(isObject: isObject))
    if isObject { try name() }
    return false
  }

  /// Reads what follows a value: the ends of arrays and objects, and the comma, and the name of a member, before the
  /// next value.
  ///
  /// - Returns: whether another value follows.
  private mutating func advanceToNextValue() throws(JSONSyntaxError) -> Bool {
    while let isObject = containers.last?.isObject {
      skipSpace()
      guard let byte = next else { throw failure() }
      if byte == UInt8(ascii: ",") {
        position += 1
        if isObject { try name() }
        return true
      }
      guard byte == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else { throw failure() }
      position += 1
      containers.removeLast()
    }
    return false
  }

  /// Reads the name of a member and the colon.
  private mutating func name() throws(JSONSyntaxError) {
    skipSpace()
    let start = position
    guard next == UInt8(ascii: "\"") else { throw failure() }
    let range = try string()
    let name = unescaped(range)
    let object = containers.count - 1
    containers[object].name = name
    let isComment = commentPrefix.map { name.hasPrefix($0) } ?? false
    if !isComment, !containers[object].names.insert(name).inserted {
      throw failure(.repeatedMember(name), at: start)
    }
    skipSpace()
    guard next == UInt8(ascii: ":") else { throw failure() }
    position += 1
  }

  private mutating func skipSpace() {
    while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
  }

  private mutating func word(_ word: StaticString) throws(JSONSyntaxError) {
    for index in 0..<word.utf8CodeUnitCount {
      guard next == word.utf8Start[index] else { throw failure() }
      position += 1
    }
  }

  // MARK: Numbers

  private mutating func number() throws(JSONSyntaxError) {
    if next == UInt8(ascii: "-") { position += 1 }
    if next == UInt8(ascii: "0") { position += 1 } else { try digits() }
    if next == UInt8(ascii: ".") {
      position += 1
      try digits()
    }
    if next == UInt8(ascii: "e") || next == UInt8(ascii: "E") {
      position += 1
      if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { position += 1 }
      try digits()
    }
  }

  private mutating func digits() throws(JSONSyntaxError) {
    let start = position
    while let byte = next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { position += 1 }
    if position == start { throw failure() }
  }

  // MARK: Strings

  /// Reads a string, and returns its bytes without the quotation marks.
  private mutating func string() throws(JSONSyntaxError) -> Range<Int> {
    position += 1
    let start = position
    var isASCII = true
    while let byte = next, byte != UInt8(ascii: "\"") {
      if byte < 0x20 { throw failure(.controlCharacter) }
      if byte == UInt8(ascii: "\\") {
        try escape()
      } else {
        isASCII = isASCII && byte < 0x80
        position += 1
      }
    }
    let end = position
    guard next != nil else { throw failure() }
    position += 1
    guard isASCII || String(validating: text[start..<end], as: UTF8.self) != nil else {
      throw failure(.invalidUTF8, at: start - 1)
    }
    return start..<end
  }

  private mutating func escape() throws(JSONSyntaxError) {
    let start = position
    position += 1
    guard let byte = next else { throw failure() }
    switch byte {
    case UInt8(ascii: "u"):
      position -= 1
      let unit = try codeUnit(from: start)
      if UTF16.isTrailSurrogate(unit) { throw failure(.invalidEscape, at: start) }
      guard UTF16.isLeadSurrogate(unit) else { return }
      let second = try codeUnit(from: start)
      guard UTF16.isTrailSurrogate(second) else { throw failure(.invalidEscape, at: start) }
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
      UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
      position += 1
    default: throw failure(.invalidEscape, at: start)
    }
  }

  /// Reads an escape of the form `\u00E9`.
  ///
  /// - Parameter start: the position of the escape that an error reports.
  private mutating func codeUnit(from start: Int) throws(JSONSyntaxError) -> UInt16 {
    guard text.count - position >= 6 else { throw failure(.invalidEscape, at: start) }
    let digits = text[position + 2..<position + 6]
    guard text[position] == UInt8(ascii: "\\"), text[position + 1] == UInt8(ascii: "u"),
      digits.allSatisfy({ Self.hexadecimal($0) != nil })
    else { throw failure(.invalidEscape, at: start) }
    position += 6
    return Self.codeUnit(digits)
  }

  private static func codeUnit(_ digits: ArraySlice<UInt8>) -> UInt16 {
    digits.reduce(0) { $0 << 4 | UInt16(hexadecimal($1) ?? 0) }
  }

  private static func hexadecimal(_ digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
    default: nil
    }
  }

  /// The text of a string that was checked.
  private func unescaped(_ range: Range<Int>) -> String {
    if !text[range].contains(UInt8(ascii: "\\")) { return String(decoding: text[range], as: UTF8.self) }
    var units: [UInt16] = []
    var rest = text[range]
    while let escape = rest.firstIndex(of: UInt8(ascii: "\\")) {
      units += String(decoding: rest[..<escape], as: UTF8.self).utf16
      let isCodeUnit = text[escape + 1] == UInt8(ascii: "u")
      units.append(
        isCodeUnit ? Self.codeUnit(text[escape + 2..<escape + 6]) : UInt16(Self.character(text[escape + 1])))
      rest = rest[(escape + (isCodeUnit ? 6 : 2))...]
    }
    units += String(decoding: rest, as: UTF8.self).utf16
    return String(decoding: units, as: UTF16.self)
  }

  /// The character that an escape of one letter stands for.
  private static func character(_ letter: UInt8) -> UInt8 {
    switch letter {
    case UInt8(ascii: "b"): 0x08
    case UInt8(ascii: "f"): 0x0C
    case UInt8(ascii: "n"): 0x0A
    case UInt8(ascii: "r"): 0x0D
    case UInt8(ascii: "t"): 0x09
    default: letter
    }
  }

  // MARK: Errors

  /// - Parameters:
  ///   - reason: `nil`: the next character, or the end of the text, is not expected.
  ///   - place: the offset of the error; `nil`: the current one.
  private func failure(_ reason: JSONSyntaxError.Reason? = nil, at place: Int? = nil) -> JSONSyntaxError {
    let place = place ?? position
    let before = text[..<place]
    let line = before.lastIndex(of: 0x0A).map { before[($0 + 1)...] } ?? before
    var path = ""
    if case .repeatedMember? = reason { path = containers.filter(\.isObject).map(\.name).joined(separator: ".") }
    return JSONSyntaxError(
      reason: reason ?? (place < text.count ? .unexpected : .endOfText), path: path,
      line: 1 + before.count { $0 == 0x0A },
      // Bytes that continue a scalar don't count.
      column: 1 + line.count { $0 & 0xC0 != 0x80 })
  }
}
