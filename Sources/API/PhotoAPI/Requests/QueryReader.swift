import AccessControl
import HTTPCore
import PhotoModel
import Primitives

/// Reads a query's parameters one by one. At the end it rejects parameters that were not read: a typing error must not
/// silently change the response.
struct QueryReader {
  /// The parameters as sent, until `replacePreset` replaces the preset.
  private(set) var values: [String: String] = [:]
  private var known: [String] = []

  /// - Throws: 400 if the query is malformed or names a parameter twice.
  init(_ target: RequestTarget) throws(Problem) {
    guard let parameters = target.parameters else {
      throw Problem(400, "malformed-request", "Bad Request", detail: "The query contains a malformed percent escape.")
    }
    for (name, value) in parameters {
      // Authentication has already checked the parameters of a signature.
      if URLSignature.parameterNames.contains(name) { continue }
      if values.updateValue(value, forKey: name) != nil {
        throw Self.invalid(name, "is given more than once")
      }
    }
  }

  /// The value of a parameter; `nil` if it is absent.
  mutating func text(_ name: String) -> String? {
    known.append(name)
    return values[name]
  }

  /// Replaces the parameter `preset` by the preset's parameters. The query may repeat one of them with the same text;
  /// throws 400 if the text differs.
  mutating func replacePreset(_ presets: ImagePresets) throws(Problem) {
    guard let name = text("preset") else { return }
    values["preset"] = nil
    for (name, value) in try presets.parameters(of: name).sortedByKey {
      if let given = values.updateValue(value, forKey: name), given != value {
        throw ImagePresets.contradiction(name, preset: value)
      }
    }
  }

  /// One of the raw values of an enumeration.
  mutating func word<Word: RawRepresentable & CaseIterable>(
    _ name: String, default standard: Word
  ) throws(Problem) -> Word where Word.RawValue == String {
    guard let text = text(name) else { return standard }
    return try Self.parseWord(text, of: name)
  }

  /// One of the raw values of an enumeration; `nil` if the parameter is absent.
  mutating func optionalWord<Word: RawRepresentable & CaseIterable>(
    _ name: String
  ) throws(Problem) -> Word? where Word.RawValue == String {
    guard let text = text(name) else { return nil }
    let word: Word = try Self.parseWord(text, of: name)
    return word
  }

  /// The case with this raw value.
  ///
  /// - Parameter name: of the parameter, or of the member of a JSON object.
  static func parseWord<Word: RawRepresentable & CaseIterable>(
    _ text: String, of name: String
  ) throws(Problem) -> Word where Word.RawValue == String {
    guard let word = Word(rawValue: text) else { throw unknownWord(name, known: Word.allCases.map(\.rawValue)) }
    return word
  }

  /// Not inlined: the code above exists once for each enumeration.
  @inline(never)
  private static func unknownWord(_ name: String, known words: [String]) -> Problem {
    invalid(name, "must be one of \(words.joined(separator: ", "))")
  }

  mutating func flag(_ name: String, default standard: Bool = false) throws(Problem) -> Bool {
    switch text(name) {
    case nil: standard
    case "true": true
    case "false": false
    default: throw Self.invalid(name, "must be true or false")
    }
  }

  mutating func number(_ name: String, in range: ClosedRange<Int>) throws(Problem) -> Int? {
    guard let text = text(name) else { return nil }
    guard text.utf8.allSatisfy(HTTPGrammar.isDigit), let number = Int(text), range.contains(number) else {
      throw Self.invalid(name, "must be a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  /// Parses a list of names such as `localIdentifier,creationDate`. Throws 400 with the name that is unknown.
  static func names<Name: RawRepresentable & CaseIterable & Hashable>(
    _ parameter: String, _ text: String
  ) throws(Problem) -> Set<Name> where Name.RawValue == String {
    var names: Set<Name> = []
    for text in text.split(separator: ",", omittingEmptySubsequences: false) {
      guard let name = Name(rawValue: String(text)) else {
        let all = Name.allCases.map(\.rawValue).joined(separator: ", ")
        throw invalid(parameter, "must be a list of asset properties; \(text) is not one of: \(all)")
      }
      names.insert(name)
    }
    return names
  }

  /// The identifier of an asset or a collection.
  mutating func identifier(_ name: String) throws(Problem) -> LocalIdentifier? {
    try text(name).map { text throws(Problem) in try LocalIdentifier(parameter: text, name) }
  }

  /// Rejects parameters that were not read.
  func finish() throws(Problem) {
    guard let unknownName = values.keys.filter({ !known.contains($0) }).min() else { return }
    let names = known.isEmpty ? "none" : known.joined(separator: ", ")
    throw Problem(
      400, "unknown-parameter", "Unknown parameter",
      detail: "There is no parameter with that name. The parameters are: \(names).",
      parameter: unknownName)
  }

  static func invalid(_ name: String, _ rule: String) -> Problem {
    .invalidParameter("\(name) \(rule).", parameter: name)
  }
}

extension LocalIdentifier {
  /// Parses an identifier. Identifiers are URL-safe, so other texts are rejected without a lookup.
  init(parameter text: String, _ name: String) throws(Problem) {
    guard PlainName.isValid(text) else {
      throw QueryReader.invalid(name, "must be a localIdentifier: 1 to 64 of A-Z, a-z, 0-9, -, . and _")
    }
    self.init(text)
  }
}
