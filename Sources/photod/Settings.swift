// The settings: built-in defaults, then the file, then PHOTOD_*, then flags, each overruling the one before.
//
// Every key is listed once, here, with its default; config/photod.json documents each, and a test holds the two together.

import AccessControl
import AssetLibrary
import Configuration
import Foundation
import HTTPServer
import ImageCodec
import ImageService
import Logging
import PhotoAPI
import SystemPackage

/// What is wrong with the settings, for the operator.
struct SettingsError: Error, CustomStringConvertible {
  let description: String
}

struct Settings: Sendable {
  var listen: [String]
  var library: String
  var data: String
  var allowAnonymous: Bool
  var allowedHosts: [String]
  var proxies: [String]
  var corsOrigins: [String]
  var timeZone: String
  var logLevel: Logger.Level
  var accessLog: Bool
  var memoryBudget: Int
  var frameCacheBytes: Int
  var renderWorkers: Int
  var diskCacheBytes: Int
  var makesLadder: Bool
  var cachePublic: Bool
  var access: AccessLimits
  var renderQueue: Int
  var requestDeadlineSeconds: Int
  var rememberedRequests: Int
  var fetchDeadlineMilliseconds: Int
  var fetchResults: FetchResults.Limits
  var pinnedBytes: Int
  var caching: CachingLimits
  var changes: ChangeLimits
  var changeQueue: Int
  var streams: ChangeStreams.Limits
  var history: HistoryLimits
  var codec: CodecLimits
  var files: LibraryFiles.Options
  var uploads: UploadLimits
  var scanInterval: Int
  var scanMaximumRemovalPercent: Int
  var scanQuietSeconds: Int
  var watchesLibrary: Bool
  var watch: LibraryWatcher.Options
  var server: ServerLimits
  var drainSeconds: Int
  var loops: Int
  var maximumRanges: Int

