import Configuration

/// The value of a setting.
enum SettingValue: Sendable, Hashable {
  case flag(Bool)
  case text(String)
  case list([String])
  case number(Int)

  /// As `--set` and environment variables write it.
  var text: String {
    switch self {
    case .flag(let flag): String(flag)
    case .text(let text): text
    case .list(let list): list.joined(separator: ",")
    case .number(let number): String(number)
    }
  }

  /// As the settings file writes it.
  var json: String {
    switch self {
    case .flag, .number: text
    case .text(let text): Self.quoted(text)
    case .list(let list): "[" + list.map(Self.quoted).joined(separator: ", ") + "]"
    }
  }

  /// A JSON string. Only for texts without control characters, such as those of the settings table.
  static func quoted(_ text: String) -> String {
    "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
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
    case .list: .stringArray
    case .number: .int
    }
  }

  /// What a value must be, for error messages.
  var typeName: String {
    switch self {
    case .flag: "true or false"
    case .text, .choice: "a string"
    case .list: "a list of strings"
    case .number: "a whole number"
    }
  }
}
