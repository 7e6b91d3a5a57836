import Foundation
import PhotoModel

/// Reads the members of a JSON object, and reports those that were not read. Reading a member removes it.
struct JSONFields {
  private var members: [String: JSONValue]
  private let prefix: String

  /// - Parameter prefix: before the names of members in reports, such as `exifInfo.`.
  init(_ members: [String: JSONValue], prefix: String = "") {
    self.members = members
    self.prefix = prefix
  }

  /// Parses an object; `nil` if the bytes are not a JSON object.
  init?(parsing bytes: some Sequence<UInt8>) {
    guard case .object(let members)? = try? JSONDecoder().decode(JSONValue.self, from: Data(bytes)) else { return nil }
    self.init(members)
  }

  /// Whether it has a member, even `null`.
  func has(_ name: String) -> Bool { members[name] != nil }

  /// A text that is not empty.
  mutating func text(_ name: String) -> String? {
    guard case .string(let text)? = members[name], !text.isEmpty else { return nil }
    members[name] = nil
    return text
  }

  /// A number, also one written as a text.
  mutating func number(_ name: String) -> Double? {
    let number: Double?
    switch members[name] {
    case .integer(let value): number = Double(value)
    case .number(let value): number = value
    case .string(let text): number = Double(text)
    default: return nil
    }
    guard let number, number.isFinite else { return nil }
    members[name] = nil
    return number
  }

  /// Whether a member is `true`. Anything but a truth value is left for ``reportRest(to:)``.
  mutating func flag(_ name: String) -> Bool {
    guard case .bool(let flag)? = members[name] else { return false }
    members[name] = nil
    return flag
  }

  mutating func object(_ name: String) -> JSONFields? {
    guard case .object(let fields)? = members[name] else { return nil }
    members[name] = nil
    return JSONFields(fields, prefix: prefix + name + ".")
  }

  mutating func list(_ name: String) -> [JSONValue]? {
    guard case .array(let values)? = members[name] else { return nil }
    members[name] = nil
    return values
  }

  /// Removes members that need no report: they repeat what the file or another member says.
  mutating func ignore(_ names: String...) { for name in names { members[name] = nil } }

  /// Reports the members that were not read, except those that state nothing.
  func reportRest(to report: ImportReport) {
    for (name, value) in members where !value.statesNothing { report.noteUnmapped(prefix + name) }
  }
}

extension JSONValue {
  /// Whether it stands for the absence of a value.
  fileprivate var statesNothing: Bool {
    switch self {
    case .null: true
    case .bool(let flag): !flag
    case .string(let text): text.isEmpty
    case .array(let values): values.isEmpty
    case .object(let members): members.isEmpty
    case .integer, .number: false
    }
  }
}