  /// Every key and its default. 0 and "" stand for what can only be known at start: see `config/photod.json`.
  static let defaults: [(key: String, value: ConfigContent)] = [
    ("listen", .stringArray(["127.0.0.1:8080"])),
    ("library", .string("")),
    ("data", .string("")),
    ("allowAnonymous", .bool(false)),
    ("allowedHosts", .stringArray([])),
    ("proxies", .stringArray([])),
    ("corsOrigins", .stringArray([])),
    ("timeZone", .string("UTC")),
    ("logLevel", .string("info")),
    ("accessLog", .bool(true)),
    ("memoryBudget", .int(0)),
    ("drainSeconds", .int(20)),
    ("cache.frameBytes", .int(128 << 20)),
    ("cache.pinnedBytes", .int(64 << 20)),
    ("cache.diskBytes", .int(8 << 30)),
    ("cache.ladder", .bool(true)),
    ("cache.public", .bool(false)),
    ("access.sessions", .int(1024)),
    ("access.sessionLeaseSeconds", .int(604_800)),
    ("access.signedURLSeconds", .int(2_592_000)),
    ("render.workers", .int(0)),
    ("render.queue", .int(1024)),
    ("requests.deadlineSeconds", .int(60)),
    ("requests.remembered", .int(1024)),
    ("fetch.deadlineMilliseconds", .int(2000)),
    ("fetchResults.handles", .int(1024)),
    ("fetchResults.bytes", .int(128 << 20)),
    ("fetchResults.leaseSeconds", .int(300)),
    ("caching.managers", .int(256)),
    ("caching.managersPerPrincipal", .int(16)),
    ("caching.assets", .int(4096)),
    ("caching.assetsInAll", .int(16_384)),
    ("caching.leaseSeconds", .int(300)),
    ("changes.entries", .int(1000)),
    ("changes.assets", .int(10_000)),
    ("changes.titleBytes", .int(512)),
    ("changes.folderDepth", .int(16)),
    ("changes.members", .int(1_000_000)),
    ("changes.queue", .int(256)),
    ("changes.streams", .int(256)),
    ("changes.heartbeatSeconds", .int(15)),
    ("changes.objectsBehind", .int(10_000)),
    ("history.days", .int(30)),
    ("history.objects", .int(1_000_000)),
    ("limits.sourcePixels", .int(250_000_000)),
    ("limits.sourceSide", .int(65_500)),
    ("limits.jpegScans", .int(100)),
    ("limits.profileBytes", .int(8 << 20)),
    ("limits.headerSegments", .int(4096)),
    ("limits.colorTransformBytes", .int(16 << 20)),
    ("readOnly", .bool(false)),
    ("upload.template", .string(UploadTemplate.text)),
    ("upload.bytes", .int(4 << 30)),
    ("upload.files", .int(100)),
    ("upload.concurrent", .int(16)),
    ("upload.reserveBytes", .int(256 << 20)),
    ("trash.days", .int(30)),
    ("scan.intervalSeconds", .int(60)),
    ("scan.maximumRemovalPercent", .int(50)),
    ("scan.quietSeconds", .int(2)),
    ("watch.enabled", .bool(true)),
    ("watch.folders", .int(0)),
    ("watch.delayMilliseconds", .int(100)),
    ("http.loops", .int(0)),
    ("http.connections", .int(16_384)),
    ("http.connectionsPerAddress", .int(1024)),
    ("http.requestsPerConnection", .int(100_000)),
    ("http.requestLineBytes", .int(8192)),
    ("http.headerBytes", .int(32_768)),
    ("http.headerFields", .int(100)),
    ("http.bodyBytes", .int(1 << 20)),
    ("http.receivedBytes", .int(32 << 20)),
    ("http.answerBytes", .int(16 << 20)),
    ("http.headerSeconds", .int(15)),
    ("http.bodySeconds", .int(60)),
    ("http.bodyBytesPerSecond", .int(1024)),
    ("http.bodyWindowBytes", .int(256 << 10)),
    ("http.idleSeconds", .int(75)),
    ("http.writeSeconds", .int(30)),
    ("http.writeBytesPerSecond", .int(1024)),
    ("http.queuedBytes", .int(8 << 20)),
    ("http.lingerSeconds", .int(2)),
    ("http.ranges", .int(16)),
    ("http.accessLogBytes", .int(4 << 20)),
    ("http.backlog", .int(1024)),
  ]

  /// Reads all sources. Nothing is taken silently: an unknown key in the file, a number that is none, and a value out of
  /// range are errors that name the key.
  ///
  /// - Parameters:
  ///   - file: the file named by `--config`; else the one that `PHOTOD_CONFIG` names; else none.
  ///   - flags: keys and values from the command line, the values as text.
  static func load(file: String?, flags: [String: String]) async throws -> Settings {
    try Settings(try await reader(file: file, flags: flags))
  }

  /// What all sources together say, by key, in the order of ``defaults``. Throws as ``load(file:flags:)`` does.
  static func values(file: String?, flags: [String: String]) async throws -> [(key: String, text: String)] {
    let reader = try await reader(file: file, flags: flags)
    _ = try Settings(reader)
    return try defaults.map { key, value in
      let text =
        switch value {
        case .int: String(try reader.number(key, in: .min ... .max))
        case .bool: String(try reader.flag(key))
        case .stringArray: try reader.list(key).joined(separator: ",")
        default: try reader.text(key)
        }
      return (key, text)
    }
  }

  private static func reader(file: String?, flags: [String: String]) async throws -> Reader {
    for key in flags.keys where !defaults.contains(where: { $0.key == key }) {
      throw SettingsError(description: "\(key) is not a setting; config/photod.json lists them")
    }
    var providers: [any ConfigProvider] = [
      variables(Dictionary(uniqueKeysWithValues: flags.map { (environmentName($0.key), $0.value) })),
      variables(ProcessInfo.processInfo.environment),
    ]
    if let file = file ?? ProcessInfo.processInfo.environment["PHOTOD_CONFIG"] {
      try rejectUnknownKeys(in: file)
      providers.append(try await FileProvider<JSONSnapshot>(filePath: FilePath(file)))
    }
    let values = defaults.map { (AbsoluteConfigKey(ConfigKey($0.key)), ConfigValue($0.value, isSecret: false)) }
    providers.append(InMemoryProvider(name: "defaults", values: Dictionary(uniqueKeysWithValues: values)))
    return Reader(config: ConfigReader(providers: providers))
  }

