import Foundation
import Testing

/// Every setting, by every way to set it.
@Suite("Settings")
struct SettingsTests {
  private struct Setting {
    let key: String
    let environment: String
    let standard: String
    let value: String

    /// Another value than the default, that is one too.
    var other: String {
      switch (key, standard) {
      case ("library", _), ("data", _): "/tmp/elsewhere"
      case ("listen", _): "127.0.0.1:1,unix:/tmp/photod.socket"
      case ("allowedHosts", _): "photos.example,other.example"
      case ("trustedProxies", _): "10.0.0.0/8,unix"
      case ("corsOrigins", _), ("corsWriteOrigins", _): "https://photos.example"
      case ("timeZone", _): "Europe/Vienna"
      case ("logLevel", _): "debug"
      case ("upload.template", _): "uploads/{name}"
      case ("limits.sourceSide", _): "65000"
      case (_, "true"): "false"
      case (_, "false"): "true"
      default: Int(standard).map { String($0 + 1) } ?? "no number, and not known here"
      }
    }

    /// The same as a settings file has it.
    var json: Any {
      switch standard {
      case "true", "false": other == "true"
      case _ where ["listen", "allowedHosts", "trustedProxies", "corsOrigins", "corsWriteOrigins"].contains(key):
        other.split(separator: ",").map(String.init)
      default: Int(other) ?? other
      }
    }

    /// Whether any text at all is a value.
    var isValidUTF8: Bool { Int(standard) == nil && standard != "true" && standard != "false" }
  }

  private static func settings(
    _ arguments: [String] = [], environment: [String: String] = [:]
  ) throws -> [Setting] {
    let run = try TestDaemon.run(["settings"] + arguments, environment: environment, isBare: true)
    try #require(run.status == 0, "\(run.error)")
    let entries = try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [[String: String]]
    return try #require(entries).map { entry in
      Setting(
        key: entry["key"] ?? "", environment: entry["environment"] ?? "", standard: entry["default"] ?? "",
        value: entry["value"] ?? "")
    }
  }

  /// Nested as its keys say.
  private static func file(_ settings: [Setting]) throws -> String {
    var object: [String: Any] = [:]
    for setting in settings {
      let parts = setting.key.split(separator: ".").map(String.init)
      if parts.count == 1 {
        object[parts[0]] = setting.json
      } else {
        var inner = object[parts[0]] as? [String: Any] ?? [:]
        inner[parts[1]] = setting.json
        object[parts[0]] = inner
      }
    }
    let path = FileManager.default.temporaryDirectory.path + "/photod-settings-\(UUID().uuidString).json"
    try JSONSerialization.data(withJSONObject: object).write(to: URL(filePath: path))
    return path
  }

  @Test("every setting takes effect from a file, from the environment and from --set")
  func everyKey() throws {
    let standard = try Self.settings()
    #expect(standard.count > 80 && standard.allSatisfy { $0.value == $0.standard })
    let file = try Self.file(standard)
    defer { try? FileManager.default.removeItem(atPath: file) }
    let variables = Dictionary(uniqueKeysWithValues: standard.map { ($0.environment, $0.other) })
    let ways = [
      ("file", try Self.settings(["--config", file])), ("environment", try Self.settings(environment: variables)),
      ("--set", try Self.settings(standard.flatMap { ["--set", "\($0.key)=\($0.other)"] })),
    ]
    for (way, found) in ways {
      for (setting, before) in zip(found, standard) {
        #expect(
          setting.key == before.key && setting.value == before.other && setting.value != before.standard,
          "\(setting.key) from \(way)")
      }
    }
  }

  @Test("flags outweigh the environment, and the environment outweighs the file, key by key")
  func weights() throws {
    let standard = try Self.settings()
    let file = try Self.file(standard)
    defer { try? FileManager.default.removeItem(atPath: file) }
    let variables = Dictionary(uniqueKeysWithValues: standard.map { ($0.environment, $0.standard) })
    for found in try Self.settings(["--config", file], environment: variables) {
      #expect(found.value == found.standard, "\(found.key)")
    }
    let flags = standard.flatMap { ["--set", "\($0.key)=\($0.other)"] }
    for found in try Self.settings(flags, environment: variables) {
      #expect(found.value == found.other, "\(found.key)")
    }
  }

  @Test("what is no value of a setting is refused by the setting's name")
  func refused() throws {
    let standard = try Self.settings().filter { !$0.isValidUTF8 }
    #expect(standard.count > 70)
    for setting in standard {
      let run = try TestDaemon.run(["settings", "--set", "\(setting.key)=perhaps"])
      #expect(run.status != 0 && run.error.contains(setting.key) && run.error.contains(setting.environment))
    }
  }

  @Test("a variable is called by the words of its key")
  func names() throws {
    let names = Dictionary(uniqueKeysWithValues: try Self.settings().map { ($0.key, $0.environment) })
    for (key, name) in [
      ("listen", "PHOTOD_LISTEN"), ("scan.intervalSeconds", "PHOTOD_SCAN_INTERVAL_SECONDS"),
      ("access.signedURLLifetimeSeconds", "PHOTOD_ACCESS_SIGNED_URL_LIFETIME_SECONDS"),
      ("caching.managersPerCaller", "PHOTOD_CACHING_MANAGERS_PER_CALLER"),
    ] { #expect(names[key] == name) }
    #expect(Set(names.values).count == names.count)
  }
}
