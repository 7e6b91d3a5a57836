// The settings, from built-in defaults, the settings file, PHOTOD_* variables and flags. Later sources override earlier
// ones.
//
// Every key and its default is listed here. config/photod.json documents each key; a test compares the two.

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

/// An invalid setting, described for the operator.
struct SettingsError: Error, CustomStringConvertible {
  let description: String
}

struct Settings: Sendable {
  var listen: [String]
  var library: String
  var data: String
  var allowAnonymous: Bool
  var allowedHosts: [String]
  var trustedProxies: [String]
  var corsOrigins: [String]
  var corsWriteOrigins: [String]
  var timeZone: String
  var logLevel: Logger.Level
  var accessLog: Bool
  var memoryBudget: Int
  var frameCacheBytes: Int
  var renderWorkers: Int
  var diskCacheBytes: Int
  var buildsDerivativesInBackground: Bool
  var allowsPublicCaching: Bool
  var access: AccessLimits
  var renderQueueLength: Int
  var requestDeadlineSeconds: Int
  var retainedRequests: Int
  var fetchDeadlineMilliseconds: Int
  var fetchResults: FetchResultStore.Limits
  var pinnedBytes: Int
  var caching: CachingLimits
  var changes: ChangeLimits
  var changeQueueLength: Int
  var streams: ChangeStreams.Limits
  var history: HistoryLimits
  var codec: CodecLimits
  var files: LibraryFiles.Options
  var uploads: UploadLimits
  var scanInterval: Int
  var scanMaximumRemovalPercent: Int
  var scanSettleSeconds: Int
  var watchesLibrary: Bool
  var watch: LibraryWatcher.Options
  var server: ServerLimits
  var drainSeconds: Int
  var eventLoops: Int
  var maximumRanges: Int

  /// All keys and their defaults. For some keys, 0 or "" means that the value is determined at start: see
  /// `config/photod.json`.
  static let defaults: [(key: String, value: ConfigContent)] = [
    ("listen", .stringArray(["127.0.0.1:8080"])),
    ("library", .string("")),
    ("data", .string("")),
    ("allowAnonymous", .bool(false)),
    ("allowedHosts", .stringArray([])),
    ("trustedProxies", .stringArray([])),
    ("corsOrigins", .stringArray([])),
    ("corsWriteOrigins", .stringArray([])),
    ("timeZone", .string("UTC")),
    ("logLevel", .string("info")),
    ("accessLog", .bool(true)),
    ("memoryBudgetBytes", .int(0)),
    ("drainTimeoutSeconds", .int(20)),
    ("cache.frameBytes", .int(128 << 20)),
    ("cache.pinnedBytes", .int(64 << 20)),
    ("cache.diskBytes", .int(8 << 30)),
    ("cache.backgroundDerivatives", .bool(true)),
    ("cache.allowPublic", .bool(false)),
    ("access.sessions", .int(1024)),
    ("access.sessionLeaseSeconds", .int(604_800)),
    ("access.signedURLLifetimeSeconds", .int(2_592_000)),
    ("render.workers", .int(0)),
    ("render.queueLength", .int(1024)),
    ("requests.deadlineSeconds", .int(60)),
    ("requests.retained", .int(1024)),
    ("fetch.deadlineMilliseconds", .int(2000)),
    ("fetchResults.handles", .int(1024)),
    ("fetchResults.memoryBytes", .int(128 << 20)),
    ("fetchResults.leaseSeconds", .int(300)),
    ("caching.managers", .int(256)),
    ("caching.managersPerCaller", .int(16)),
    ("caching.assetsPerManager", .int(4096)),
    ("caching.totalAssets", .int(16_384)),
    ("caching.leaseSeconds", .int(300)),
    ("changes.entriesPerList", .int(1000)),
    ("changes.assetsPerEntry", .int(10_000)),
    ("changes.titleBytes", .int(512)),
    ("changes.folderDepth", .int(16)),
    ("changes.membersPerCollection", .int(1_000_000)),
    ("changes.queueLength", .int(256)),
    ("changes.streams", .int(256)),
    ("changes.streamHeartbeatSeconds", .int(15)),
    ("changes.streamLagObjects", .int(10_000)),
    ("history.retentionDays", .int(30)),
    ("history.maximumObjects", .int(1_000_000)),
    ("limits.sourcePixels", .int(250_000_000)),
    ("limits.sourceSide", .int(65_500)),
    ("limits.jpegScans", .int(100)),
    ("limits.profileBytes", .int(8 << 20)),
    ("limits.headerSegments", .int(4096)),
    ("limits.colorTransformBytes", .int(16 << 20)),
    ("readOnly", .bool(false)),
    ("upload.template", .string(UploadTemplate.text)),
    ("upload.fileBytes", .int(4 << 30)),
    ("upload.filesPerRequest", .int(100)),
    ("upload.concurrentRequests", .int(16)),
    ("upload.minimumFreeBytes", .int(256 << 20)),
    ("trash.retentionDays", .int(30)),
    ("scan.intervalSeconds", .int(60)),
    ("scan.maximumRemovalPercent", .int(50)),
    ("scan.settleSeconds", .int(2)),
    ("watch.enabled", .bool(true)),
    ("watch.maximumFolders", .int(0)),
    ("watch.debounceMilliseconds", .int(100)),
    ("http.eventLoops", .int(0)),
    ("http.connections", .int(16_384)),
    ("http.connectionsPerAddress", .int(1024)),
    ("http.requestsPerConnection", .int(100_000)),
    ("http.requestLineBytes", .int(8192)),
    ("http.headerBytes", .int(32_768)),
    ("http.headerFields", .int(100)),
    ("http.bodyBytes", .int(1 << 20)),
    ("http.requestBufferBytes", .int(32 << 20)),
    ("http.responseBufferBytes", .int(16 << 20)),
    ("http.headerTimeoutSeconds", .int(15)),
    ("http.bodyTimeoutSeconds", .int(60)),
    ("http.minimumBodyBytesPerSecond", .int(1024)),
    ("http.bodyWindowBytes", .int(256 << 10)),
    ("http.keepAliveTimeoutSeconds", .int(75)),
    ("http.sendTimeoutSeconds", .int(30)),
    ("http.minimumSendBytesPerSecond", .int(1024)),
    ("http.outputQueueBytes", .int(8 << 20)),
    ("http.lingeringSeconds", .int(2)),
    ("http.maximumRanges", .int(16)),
    ("http.accessLogBufferBytes", .int(4 << 20)),
    ("http.backlog", .int(1024)),
  ]

