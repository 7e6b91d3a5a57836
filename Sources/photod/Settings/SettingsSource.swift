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
  private let lookUp: @Sendable (Setting) throws -> ConfigValue?

  /// The value of a setting; `nil` if this source does not set it. Throws if it has another type.
  func value(of setting: Setting) throws(SettingsError) -> SettingValue? {
    do {
      return try lookUp(setting).flatMap { SettingValue($0.content) }
    } catch {
      throw SettingsError(
        description: "\(setting.key) (\(setting.environmentVariable)) is not \(setting.field.typeName)")
    }
  }

  /// Values by the names of environment variables.
  static func variables(_ origin: SettingOrigin, _ variables: [String: String]) -> SettingsSource {
    let provider = EnvironmentVariablesProvider(environmentVariables: variables)
    return SettingsSource(origin: origin) { setting in
      // The provider splits names into words by its own rules, so it is given one word at a time.
      try provider.value(forKey: AbsoluteConfigKey(setting.environmentWords), type: setting.field.type).value
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
    return SettingsSource(origin: .file) { setting in
      try snapshot.value(forKey: AbsoluteConfigKey(ConfigKey(setting.key)), type: setting.field.type).value
    }
  }

  private static func rejectUnknownKeys(
    in value: Any, of file: String, at key: String = ""
  ) throws(SettingsError) {
    if let object = value as? [String: Any] {
      // A key that begins with // is a comment on the next key.
      for (name, value) in object where !name.hasPrefix("//") {
        try rejectUnknownKeys(in: value, of: file, at: key.isEmpty ? name : "\(key).\(name)")
      }
    } else if !Settings.keys.contains(key) {
      throw SettingsError(description: "\(file): there is no setting \(key.isEmpty ? "with an empty name" : key)")
    }
  }
}
