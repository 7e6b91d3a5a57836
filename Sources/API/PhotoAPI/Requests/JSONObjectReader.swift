import FoundationEssentials
import HTTPCore
import JSONText
import PhotoModel
import Primitives

/// Reads the members of a request's JSON object one by one. At the end it rejects members that were not read, as
/// ``QueryReader`` does.
struct JSONObjectReader {
  private var members: [String: JSONValue]
  private var known: [String] = []

  /// Parses the body of a request. Throws 415 if its type is not JSON, 400 if it is not a JSON object, or
  /// if an object has a member twice.
  init(_ request: HTTPRequest) throws(Problem) {
    let type = request.head.value(of: .contentType)?.split(separator: ";").first?.trimmed.lowercased()
    guard type == JSONBody.mediaType else {
      throw Problem(
        415, "media-type-unsupported", "Unsupported media type", detail: "Send the body as \(JSONBody.mediaType).")
    }
    do throws(JSONSyntaxError) {
      try JSONSyntax.check(request.body)
    } catch {
      throw Problem(error)
    }
    guard let value = try? JSONDecoder().decode(JSONValue.self, from: Data(request.body)) else {
      throw Problem(
        400, "malformed-request", "Bad Request", detail: "A number in the body is too large to be represented.")
    }
    guard case .object(let members) = value else {
      throw Problem(400, "malformed-request", "Bad Request", detail: "The body is not a JSON object.")
    }
    self.members = members
  }

  init(_ members: [String: JSONValue]) { self.members = members }

  mutating func value(_ name: String) -> JSONValue? {
    markRead(name)
    return members[name] == .null ? nil : members[name]
  }

  mutating func markRead(_ name: String) {
    if !known.contains(name) { known.append(name) }
  }

  func hasMember(_ name: String) -> Bool { members[name] != nil }

  mutating func text(_ name: String) throws(Problem) -> String? {
    switch value(name) {
    case nil: return nil
    case .string(let text): return text
    default: throw QueryReader.invalid(name, "must be a string")
    }
  }

  mutating func flag(_ name: String, default standard: Bool = false) throws(Problem) -> Bool {
    switch value(name) {
    case nil: return standard
    case .bool(let flag): return flag
    default: throw QueryReader.invalid(name, "must be true or false")
    }
  }

  mutating func number(_ name: String, in range: ClosedRange<Int>) throws(Problem) -> Int? {
    switch value(name) {
    case nil: return nil
    case .integer(let number) where range.contains(number): return number
    default: throw QueryReader.invalid(name, "must be a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
  }

  /// One of the raw values of an enumeration.
  mutating func word<Word: RawRepresentable & CaseIterable>(
    _ name: String, default standard: Word
  ) throws(Problem) -> Word where Word.RawValue == String {
    guard let text = try text(name) else { return standard }
    return try QueryReader.parseWord(text, of: name)
  }

  /// A nested object; `{}` if the member is absent.
  mutating func object(_ name: String) throws(Problem) -> JSONObjectReader {
    switch value(name) {
    case nil: return JSONObjectReader([:])
    case .object(let members): return JSONObjectReader(members)
    default: throw QueryReader.invalid(name, "must be an object")
    }
  }

  /// Adds members that a preset sets. A member that is there already must have the same value; another one is a 400.
  ///
  /// - Parameter parameters: as in a query.
  mutating func add(ofPreset parameters: [String: String]) throws(Problem) {
    for (name, text) in parameters.sortedByKey {
      let value = Self.value(ofPreset: name, text)
      if let member = members[name], member != .null, !Self.isEqual(member, value) {
        throw ImagePresets.contradiction(name, preset: text)
      }
      members[name] = value
    }
  }

  /// The member for a parameter of a preset, in the type that it has in JSON.
  private static func value(ofPreset name: String, _ text: String) -> JSONValue {
    let value: JSONValue? =
      switch name {
      case "quality", "bitDepth": Int(text).map(JSONValue.integer)
      case "posterTime": Double(text).map(JSONValue.number)
      case "animated": .bool(text == "true")
      default: nil
      }
    return value ?? .string(text)
  }

  /// Whether a member has the value of a preset. A preset has a whole number of seconds as a `number`, JSON as an
  /// `integer`.
  private static func isEqual(_ member: JSONValue, _ preset: JSONValue) -> Bool {
    if case .integer(let whole) = member, case .number(let number) = preset { return Double(whole) == number }
    return member == preset
  }

  /// A list of asset identifiers, which may be empty; `nil` if the member is absent.
  mutating func identifiers(_ name: String, atMost limit: Int) throws(Problem) -> [LocalIdentifier]? {
    guard let texts = try texts(name, atMost: limit) else { return nil }
    var identifiers: [LocalIdentifier] = []
    for text in texts { identifiers.append(try LocalIdentifier(parameter: text, name)) }
    return identifiers
  }

  /// A list of strings.
  mutating func texts(_ name: String, atMost limit: Int) throws(Problem) -> [String]? {
    guard let value = value(name) else { return nil }
    guard case .array(let list) = value, list.count <= limit else {
      throw QueryReader.invalid(name, "must be a list of at most \(limit) strings")
    }
    var texts: [String] = []
    for item in list {
      guard case .string(let text) = item else { throw QueryReader.invalid(name, "must be a list of strings") }
      texts.append(text)
    }
    return texts
  }

  /// Rejects members that were not read.
  func finish() throws(Problem) {
    guard let unknownName = members.keys.filter({ !known.contains($0) }).min() else { return }
    let names = known.isEmpty ? "none" : known.joined(separator: ", ")
    throw Problem(
      400, "unknown-parameter", "Unknown parameter",
      detail: "There is no member with that name. The members are: \(names).", parameter: unknownName)
  }
}

extension Substring {
  fileprivate var trimmed: Substring {
    var text = self
    while text.first == " " || text.first == "\t" { text.removeFirst() }
    while text.last == " " || text.last == "\t" { text.removeLast() }
    return text
  }
}
