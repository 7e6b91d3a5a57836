import Foundation
import Primitives

/// The value of a setting.
enum SettingValue: Sendable, Hashable {
  case flag(Bool)
  case text(String)
  case list([String])
  case table([String: String])
  case number(Int)

  /// The value in the form of `--set` and environment variables.
  var text: String {
    switch self {
    case .flag(let flag): String(flag)
    case .text(let text): text
    case .list(let list): list.joined(separator: ",")
    case .table(let table): table.sortedByKey.map { "\($0.key)?\($0.value)" }.joined(separator: ",")
    case .number(let number): String(number)
    }
  }

  /// The value in the form of the settings file.
  var json: String {
    switch self {
    case .flag, .number: text
    case .text(let text): Self.quoted(text)
    case .table(let table):
      "{"
        + table.sortedByKey.map { "\(Self.quoted($0.key)): \(Self.quoted($0.value))" }
        .joined(separator: ", ") + "}"
    case .list(let list): "[" + list.map(Self.quoted).joined(separator: ", ") + "]"
    }
  }

  /// A JSON string (RFC 8259 §7).
  static func quoted(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
      if scalar.value < 0x20 {
        quoted += scalar.value < 0x10 ? "\\u000" : "\\u00"
        quoted += String(scalar.value, radix: 16)
      } else {
        if scalar == "\\" || scalar == "\"" { quoted += "\\" }
        quoted.unicodeScalars.append(scalar)
      }
    }
    return quoted + "\""
  }

  /// A value as `--set` and environment variables write it; `nil` if it has another type. Lists have commas between
  /// their items; an empty text is an empty list.
  init?(_ text: String, as field: Setting.Field) {
    switch field {
    case .flag:
      switch text.lowercased() {
      case "true", "yes", "1": self = .flag(true)
      case "false", "no", "0": self = .flag(false)
      default: return nil
      }
    case .number:
      guard let number = Int(text) else { return nil }
      self = .number(number)
    case .text, .choice: self = .text(text)
    case .list: self = .list(Self.items(of: text))
    case .table: self.init(tableItems: Self.items(of: text))
    }
  }

  private static func items(of text: String) -> [String] {
    text.split(separator: ",").map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }.filter { !$0.isEmpty }
  }

  /// A table whose items are `NAME?TEXT`. `nil` if an item has no question mark, or a name occurs twice.
  private init?(tableItems items: [String]) {
    var table: [String: String] = [:]
    for item in items {
      guard let mark = item.firstIndex(of: "?") else { return nil }
      guard table.updateValue(String(item[item.index(after: mark)...]), forKey: String(item[..<mark])) == nil else {
        return nil
      }
    }
    self = .table(table)
  }

  /// A value as the settings file writes it; `nil` if it has another type. Members of a table whose names begin with
  /// `//` are comments.
  init?(_ value: FileValue, as field: Setting.Field) {
    switch (field, value) {
    case (.flag, .flag(let flag)): self = .flag(flag)
    case (.number, .number(let number)): self = .number(number)
    case (.text, .text(let text)), (.choice, .text(let text)): self = .text(text)
    case (.list, .list(let values)):
      let items = values.compactMap(\.text)
      guard items.count == values.count else { return nil }
      self = .list(items.filter { !$0.isEmpty })
    case (.table, .object(let members)):
      let written = members.filter { !$0.key.hasPrefix("//") }
      let table = written.compactMapValues(\.text)
      guard table.count == written.count else { return nil }
      self = .table(table)
    default: return nil
    }
  }
}

extension Setting.Field {
  /// The required kind of value, for error messages.
  var typeName: String {
    switch self {
    case .flag: "true or false"
    case .text, .choice: "a string"
    case .list: "a list of strings"
    case .table: "a table of strings (NAME?TEXT,NAME?TEXT)"
    case .number: "a whole number"
    }
  }

  /// The name of this type for the reference page.
  var kindName: String {
    switch self {
    case .flag: "true or false"
    case .text, .choice: "text"
    case .list: "list of texts"
    case .table: "texts by name"
    case .number: "whole number"
    }
  }

  /// The name of this type for the settings file.
  var fileTypeName: String {
    if case .table = self { "an object of strings" } else { typeName }
  }
}