  /// Looks keys up by ``environmentName(_:)``. The provider has a way of its own to tell the words of a key apart, so it is
  /// given one word at a time.
  private static func variables(_ variables: [String: String]) -> some ConfigProvider {
    EnvironmentVariablesProvider(environmentVariables: variables).mapKeys { key in
      AbsoluteConfigKey(["photod"] + key.components.flatMap(words), context: key.context)
    }
  }

  /// `scan.intervalSeconds` is PHOTOD_SCAN_INTERVAL_SECONDS, and `access.signedURLSeconds` PHOTOD_ACCESS_SIGNED_URL_SECONDS.
  static func environmentName(_ key: String) -> String {
    (["photod"] + key.split(separator: ".").flatMap { words(String($0)) }).joined(separator: "_").uppercased()
  }

  /// The words of a name, in lower case. One begins at a capital behind another letter, and at the last of several
  /// capitals where a small letter follows.
  private static func words(_ name: String) -> [String] {
    let letters = Array(name)
    var words: [String] = []
    for (index, letter) in letters.enumerated() {
      let isAfterCapital = index > 0 && letters[index - 1].isUppercase
      let isBeforeSmall = index + 1 < letters.count && letters[index + 1].isLowercase
      if index == 0 || letter.isUppercase && (!isAfterCapital || isBeforeSmall) { words.append("") }
      words[words.count - 1] += letter.lowercased()
    }
    return words
  }

