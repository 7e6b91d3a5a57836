// The settings: a field for each value, and the table that describes the fields.
//
// Values come from built-in defaults, the settings file, PHOTOD_* variables and the command line; later sources
// override earlier ones. A field's initial value is the default. Where a module has a type for its limits, the field is
// a member of that type, so the module states the default.

import AccessControl
import Foundation
import ImageCodec
import ImageService
import LibraryFiles
import Logging
import OriginalDownloads
import PhotoAPI

struct Settings: Sendable {
  var listen = ["127.0.0.1:8080"]
  var library = ""
  var data = ""
  var allowAnonymous = false
  var namesNeedScope = false
  var allowedHosts: [String] = []
  var trustedProxies: [String] = []
  var corsOrigins: [String] = []
  var corsWriteOrigins: [String] = []
  var timeZone = "UTC"
  /// The queries of presets, by name.
  var presets: [String: String] = [:]
  var logLevel = Logger.Level.info
  var logFormat = LogFormatSetting.automatic
  var accessLog = true
  /// 0: the smaller of 512 MiB and a quarter of the machine's memory.
  var memoryBudgetBytes = 0
  var drainTimeout = Duration.seconds(20)
  var cache = CacheSettings()
  var access = AccessLimits()
  var render = RenderSettings()
  var decoders = DecoderSettings()
  var fetch = FetchSettings()
  var caching = CachingLimits()
  var changes = ChangeSettings()
  var codec = CodecLimits()
  var uploads = UploadSettings()
  var files = LibraryFiles.Options()
  var archives = ArchiveLimits()
  var scan = ScanSettings()
  var watch = WatchSettings()
  var http = HTTPSettings()
  var s3 = S3Settings()
  var remote = RemoteSettings()
  var originals = OriginalDownloads.Limits()
  var kept = KeptOriginals.Limits()
  /// By key. Settings that no source sets are absent.
  private var origins: [String: SettingOrigin] = [:]

  static let defaults = Settings()

  /// All settings, in the order of config/photod.json. The keys of one group (`cache.*`) are adjacent.
  static let table: [Setting] = Array(
    [
      generalTable, cacheTable, accessTable, renderTable, decodersTable, fetchTable, cachingTable, changesTable,
      limitsTable, uploadTable, archivesTable, scanTable, httpTable, remoteTable, originalsTable,
    ].joined())

  static let keys = Set(table.map(\.key))
  static let groups = Set(table.compactMap(\.group))

  /// Reads all sources. An unknown key in the file or in `flags`, an unknown PHOTOD_* variable, a value of the wrong
  /// type and a value out of range are errors that name the key.
  ///
  /// - Parameters:
  ///   - file: the path from `--config`. If `nil`, the path in `PHOTOD_CONFIG`; otherwise no file is read.
  ///   - flags: keys and values from the command line, with the values as text.
  static func load(file: String?, flags: [String: String]) throws -> Settings {
    let environment = ProcessInfo.processInfo.environment
    try EnvironmentNames.check(environment)
    var variables: [String: String] = [:]
    for (key, text) in flags {
      guard let setting = table.first(where: { $0.key == key }) else {
        throw unknown(key)
      }
      variables[setting.environmentVariable] = text
    }
    var sources: [SettingsSource] = [.variables(.commandLine, variables), .variables(.environment, environment)]
    if let file = file ?? environment[EnvironmentNames.settingsFile] {
      sources.append(.file(try SettingsFile(path: file)))
    }
    var settings = Settings()
    for setting in table {
      for source in sources {
        guard let value = try source.value(of: setting) else { continue }
        try settings.set(setting, to: value)
        settings.origins[setting.key] = source.origin
        break
      }
    }
    for setting in table { try setting.validate?(&settings) }
    return settings
  }

  /// The error for a key that does not exist, with the nearest one that does.
  static func unknown(_ key: String) -> SettingsError {
    var hint = NearestName.hint(key, among: keys)
    // The group is often left out: headerBytes for http.headerBytes.
    let homonyms = table.filter { $0.name.lowercased() == key.lowercased() }.map(\.key)
    if hint.isEmpty, let first = homonyms.first { hint = "; did you mean \(first)?" }
    if hint.isEmpty { hint = "; photod settings lists all settings" }
    return SettingsError(description: "there is no setting \(key.isEmpty ? "with an empty name" : key)\(hint)")
  }

  func value(of setting: Setting) -> SettingValue {
    switch setting.field {
    case .flag(let path): .flag(self[keyPath: path])
    case .text(let path), .choice(let path, _): .text(self[keyPath: path])
    case .list(let path): .list(self[keyPath: path])
    case .table(let path): .table(self[keyPath: path])
    case .number(let path, _, _): .number(self[keyPath: path])
    }
  }

  func origin(of setting: Setting) -> SettingOrigin { origins[setting.key] ?? .standard }

  mutating func set(_ setting: Setting, to value: SettingValue) throws(SettingsError) {
    switch (setting.field, value) {
    case (.flag(let path), .flag(let flag)): write(flag, to: path)
    case (.text(let path), .text(let text)): write(text, to: path)
    case (.list(let path), .list(let list)): write(list, to: path)
    case (.table(let path), .table(let table)): write(table, to: path)
    case (.choice(let path, let words), .text(let text)):
      guard words.contains(text) else {
        throw SettingsError(
          description: "\(setting.key) must be one of \(words.joined(separator: ", ")), not \(text)")
      }
      write(text, to: path)
    case (.number(let path, let range, _), .number(let number)):
      try Self.check(number, in: range, setting.key)
      write(number, to: path)
    default: preconditionFailure("\(setting.key) got a value of another type")
    }
  }

  private mutating func write<Value>(_ value: Value, to path: WritableKeyPath<Settings, Value>) {
    self[keyPath: path] = value
  }

  static func check(_ number: Int, in range: ClosedRange<Int>, _ key: String) throws(SettingsError) {
    guard range.contains(number) else {
      throw SettingsError(
        description: "\(key) is \(number), but must be from \(range.lowerBound) to \(range.upperBound)")
    }
  }
}