  /// Reads all sources. An unknown key in the file, a value of the wrong type and a value out of range are errors that
  /// name the key.
  ///
  /// - Parameters:
  ///   - file: the path from `--config`. If `nil`, the path in `PHOTOD_CONFIG`; otherwise no file is read.
  ///   - flags: keys and values from the command line, with the values as text.
  static func load(file: String?, flags: [String: String]) async throws -> Settings {
    try Settings(try await reader(file: file, flags: flags))
  }

  /// The effective value of every key, in the order of ``defaults``. Throws as ``load(file:flags:)`` does.
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
      throw SettingsError(description: "there is no setting \(key); config/photod.json lists all settings")
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

  /// Looks up keys by ``environmentName(_:)``. The provider splits keys into words by its own rules, so it is given
  /// one word at a time.
  private static func variables(_ variables: [String: String]) -> some ConfigProvider {
    EnvironmentVariablesProvider(environmentVariables: variables).mapKeys { key in
      AbsoluteConfigKey(["photod"] + key.components.flatMap(words), context: key.context)
    }
  }

  /// The environment variable of a key: `scan.intervalSeconds` is PHOTOD_SCAN_INTERVAL_SECONDS, and
  /// `access.signedURLLifetimeSeconds` is PHOTOD_ACCESS_SIGNED_URL_LIFETIME_SECONDS.
  static func environmentName(_ key: String) -> String {
    (["photod"] + key.split(separator: ".").flatMap { words(String($0)) }).joined(separator: "_").uppercased()
  }