  private init(_ reader: Reader) throws {
    listen = try reader.list("listen")
    library = try reader.text("library")
    data = try reader.text("data")
    allowAnonymous = try reader.flag("allowAnonymous")
    allowedHosts = try reader.list("allowedHosts")
    proxies = try reader.list("proxies")
    corsOrigins = try reader.list("corsOrigins")
    timeZone = try reader.text("timeZone")
    let level = try reader.text("logLevel")
    guard let logLevel = Logger.Level(rawValue: level) else {
      let names = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
      throw SettingsError(description: "logLevel is one of \(names), not \(level)")
    }
    self.logLevel = logLevel
    accessLog = try reader.flag("accessLog")
    memoryBudget = try reader.number("memoryBudget", in: 0...(1 << 50))
    drainSeconds = try reader.number("drainSeconds", in: 0...86_400)
    frameCacheBytes = try reader.number("cache.frameBytes", in: 0...(1 << 50))
    renderWorkers = try reader.number("render.workers", in: 0...1024)
    renderQueue = try reader.number("render.queue", in: 0...1_000_000)
    diskCacheBytes = try reader.number("cache.diskBytes", in: 0...(1 << 50))
    makesLadder = try reader.flag("cache.ladder")
    cachePublic = try reader.flag("cache.public")
    access = AccessLimits()
    access.sessions = try reader.number("access.sessions", in: 0...1_000_000)
    access.sessionLeaseSeconds = Int64(try reader.number("access.sessionLeaseSeconds", in: 60...31_536_000))
    access.signedURLSeconds = Int64(try reader.number("access.signedURLSeconds", in: 1...315_360_000))
    requestDeadlineSeconds = try reader.number("requests.deadlineSeconds", in: 1...86_400)
    rememberedRequests = try reader.number("requests.remembered", in: 0...1_000_000)
    fetchDeadlineMilliseconds = try reader.number("fetch.deadlineMilliseconds", in: 1...3_600_000)
    fetchResults = FetchResults.Limits()
    fetchResults.handles = try reader.number("fetchResults.handles", in: 0...1_000_000)
    fetchResults.bytes = try reader.number("fetchResults.bytes", in: 0...(1 << 40))
    fetchResults.lease = .seconds(try reader.number("fetchResults.leaseSeconds", in: 1...86_400))
    pinnedBytes = try reader.number("cache.pinnedBytes", in: 0...(1 << 50))
    caching = CachingLimits()
    caching.managers = try reader.number("caching.managers", in: 0...100_000)
    caching.managersPerPrincipal = try reader.number("caching.managersPerPrincipal", in: 0...100_000)
    caching.assets = try reader.number("caching.assets", in: 1...100_000)
    caching.assetsInAll = try reader.number("caching.assetsInAll", in: 1...10_000_000)
    caching.lease = .seconds(try reader.number("caching.leaseSeconds", in: 1...86_400))
    changes = ChangeLimits()
    changes.entries = try reader.number("changes.entries", in: 1...1_000_000)
    changes.assetsAnEntry = try reader.number("changes.assets", in: 1...10_000_000)
    changes.titleBytes = try reader.number("changes.titleBytes", in: 1...65_536)
    changes.folderDepth = try reader.number("changes.folderDepth", in: 1...1000)
    changes.members = try reader.number("changes.members", in: 1...100_000_000)
    changeQueue = try reader.number("changes.queue", in: 1...1_000_000)
    streams = ChangeStreams.Limits()
    streams.streams = try reader.number("changes.streams", in: 0...1_000_000)
    streams.heartbeat = .seconds(try reader.number("changes.heartbeatSeconds", in: 1...3600))
    streams.objectsBehind = try reader.number("changes.objectsBehind", in: 1...1_000_000_000)
    history = HistoryLimits()
    history.days = try reader.number("history.days", in: 0...36_500)
    history.objects = try reader.number("history.objects", in: 0...1_000_000_000)
    codec = CodecLimits(
      sourcePixels: try reader.number("limits.sourcePixels", in: 1...(1 << 40)),
      // libjpeg itself writes no more than 65,500 a side.
      sourceSide: try reader.number("limits.sourceSide", in: 1...65_500),
      jpegScans: try reader.number("limits.jpegScans", in: 1...100_000),
      profileBytes: try reader.number("limits.profileBytes", in: 1...(1 << 30)),
      headerSegments: try reader.number("limits.headerSegments", in: 16...1_000_000),
      colorTransformBytes: try reader.number("limits.colorTransformBytes", in: 0...(1 << 40)))
    files = LibraryFiles.Options()
    files.isReadOnly = try reader.flag("readOnly")
    files.trashDays = try reader.number("trash.days", in: 0...36_500)
    files.reserveBytes = Int64(try reader.number("upload.reserveBytes", in: 0...(1 << 50)))
    let template = try reader.text("upload.template")
    do throws(UploadTemplate.Malformed) {
      files.template = try UploadTemplate(template)
    } catch {
      throw SettingsError(description: "upload.template: \(error.reason)")
    }
    uploads = UploadLimits(
      fileBytes: Int64(try reader.number("upload.bytes", in: 1...(1 << 50))),
      files: try reader.number("upload.files", in: 1...100_000),
      concurrent: try reader.number("upload.concurrent", in: 1...1000))
    scanInterval = try reader.number("scan.intervalSeconds", in: 0...31_536_000)
    scanMaximumRemovalPercent = try reader.number("scan.maximumRemovalPercent", in: 0...100)
    scanQuietSeconds = try reader.number("scan.quietSeconds", in: 0...3600)
    watchesLibrary = try reader.flag("watch.enabled")
    watch = LibraryWatcher.Options()
    watch.folders = try reader.number("watch.folders", in: 0...(1 << 30))
    watch.delay = .milliseconds(try reader.number("watch.delayMilliseconds", in: 10...10_000))
    server = ServerLimits()
    server.parser.requestLineBytes = try reader.number("http.requestLineBytes", in: 64...1_048_576)
    server.parser.headerBytes = try reader.number("http.headerBytes", in: 256...1_048_576)
    server.parser.headerFields = try reader.number("http.headerFields", in: 4...10_000)
    server.parser.bodyBytes = try reader.number("http.bodyBytes", in: 0...(1 << 32))
    // One request has to fit, beside what its arrays are larger than it.
    server.bodyWindowBytes = try reader.number("http.bodyWindowBytes", in: 65_536...(1 << 30))
    let oneRequest =
      max(server.parser.bodyBytes, server.bodyWindowBytes) + 2
      * (server.parser.requestLineBytes + server.parser.headerBytes) + (256 << 10)
    server.receivedBytes = try reader.number("http.receivedBytes", in: oneRequest...(1 << 40))
    // A page of a thousand assets has to fit, with room to spare.
    server.answerBytes = try reader.number("http.answerBytes", in: (4 << 20)...(1 << 40))
    server.connections = try reader.number("http.connections", in: 1...1_000_000)
    server.connectionsPerAddress = try reader.number("http.connectionsPerAddress", in: 1...1_000_000)
    server.requestsPerConnection = try reader.number("http.requestsPerConnection", in: 1...(1 << 40))
    server.headerDeadline = .seconds(try reader.number("http.headerSeconds", in: 1...86_400))
    server.bodyDeadline = .seconds(try reader.number("http.bodySeconds", in: 1...86_400))
    server.bodyBytesPerSecond = try reader.number("http.bodyBytesPerSecond", in: 0...(1 << 40))
    server.idleDeadline = .seconds(try reader.number("http.idleSeconds", in: 1...86_400))
    server.writeDeadline = .seconds(try reader.number("http.writeSeconds", in: 1...86_400))
    server.writeBytesPerSecond = try reader.number("http.writeBytesPerSecond", in: 0...(1 << 40))
    server.queuedBytes = try reader.number("http.queuedBytes", in: 0...(1 << 40))
    server.lingerDeadline = .seconds(try reader.number("http.lingerSeconds", in: 0...86_400))
    server.accessLogBytes = try reader.number("http.accessLogBytes", in: 65_536...(1 << 40))
    loops = try reader.number("http.loops", in: 0...256)
    maximumRanges = try reader.number("http.ranges", in: 0...1000)
    server.backlog = Int32(try reader.number("http.backlog", in: 1...65_535))
  }

