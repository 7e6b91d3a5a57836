import Foundation
import Testing

/// Every setting, set in every way, and the documents that are generated from the settings table.
@Suite("Settings", .blocking)
struct SettingsTests {
  private struct Setting {
    let key: String
    let environment: String
    let standard: String
    let value: String
    let origin: String

    /// A valid value that is not the default.
    var other: String {
      switch (key, standard) {
      case ("library", _), ("data", _): "/tmp/elsewhere"
      case ("listen", _): "127.0.0.1:1,unix:/tmp/photod.socket"
      case ("allowedHosts", _): "photos.example,other.example"
      case ("trustedProxies", _): "10.0.0.0/8,unix"
      case ("corsOrigins", _), ("corsWriteOrigins", _): "https://photos.example"
      case ("timeZone", _): "Europe/Vienna"
      case ("presets", _): "card?targetSize=400x300"
      case ("logLevel", _): "debug"
      case ("logFormat", _): "json"
      case ("decoders.folder", _): "/tmp/elsewhere"
      case ("decoders.sandbox", _): "optional"
      case ("decoders.hevc", _): "libde265"
      case ("upload.template", _): "uploads/{name}"
      case ("limits.sourceSide", _): "65000"
      case ("s3.endpoint", _): "https://store.example"
      case ("s3.region", _): "eu-central-1"
      case ("s3.credentialsFile", _): "/tmp/elsewhere"
      case ("remote.allowedHosts", _): "photos.example,other.example"
      case ("caching.maximumLeaseSeconds", _): "3600"
      case (_, "true"): "false"
      case (_, "false"): "true"
      default: Int(standard).map { String($0 + 1) } ?? "no number, and not known here"
      }
    }

    /// The same value in a settings file.
    var json: Any {
      switch standard {
      case "true", "false": other == "true"
      case _
      where ["listen", "allowedHosts", "trustedProxies", "corsOrigins", "corsWriteOrigins", "remote.allowedHosts"]
        .contains(key):
        other.split(separator: ",").map(String.init)
      case _ where key == "presets": ["card": "targetSize=400x300"]
      default: Int(other) ?? other
      }
    }

    var acceptsAnyText: Bool { Int(standard) == nil && standard != "true" && standard != "false" }
  }

  private static func settings(
    _ arguments: [String] = [], environment: [String: String] = [:]
  ) throws -> [Setting] {
    let run = try TestDaemon.run(["settings"] + arguments, environment: environment, isBare: true)
    try #require(run.status == 0, "\(run.error)")
    let entries = try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [[String: Any]]
    return try #require(entries).map { entry in
      func text(_ name: String) throws -> String { try #require(entry[name] as? String) }
      return Setting(
        key: try text("key"), environment: try text("environment"), standard: try text("default"),
        value: try text("value"), origin: try text("origin"))
    }
  }

