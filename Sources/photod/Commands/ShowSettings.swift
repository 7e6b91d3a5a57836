import ArgumentParser
import Foundation

struct ShowSettings: AsyncParsableCommand {
  /// The printed document.
  enum SettingsFormat: String, CaseIterable, ExpressibleByArgument {
    case values, file, page
  }

  static let configuration = CommandConfiguration(
    commandName: "settings",
    abstract: "Print all settings: their values, a settings file with descriptions, or the reference page.")

  @OptionGroup var common: CommonOptions

  @Option(
    help:
      """
      values: each setting's key, environment variable, default, value, the value's origin, and whether SIGHUP applies \
      a change, as JSON. file: a settings file with each default and its description (config/photod.json). page: the \
      reference page (Settings.md). Default: values.
      """
  )
  var format: SettingsFormat?

  @Flag(help: "Print the reference page in Markdown, as --format page does.")
  var markdown = false

  func validate() throws {
    if markdown && format != nil { throw ValidationError("--markdown is --format page; give one of them") }
  }

  func run() async throws {
    let document: SettingsFormat = markdown ? .page : format ?? .values
    switch document {
    case .values: try printValues()
    case .file: print(SettingsDocuments.file)
    case .page: print(SettingsDocuments.page)
    }
  }

  private func printValues() throws {
    struct Entry: Encodable {
      let key: String
      let environment: String
      let `default`: String
      /// The effective value from all sources.
      let value: String
      let origin: SettingOrigin
      let isReloadable: Bool
    }
    let settings = try common.settings()
    let entries = Settings.table.map { setting in
      Entry(
        key: setting.key, environment: setting.environmentVariable, default: setting.defaultValue.text,
        value: settings.value(of: setting).text, origin: settings.origin(of: setting),
        isReloadable: setting.isReloadable)
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    print(String(decoding: try encoder.encode(entries), as: UTF8.self))
  }
}