  private static func rejectUnknownKeys(in file: String) throws {
    guard let data = FileManager.default.contents(atPath: file) else {
      throw SettingsError(description: "the settings file \(file) can't be read")
    }
    let object: Any
    do {
      object = try JSONSerialization.jsonObject(with: data)
    } catch {
      throw SettingsError(description: "the settings file \(file) is no JSON: \(error.localizedDescription)")
    }
    func check(_ value: Any, _ path: String) throws {
      if let object = value as? [String: Any] {
        // A key that begins with // explains the one after it.
        for (key, value) in object where !key.hasPrefix("//") {
          try check(value, path.isEmpty ? key : "\(path).\(key)")
        }
      } else if !defaults.contains(where: { $0.key == path }) {
        throw SettingsError(description: "\(file): there is no setting \(path.isEmpty ? "without a name" : path)")
      }
    }
    try check(object, "")
  }
}

/// Typed access that names the key when a value is of the wrong kind.
private struct Reader {
  let config: ConfigReader

  func text(_ key: String) throws -> String { try value(key, "text") { try config.requiredString(forKey: $0) } }
  func flag(_ key: String) throws -> Bool { try value(key, "true or false") { try config.requiredBool(forKey: $0) } }

  func list(_ key: String) throws -> [String] {
    try value(key, "a list of texts") { try config.requiredStringArray(forKey: $0) }.filter { !$0.isEmpty }
  }

  func number(_ key: String, in range: ClosedRange<Int>) throws -> Int {
    let number = try value(key, "a whole number") { try config.requiredInt(forKey: $0) }
    guard range.contains(number) else {
      throw SettingsError(
        description: "\(key) is \(number), but must lie from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  private func value<Value>(_ key: String, _ kind: String, _ read: (ConfigKey) throws -> Value) throws -> Value {
    do {
      return try read(ConfigKey(key))
    } catch {
      throw SettingsError(description: "\(key) (\(Settings.environmentName(key))) is not \(kind)")
    }
  }
}
