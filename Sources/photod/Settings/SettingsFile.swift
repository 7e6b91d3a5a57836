import Foundation
import JSONText
import Primitives

/// A JSON value of the settings file.
enum FileValue: Sendable, Decodable {
  case flag(Bool)
  case number(Int)
  case text(String)
  case list([FileValue])
  case object([String: FileValue])
  /// Null, or a number with a fraction: no setting has such a value.
  case other

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let flag = try? container.decode(Bool.self) {
      self = .flag(flag)
    } else if let number = try? container.decode(Int.self) {
      self = .number(number)
    } else if let text = try? container.decode(String.self) {
      self = .text(text)
    } else if let list = try? container.decode([FileValue].self) {
      self = .list(list)
    } else if let object = try? container.decode([String: FileValue].self) {
      self = .object(object)
    } else {
      self = .other
    }
  }

  var text: String? { if case .text(let text) = self { text } else { nil } }
}

/// The settings file: a JSON object, whose members are settings and groups of settings. A member whose name begins with
/// `//` is a comment.
struct SettingsFile: Sendable {
  let path: String
  /// By the keys of the settings, without comments.
  let values: [String: FileValue]

  /// Throws if the file can't be read, is not a JSON object, or has a key that is not a setting or is there twice.
  init(path: String) throws(SettingsError) {
    guard let data = FileManager.default.contents(atPath: path) else {
      throw SettingsError(description: "the settings file \(path) can't be read")
    }
    // The decoder also takes UTF-16 and UTF-32, which have zero bytes here.
    guard !data.contains(0) else { throw SettingsError(description: "the settings file \(path) is not UTF-8") }
    do throws(JSONSyntaxError) {
      try JSONSyntax.check(Array(data), commentPrefix: "//")
    } catch {
      if case .repeatedMember = error.reason {
        throw SettingsError(description: "\(path): \(error.path) is written twice; remove one of them")
      }
      throw SettingsError(description: "the settings file \(path) is not valid JSON: \(error)")
    }
    let file: FileValue
    do {
      file = try JSONDecoder().decode(FileValue.self, from: data)
    } catch {
      throw SettingsError(description: "the settings file \(path) is not valid JSON: \(Self.reason(error))")
    }
    guard case .object(let members) = file else {
      throw SettingsError(description: "the settings file \(path) is not a JSON object")
    }
    var values: [String: FileValue] = [:]
    try Self.collect(members, in: "", of: path, into: &values)
    self.path = path
    self.values = values
  }

  /// Collects the settings of an object, which is the file or a group.
  private static func collect(
    _ members: [String: FileValue], in prefix: String, of path: String, into values: inout [String: FileValue]
  ) throws(SettingsError) {
    for (name, value) in members.sortedByKey where !name.hasPrefix("//") {
      let key = prefix + name
      if Settings.keys.contains(key) {
        // One form only: with two, a file could set one setting twice.
        if let dot = name.firstIndex(of: ".") {
          throw SettingsError(
            description: "\(path): write \(name) as a member of an object: "
              + "{\"\(name[..<dot])\": {\"\(name[name.index(after: dot)...])\": VALUE}}")
        }
        values[key] = value
      } else if case .object(let members) = value, Settings.groups.contains(key) || hasMembers(members) {
        try collect(members, in: key + ".", of: path, into: &values)
      } else {
        throw SettingsError(description: "\(path): \(Settings.unknown(key))")
      }
    }
  }

  private static func hasMembers(_ members: [String: FileValue]) -> Bool {
    members.keys.contains { !$0.hasPrefix("//") }
  }

  /// Where the JSON is wrong, as the parser describes it.
  private static func reason(_ error: any Error) -> String {
    guard case DecodingError.dataCorrupted(let context) = error else { return error.localizedDescription }
    let cause = (context.underlyingError as NSError?)?.userInfo["NSDebugDescription"] as? String
    return cause ?? context.debugDescription
  }
}