  /// The words of a name, in lower case. A word begins at a capital that follows a lower-case letter, and at the last
  /// of several capitals if a lower-case letter follows it.
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
    trustedProxies = try reader.list("trustedProxies")
    corsOrigins = try reader.list("corsOrigins")
    corsWriteOrigins = try reader.list("corsWriteOrigins")
    timeZone = try reader.text("timeZone")
    let level = try reader.text("logLevel")
    guard let logLevel = Logger.Level(rawValue: level) else {
      let names = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
      throw SettingsError(description: "logLevel must be one of \(names), not \(level)")
    }
    self.logLevel = logLevel
    accessLog = try reader.flag("accessLog")
    memoryBudget = try reader.number("memoryBudgetBytes", in: 0...(1 << 50))
    drainSeconds = try reader.number("drainTimeoutSeconds", in: 0...86_400)
    frameCacheBytes = try reader.number("cache.frameBytes", in: 0...(1 << 50))
    renderWorkers = try reader.number("render.workers", in: 0...1024)
    renderQueueLength = try reader.number("render.queueLength", in: 0...1_000_000)
    diskCacheBytes = try reader.number("cache.diskBytes", in: 0...(1 << 50))
    buildsDerivativesInBackground = try reader.flag("cache.backgroundDerivatives")
    allowsPublicCaching = try reader.flag("cache.allowPublic")
    access = AccessLimits()
    access.sessions = try reader.number("access.sessions", in: 0...1_000_000)
    access.sessionLeaseSeconds = Int64(try reader.number("access.sessionLeaseSeconds", in: 60...31_536_000))
    access.signedURLSeconds = Int64(try reader.number("access.signedURLLifetimeSeconds", in: 1...315_360_000))
    requestDeadlineSeconds = try reader.number("requests.deadlineSeconds", in: 1...86_400)
    retainedRequests = try reader.number("requests.retained", in: 0...1_000_000)
    fetchDeadlineMilliseconds = try reader.number("fetch.deadlineMilliseconds", in: 1...3_600_000)
    fetchResults = FetchResultStore.Limits()
    fetchResults.handles = try reader.number("fetchResults.handles", in: 0...1_000_000)
    fetchResults.bytes = try reader.number("fetchResults.memoryBytes", in: 0...(1 << 40))
    fetchResults.lease = .seconds(try reader.number("fetchResults.leaseSeconds", in: 1...86_400))
    pinnedBytes = try reader.number("cache.pinnedBytes", in: 0...(1 << 50))
    caching = CachingLimits()
    caching.managers = try reader.number("caching.managers", in: 0...100_000)
    caching.managersPerCaller = try reader.number("caching.managersPerCaller", in: 0...100_000)
    caching.assets = try reader.number("caching.assetsPerManager", in: 1...100_000)
    caching.totalAssets = try reader.number("caching.totalAssets", in: 1...10_000_000)
    caching.lease = .seconds(try reader.number("caching.leaseSeconds", in: 1...86_400))
    changes = ChangeLimits()
    changes.entries = try reader.number("changes.entriesPerList", in: 1...1_000_000)
    changes.assetsPerEntry = try reader.number("changes.assetsPerEntry", in: 1...10_000_000)
    changes.titleBytes = try reader.number("changes.titleBytes", in: 1...65_536)
    changes.folderDepth = try reader.number("changes.folderDepth", in: 1...1000)
    changes.members = try reader.number("changes.membersPerCollection", in: 1...100_000_000)
    changeQueueLength = try reader.number("changes.queueLength", in: 1...1_000_000)
    streams = ChangeStreams.Limits()
    streams.streams = try reader.number("changes.streams", in: 0...1_000_000)
    streams.heartbeat = .seconds(try reader.number("changes.streamHeartbeatSeconds", in: 1...3600))
    streams.streamLagObjects = try reader.number("changes.streamLagObjects", in: 1...1_000_000_000)
    history = HistoryLimits()
    history.days = try reader.number("history.retentionDays", in: 0...36_500)
    history.objects = try reader.number("history.maximumObjects", in: 0...1_000_000_000)
    codec = CodecLimits(
      sourcePixels: try reader.number("limits.sourcePixels", in: 1...(1 << 40)),
      // libjpeg itself writes at most 65,500 pixels per side.
      sourceSide: try reader.number("limits.sourceSide", in: 1...65_500),
      jpegScans: try reader.number("limits.jpegScans", in: 1...100_000),
      profileBytes: try reader.number("limits.profileBytes", in: 1...(1 << 30)),
      headerSegments: try reader.number("limits.headerSegments", in: 16...1_000_000),
      colorTransformBytes: try reader.number("limits.colorTransformBytes", in: 0...(1 << 40)))
    files = LibraryFiles.Options()
    files.isReadOnly = try reader.flag("readOnly")
    files.trashDays = try reader.number("trash.retentionDays", in: 0...36_500)
    files.reserveBytes = Int64(try reader.number("upload.minimumFreeBytes", in: 0...(1 << 50)))
    let template = try reader.text("upload.template")
    do throws(UploadTemplate.Malformed) {
      files.template = try UploadTemplate(template)
    } catch {
      throw SettingsError(description: "upload.template: \(error.reason)")
    }
    uploads = UploadLimits(
      fileBytes: Int64(try reader.number("upload.fileBytes", in: 1...(1 << 50))),
      files: try reader.number("upload.filesPerRequest", in: 1...100_000),
      concurrent: try reader.number("upload.concurrentRequests", in: 1...1000))
    scanInterval = try reader.number("scan.intervalSeconds", in: 0...31_536_000)
    scanMaximumRemovalPercent = try reader.number("scan.maximumRemovalPercent", in: 0...100)
    scanSettleSeconds = try reader.number("scan.settleSeconds", in: 0...3600)
    watchesLibrary = try reader.flag("watch.enabled")
    watch = LibraryWatcher.Options()
    watch.folders = try reader.number("watch.maximumFolders", in: 0...(1 << 30))
    watch.delay = .milliseconds(try reader.number("watch.debounceMilliseconds", in: 10...10_000))
    server = ServerLimits()
    server.parser.requestLineBytes = try reader.number("http.requestLineBytes", in: 64...1_048_576)
    server.parser.headerBytes = try reader.number("http.headerBytes", in: 256...1_048_576)
    server.parser.headerFields = try reader.number("http.headerFields", in: 4...10_000)
    server.parser.bodyBytes = try reader.number("http.bodyBytes", in: 0...(1 << 32))
    // The buffer must hold at least one request, including the spare capacity of its arrays.
    server.bodyWindowBytes = try reader.number("http.bodyWindowBytes", in: 65_536...(1 << 30))
    let oneRequest =
      max(server.parser.bodyBytes, server.bodyWindowBytes) + 2
      * (server.parser.requestLineBytes + server.parser.headerBytes) + (256 << 10)
    server.requestBufferBytes = try reader.number("http.requestBufferBytes", in: oneRequest...(1 << 40))
    // The buffer must hold a page of a thousand assets, with room to spare.
    server.responseBufferBytes = try reader.number("http.responseBufferBytes", in: (4 << 20)...(1 << 40))
    server.connections = try reader.number("http.connections", in: 1...1_000_000)
    server.connectionsPerAddress = try reader.number("http.connectionsPerAddress", in: 1...1_000_000)
    server.requestsPerConnection = try reader.number("http.requestsPerConnection", in: 1...(1 << 40))
    server.headerTimeout = .seconds(try reader.number("http.headerTimeoutSeconds", in: 1...86_400))
    server.bodyTimeout = .seconds(try reader.number("http.bodyTimeoutSeconds", in: 1...86_400))
    server.minimumBodyBytesPerSecond = try reader.number("http.minimumBodyBytesPerSecond", in: 0...(1 << 40))
    server.keepAliveTimeout = .seconds(try reader.number("http.keepAliveTimeoutSeconds", in: 1...86_400))
    server.sendTimeout = .seconds(try reader.number("http.sendTimeoutSeconds", in: 1...86_400))
    server.minimumSendBytesPerSecond = try reader.number("http.minimumSendBytesPerSecond", in: 0...(1 << 40))
    server.outputQueueBytes = try reader.number("http.outputQueueBytes", in: 0...(1 << 40))
    server.lingeringTime = .seconds(try reader.number("http.lingeringSeconds", in: 0...86_400))
    server.accessLogBufferBytes = try reader.number("http.accessLogBufferBytes", in: 65_536...(1 << 40))
    eventLoops = try reader.number("http.eventLoops", in: 0...256)
    maximumRanges = try reader.number("http.maximumRanges", in: 0...1000)
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
      throw SettingsError(description: "the settings file \(file) is not valid JSON: \(error.localizedDescription)")
    }
    func check(_ value: Any, _ path: String) throws {
      if let object = value as? [String: Any] {
        // A key that begins with // is a comment on the next key.
        for (key, value) in object where !key.hasPrefix("//") {
          try check(value, path.isEmpty ? key : "\(path).\(key)")
        }
      } else if !defaults.contains(where: { $0.key == path }) {
        throw SettingsError(description: "\(file): there is no setting \(path.isEmpty ? "with an empty name" : path)")
      }
    }
    try check(object, "")
  }
}

/// Typed access to values. Errors name the key.
private struct Reader {
  let config: ConfigReader

  func text(_ key: String) throws -> String { try value(key, "a string") { try config.requiredString(forKey: $0) } }
  func flag(_ key: String) throws -> Bool { try value(key, "true or false") { try config.requiredBool(forKey: $0) } }

  func list(_ key: String) throws -> [String] {
    try value(key, "a list of strings") { try config.requiredStringArray(forKey: $0) }.filter { !$0.isEmpty }
  }

  func number(_ key: String, in range: ClosedRange<Int>) throws -> Int {
    let number = try value(key, "a whole number") { try config.requiredInt(forKey: $0) }
    guard range.contains(number) else {
      throw SettingsError(
        description: "\(key) is \(number), but must be from \(range.lowerBound) to \(range.upperBound)")
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
