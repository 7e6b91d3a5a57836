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
  private let lookUp: @Sendable (Setting) throws(SettingsError) -> SettingValue?

  /// The value of a setting; `nil` if this source does not set it. Throws if it has another type.
  func value(of setting: Setting) throws(SettingsError) -> SettingValue? { try lookUp(setting) }

  /// Values by the names of environment variables.
  static func variables(_ origin: SettingOrigin, _ variables: [String: String]) -> SettingsSource {
    SettingsSource(origin: origin) { setting throws(SettingsError) in
      guard let text = variables[setting.environmentVariable] else { return nil }
      if let value = SettingValue(text, as: setting.field) { return value }
      throw SettingsError(
        description: "\(setting.key) (\(setting.environmentVariable)) is not \(setting.field.typeName)")
    }
  }

  static func file(_ file: SettingsFile) -> SettingsSource {
    SettingsSource(origin: .file) { setting throws(SettingsError) in
      guard let written = file.values[setting.key] else { return nil }
      if let value = SettingValue(written, as: setting.field) { return value }
      throw SettingsError(description: "\(file.path): \(mistake(in: written, of: setting))")
    }
  }

  private static func mistake(in value: FileValue, of setting: Setting) -> String {
    if case (.table, .object(let members)) = (setting.field, value),
      let name = members.keys.sorted().first(where: { !$0.hasPrefix("//") && members[$0]?.text == nil })
    {
      return "\(setting.key).\(name) is not a string"
    }
    if case (.list, .text(let text)) = (setting.field, value) {
      return "\(setting.key) must be a list, such as [\(SettingValue.quoted(text))]"
    }
    return "\(setting.key) is not \(setting.field.fileTypeName)"
  }
}
