import ArgumentParser
import Configuration
import Foundation

struct ShowSettings: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "settings",
    abstract: "Print every setting's key, environment variable, default and value, as JSON.")

  @OptionGroup var options: CommonOptions

  func run() async throws {
    struct Entry: Encodable {
      let key: String
      let environment: String
      let `default`: String
      /// The effective value from all sources.
      let value: String
    }
    let entries = zip(Settings.defaults, try await options.values()).map { setting, value in
      Entry(
        key: setting.key, environment: Settings.environmentName(setting.key), default: Self.text(setting.value),
        value: value.text)
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    print(String(decoding: try encoder.encode(entries), as: UTF8.self))
  }

  private static func text(_ value: ConfigContent) -> String {
    switch value {
    case .string(let text): text
    case .int(let number): String(number)
    case .bool(let flag): String(flag)
    case .stringArray(let list): list.joined(separator: ",")
    default: "\(value)"
    }
  }
}
