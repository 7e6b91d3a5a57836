import Configuration
import Foundation

/// An invalid setting, described for the operator.
struct SettingsError: Error, CustomStringConvertible {
  let description: String
}

/// Where the value of a setting came from.
enum SettingOrigin: String, Sendable, Encodable {
  case standard = "default"
  case file, environment, commandLine
}

/// One place that sets settings: the settings file, the environment or the command line.
struct SettingsSource: Sendable {
  let origin: SettingOrigin
  private let lookUp: @Sendable (Setting) throws -> SettingValue?

  /// The value of a setting; `nil` if this source does not set it. Throws if it has another type.
  func value(of setting: Setting) throws(SettingsError) -> SettingValue? {
    do {
      guard let value = try lookUp(setting) else { return nil }
      guard case (.table, .list(let items)) = (setting.field, value) else { return value }
      if let table = SettingValue(tableItems: items) { return table }
    } catch {
      // The error below names the setting; the library's own error does not.
    }
    throw SettingsError(
      description: "\(setting.key) (\(setting.environmentVariable)) is not \(setting.field.typeName)")
  }

  /// Values by the names of environment variables.
  static func variables(_ origin: SettingOrigin, _ variables: [String: String]) -> SettingsSource {
    let provider = EnvironmentVariablesProvider(environmentVariables: variables)
    return SettingsSource(origin: origin) { setting in
      // The provider splits names into words by its own rules, so it is given one word at a time.
      try provider.value(forKey: AbsoluteConfigKey(setting.environmentWords), type: setting.field.type).value
        .flatMap { SettingValue($0.content) }
    }
  }

  /// Reads a settings file. Throws if it can't be read, is not JSON, or has a key that is no setting.
  static func file(_ path: String) throws -> SettingsSource {
    guard let data = FileManager.default.contents(atPath: path) else {
      throw SettingsError(description: "the settings file \(path) can't be read")
    }
    let object: Any
    do {
      object = try JSONSerialization.jsonObject(with: data)
    } catch {
      throw SettingsError(description: "the settings file \(path) is not valid JSON: \(error.localizedDescription)")
    }
    try rejectUnknownKeys(in: object, of: path)
    let snapshot: JSONSnapshot
    do {
      snapshot = try JSONSnapshot(data: data.bytes, providerName: path, parsingOptions: .default)
    } catch {
      throw SettingsError(description: "the settings file \(path): \(error)")
    }
    let tables = try tables(in: object, of: path)
    return SettingsSource(origin: .file) { setting in
      if case .table = setting.field { return tables[setting.key].map(SettingValue.table) }
      return try snapshot.value(forKey: AbsoluteConfigKey(ConfigKey(setting.key)), type: setting.field.type).value
        .flatMap { SettingValue($0.content) }
    }
  }

  /// The settings that are tables. They are members of the file's object, without a group.
  private static func tables(in file: Any, of path: String) throws(SettingsError) -> [String: [String: String]] {
    var tables: [String: [String: String]] = [:]
    for setting in Settings.table {
      guard case .table = setting.field, let value = (file as? [String: Any])?[setting.key] else { continue }
      guard let members = value as? [String: Any] else {
        throw SettingsError(description: "\(path): \(setting.key) is not an object of strings")
      }
      var table: [String: String] = [:]
      for (name, text) in members where !name.hasPrefix("//") {
        guard let text = text as? String else {
          throw SettingsError(description: "\(path): \(setting.key).\(name) is not a string")
        }
        table[name] = text
      }
      tables[setting.key] = table
    }
    return tables
  }

  private static func rejectUnknownKeys(
    in value: Any, of file: String, at key: String = ""
  ) throws(SettingsError) {
    if Settings.tableKeys.contains(key) { return }
    if let object = value as? [String: Any] {
      // A key that begins with // is a comment on the next key.
      for (name, value) in object where !name.hasPrefix("//") {
        try rejectUnknownKeys(in: value, of: file, at: key.isEmpty ? name : "\(key).\(name)")
      }
    } else if !Settings.keys.contains(key) {
      throw SettingsError(description: "\(file): \(Settings.unknown(key))")
    }
  }
}