  /// Writes a settings file with another value than the default for each setting; its path.
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
    #expect(standard.count > 80)
    #expect(standard.allSatisfy { $0.value == $0.standard && $0.origin == "default" })
    let file = try Self.file(standard)
    defer { try? FileManager.default.removeItem(atPath: file) }
    let variables = Dictionary(uniqueKeysWithValues: standard.map { ($0.environment, $0.other) })
    let ways = [
      ("file", try Self.settings(["--config", file])), ("environment", try Self.settings(environment: variables)),
      ("commandLine", try Self.settings(standard.flatMap { ["--set", "\($0.key)=\($0.other)"] })),
    ]
    for (origin, found) in ways {
      for (setting, before) in zip(found, standard) {
        #expect(
          setting.key == before.key && setting.value == before.other && setting.value != before.standard
            && setting.origin == origin,
          "\(setting.key) from \(origin)")
      }
    }
  }

  @Test("the command line overrides the environment, and the environment overrides the file, setting by setting")
  func precedence() throws {
    let standard = try Self.settings()
    let file = try Self.file(standard)
    defer { try? FileManager.default.removeItem(atPath: file) }
    let variables = Dictionary(uniqueKeysWithValues: standard.map { ($0.environment, $0.standard) })
    for found in try Self.settings(["--config", file], environment: variables) {
      #expect(found.value == found.standard && found.origin == "environment", "\(found.key)")
    }
    let flags = standard.flatMap { ["--set", "\($0.key)=\($0.other)"] }
    for found in try Self.settings(flags, environment: variables) {
      #expect(found.value == found.other && found.origin == "commandLine", "\(found.key)")
    }
  }

  @Test("a value of the wrong type is refused with the names of the setting and its variable")
  func refused() throws {
    let standard = try Self.settings().filter { !$0.acceptsAnyText }
    #expect(standard.count > 70)
    for setting in standard {
      let run = try TestDaemon.run(["settings", "--set", "\(setting.key)=perhaps"])
      #expect(run.status != 0 && run.error.contains(setting.key) && run.error.contains(setting.environment))
    }
  }

  @Test("a number outside of its range is refused with the range")
  func ranges() throws {
    for (assignment, range) in [
      ("render.workers=1025", "0 to 1024"), ("http.headerFields=3", "4 to 10000"),
      ("access.sessionLeaseSeconds=59", "60 to 31536000"), ("http.backlog=65536", "1 to 65535"),
    ] {
      let run = try TestDaemon.run(["settings", "--set", assignment])
      let key = assignment.prefix { $0 != "=" }
      #expect(run.status != 0 && run.error.contains("\(key) is ") && run.error.contains("must be from \(range)"))
    }
  }

  @Test(
    "a host, an origin, a proxy, an address or a zone that could never be used is refused, and the right form named")
  func unusable() throws {
    for (key, values, words) in [
      ("allowedHosts", ["https://x.example", "b ex", "*", "x.example/"], "write photos.example"),
      ("allowedHosts", ["x.example:443", "[fd00::1]:80"], "browsers leave out the port"),
      (
        "corsOrigins", ["https://a.example/", "a.example", "*", "null", "https://*.example"],
        "write https://photos.example"
      ),
      ("corsWriteOrigins", ["HTTP://X.example:80", "https://[::1]:443"], "browsers leave out the port"),
      ("trustedProxies", ["proxy.example"], "is not an IP address"),
      ("listen", ["8080"], "is not a listen address"),
      ("timeZone", ["Mars/Olympus", "BST", "PST", "GMT+2", "europe/vienna"], "is not a known time zone"),
    ] {
      for value in values {
        let run = try TestDaemon.run(["settings", "--set", "\(key)=\(value)"], isBare: true)
        #expect(
          run.status != 0 && run.error.contains("\(key): \(value)") && run.error.contains(words), "\(run.error)")
      }
    }
    for assignment in [
      "allowedHosts=photos.example,PHOTOS.example:8443,192.168.1.2,[fd00::1],my_host",
      "corsOrigins=http://localhost:5173,https://photos.example,https://[::1]:8443,moz-extension://a-b-1,http://x:443",
      "timeZone=UTC", "timeZone=US/Pacific", "timeZone=Etc/GMT+2", "timeZone=GB", "timeZone=EST5EDT",
    ] {
      let run = try TestDaemon.run(["settings", "--set", assignment], isBare: true)
      #expect(run.status == 0, "\(run.error)")
    }
  }

  @Test("a daemon without an address to listen on does not start")
  func noAddress() throws {
    let folders = try TestDaemon.Folders()
    let run = try TestDaemon.run(["serve", "--library", folders.library, "--data", folders.data, "--set", "listen="])
    #expect(run.status != 0 && run.error.contains("listen is empty"), "\(run.error)")
  }

  @Test("an unknown setting and a value of another type are refused with the name of the file")
  func invalidFile() throws {
    let path = FileManager.default.temporaryDirectory.path + "/photod-settings-\(UUID().uuidString).json"
    defer { try? FileManager.default.removeItem(atPath: path) }
    for (content, words) in [
      (#"{"http": {"nonsense": 1}}"#, "no setting http.nonsense"), (#"{"http": 1}"#, "no setting http"),
      (#"{"http": {"#, "not valid JSON"), ("[1]", "not a JSON object"),
      (#"{"listen": [1, "a"]}"#, "listen is not a list of strings"),
      (#"{"listen": "a"}"#, #"listen must be a list, such as ["a"]"#),
      (#"{"allowAnonymous": 1}"#, "allowAnonymous is not true or false"),
      (#"{"accessLog": null}"#, "accessLog is not true or false"), (#"{"library": 1}"#, "library is not a string"),
      (#"{"http": {"connections": true}}"#, "http.connections is not a whole number"),
      (#"{"http": {"connections": 1.5}}"#, "http.connections is not a whole number"),
      (
        #"{"http.bodyBytes": 100000}"#,
        #"write http.bodyBytes as a member of an object: {"http": {"bodyBytes": VALUE}}"#
      ),
      (#"{"http": {"bodyBytes": 200000}, "http.bodyBytes": 100000}"#, "write http.bodyBytes as a member"),
      (#"{"http": {"bodyBytes": 1, "headerBytes": 256, "bodyBytes": 2}}"#, "http.bodyBytes is written twice"),
      (#"{"http": {"bodyBytes": 1}, "http": {"headerBytes": 256}}"#, "http is written twice"),
      (#"{"presets": {"a\"b": "[{", "\u0061\"b": ""}}"#, #"presets.a"b is written twice"#),
      (#"{"foo": {}}"#, "no setting foo"), (#"{"http": {"foo": {"//": ""}}}"#, "no setting http.foo"),
    ] {
      try Data(content.utf8).write(to: URL(filePath: path))
      let run = try TestDaemon.run(["settings", "--config", path])
      #expect(run.status != 0 && run.error.contains(path) && run.error.contains(words), "\(run.error)")
    }
    // Equal names in two objects, equal values, and repeated comments.
    let valid =
      #"{"//": "\"", "//": "{", "listen": ["a:1", "a:1"], "http": {}, "presets": {"listen": "targetSize=9x9"}}"#
    try Data(valid.utf8).write(to: URL(filePath: path))
    let run = try TestDaemon.run(["settings", "--config", path])
    #expect(run.status == 0, "\(run.error)")
  }

  @Test(
    "a misspelt setting is refused, and the error names the nearest one",
    arguments: [
      ("scan.intervalSecond", "scan.intervalSeconds"), ("Http.headerBytes", "http.headerBytes"),
      ("headerBytes", "http.headerBytes"), ("lisetn", "listen"), ("upload.minimumFreeByte", "upload.minimumFreeBytes"),
    ])
  func nearestKey(_ wrong: String, _ right: String) throws {
    let run = try TestDaemon.run(["settings", "--set", "\(wrong)=1"], isBare: true)
    #expect(run.status != 0 && run.error.contains("no setting \(wrong); did you mean \(right)?"), "\(run.error)")
    let path = FileManager.default.temporaryDirectory.path + "/photod-settings-\(UUID().uuidString).json"
    defer { try? FileManager.default.removeItem(atPath: path) }
    let parts = wrong.split(separator: ".")
    let object = parts.count == 1 ? "{\"\(wrong)\": 1}" : "{\"\(parts[0])\": {\"\(parts[1])\": 1}}"
    try Data(object.utf8).write(to: URL(filePath: path))
    let file = try TestDaemon.run(["settings", "--config", path], isBare: true)
    #expect(file.status != 0 && file.error.contains("\(path): there is no setting \(wrong); did you mean \(right)?"))
  }

  @Test("a misspelt PHOTOD_ variable is refused with the nearest name; variables of other programs are not")
  func unknownVariable() throws {
    for (wrong, hint) in [
      ("PHOTOD_LOGLEVEL", "; did you mean PHOTOD_LOG_LEVEL?"), ("PHOTOD_CONFGI", "; did you mean PHOTOD_CONFIG?"),
      ("PHOTOD_ENTIRELY_DIFFERENT_NAME", ""), ("PHOTOD_PORTRAIT_OF_A_STRANGER", ""),
    ] {
      for command in ["settings", "serve", "scan"] {
        let run = try TestDaemon.run([command], environment: [wrong: "1"], isBare: true)
        #expect(
          run.status != 0 && run.error.contains("the environment variable \(wrong) sets no setting\(hint)"),
          "\(run.error)")
        #expect(hint.isEmpty == !run.error.contains("did you mean"))
      }
    }
    let foreign = [
      "PHOTOD_SERVICE_HOST": "10.0.0.1", "PHOTOD_PORT": "tcp://10.0.0.1:8080", "PHOTOD_PORT_8080_TCP": "x",
      "PHOTOD_TEST_X": "1", "PHOTOD_BENCH_X": "1", "photod_x": "1", "PHOTOD": "1",
    ]
    #expect(try TestDaemon.run(["settings"], environment: foreign, isBare: true).status == 0)
  }

  @Test("serve --print-config prints a settings file that sets the same values, and does not start")
  func printedConfiguration() throws {
    let standard = try Self.settings()
    let flags = standard.flatMap { ["--set", "\($0.key)=\($0.other)"] }
    let run = try TestDaemon.run(["serve", "--print-config"] + flags, isBare: true)
    try #require(run.status == 0, "\(run.error)")
    let path = FileManager.default.temporaryDirectory.path + "/photod-settings-\(UUID().uuidString).json"
    defer { try? FileManager.default.removeItem(atPath: path) }
    try Data(run.output.utf8).write(to: URL(filePath: path))
    for (found, before) in zip(try Self.settings(["--config", path]), standard) {
      #expect(found.value == before.other && found.origin == "file", "\(found.key)")
    }
  }

  @Test("serve --print-config prints valid JSON for any text")
  func printedText() throws {
    let library = "/tmp/\u{1}\t\n\u{1F} \"\\\u{7F}é\u{301}\u{1F4F7}"
    let run = try TestDaemon.run(["serve", "--print-config"], environment: ["PHOTOD_LIBRARY": library], isBare: true)
    try #require(run.status == 0, "\(run.error)")
    let object = try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: Any]
    let printed = try #require(object?["library"] as? String)
    #expect(Array(printed.utf8) == Array(library.utf8))
  }

  @Test("config/photod.json and Settings.md are what photod settings prints")
  func documents() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    for (format, path) in [("file", "config/photod.json"), ("page", "Sources/photod/photod.docc/Settings.md")] {
      let stored = try String(contentsOf: root.appending(path: path), encoding: .utf8)
      let run = try TestDaemon.run(["settings", "--format", format])
      #expect(run.status == 0 && run.output == stored, "run: photod settings --format \(format) >\(path)")
    }
    let both = try TestDaemon.run(["settings", "--markdown", "--format", "file"])
    #expect(both.status != 0 && both.output.isEmpty && both.error.contains("--markdown"), "\(both.error)")
    let markdown = try TestDaemon.run(["settings", "--markdown"])
    #expect(try markdown.output == TestDaemon.run(["settings", "--format", "page"]).output)
  }

  @Test("the name of a variable has the words of its setting's name")
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
