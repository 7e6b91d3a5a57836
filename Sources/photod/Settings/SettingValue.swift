import Configuration

/// The value of a setting.
enum SettingValue: Sendable, Hashable {
  case flag(Bool)
  case text(String)
  case list([String])
  case table([String: String])
  case number(Int)

  /// As `--set` and environment variables write it.
  var text: String {
    switch self {
    case .flag(let flag): String(flag)
    case .text(let text): text
    case .list(let list): list.joined(separator: ",")
    case .table(let table): table.sorted { $0.key < $1.key }.map { "\($0.key)?\($0.value)" }.joined(separator: ",")
    case .number(let number): String(number)
    }
  }

  /// As the settings file writes it.
  var json: String {
    switch self {
    case .flag, .number: text
    case .text(let text): Self.quoted(text)
    case .table(let table):
      "{"
        + table.sorted { $0.key < $1.key }.map { "\(Self.quoted($0.key)): \(Self.quoted($0.value))" }
        .joined(separator: ", ") + "}"
    case .list(let list): "[" + list.map(Self.quoted).joined(separator: ", ") + "]"
    }
  }

  /// A JSON string. Only for texts without control characters, such as those of the settings table.
  static func quoted(_ text: String) -> String {
    "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
  }

  /// A table as `--set` and environment variables write it: `NAME?TEXT`. `nil` if an item has no question mark, or a name
  /// occurs twice.
  init?(tableItems items: [String]) {
    var table: [String: String] = [:]
    for item in items {
      guard let mark = item.firstIndex(of: "?") else { return nil }
      guard table.updateValue(String(item[item.index(after: mark)...]), forKey: String(item[..<mark])) == nil else {
        return nil
      }
    }
    self = .table(table)
  }

  /// `nil` for types that settings don't have.
  init?(_ content: ConfigContent) {
    switch content {
    case .bool(let flag): self = .flag(flag)
    case .string(let text): self = .text(text)
    // An empty variable is an empty list.
    case .stringArray(let list): self = .list(list.filter { !$0.isEmpty })
    case .int(let number): self = .number(number)
    default: return nil
    }
  }
}

extension Setting.Field {
  var type: ConfigType {
    switch self {
    case .flag: .bool
    case .text, .choice: .string
    case .list, .table: .stringArray
    case .number: .int
    }
  }

  /// The required kind of value, for error messages.
  var typeName: String {
    switch self {
    case .flag: "true or false"
    case .text, .choice: "a string"
    case .list: "a list of strings"
    case .table: "a table of strings (NAME?TEXT,NAME?TEXT on the command line)"
    case .number: "a whole number"
    }
  }
}
