import Foundation
import PhotoFixtures
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// SIGHUP, which reads the settings again, and log lines that depend on settings.
@Suite("Settings of a running daemon", .blocking)
struct ReloadTests {
  /// A daemon with a settings file and a log file.
  private struct Running {
    let daemon: TestDaemon
    let file: String
    private let log: String

    init(_ settings: [String: Any]) throws {
      let folder = FileManager.default.temporaryDirectory.path + "/photod-reload-\(UUID().uuidString)"
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      file = folder + "/photod.json"
      log = folder + "/log"
      try Self.write(settings, to: file)
      daemon = try TestDaemon(
        { try $0.put(JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 32, height: 24)), "a.jpg") },
        arguments: ["--config", file], launcher: "exec \"$@\" 2>'\(log)'")
    }

    private static func write(_ settings: [String: Any], to file: String) throws {
      try JSONSerialization.data(withJSONObject: settings).write(to: URL(filePath: file))
    }

    /// Changes the file, sends the signal, and waits for the line that ends the reload.
    func reload(_ settings: [String: Any], until line: String = "settings reloaded") throws -> [String] {
      let before = try lines.count
      try Self.write(settings, to: file)
      daemon.signal(SIGHUP)
      try daemon.until("the log has the line \(line)") { try lines.dropFirst(before).contains { $0.contains(line) } }
      return Array(try lines.dropFirst(before))
    }

    /// The complete lines of the log so far.
    var lines: [String] {
      get throws {
        let text = try String(contentsOfFile: log, encoding: .utf8)
        return text.split(separator: "\n").map(String.init)
      }
    }
  }

  private static let reader = "Origin: https://reader.example"

  @Test("a new origin may read after SIGHUP, also pictures whose responses were prepared before")
  func origins() throws {
    let running = try Running([:])
    let target = "/v1/assets/\(try running.daemon.identifier("a.jpg"))/image?targetSize=16x16"
    func allowed() throws -> String? {
      let answers = try (0..<4).map { _ in try running.daemon.get(target, [Self.reader]) }
      #expect(answers.allSatisfy { $0.status == 200 })
      return answers[3]["Access-Control-Allow-Origin"]
    }
    #expect(try allowed() == nil)
    _ = try running.reload(["corsOrigins": ["https://reader.example"]])
    #expect(try allowed() == "https://reader.example")
    _ = try running.reload([:])
    #expect(try allowed() == nil)
  }

  @Test("SIGHUP applies reloadable settings, and logs those that need a restart each time")
  func kinds() throws {
    let running = try Running(["allowedHosts": ["one.example"]])
    #expect(try running.daemon.ask("GET", "/healthz", ["Host: two.example"]).status == 421)
    let changed: [String: Any] = ["allowedHosts": ["two.example"], "logLevel": "debug", "timeZone": "Europe/Vienna"]
    let lines = try running.reload(changed)
    for text in [
      "\"setting changed\" key=allowedHosts value=two.example", "\"setting changed\" key=logLevel value=debug",
      "\"setting needs a restart\" key=timeZone value=Europe/Vienna", "\"settings reloaded\" changed=2",
    ] {
      #expect(lines.contains { $0.contains(text) }, "\(text)")
    }
    #expect(try running.daemon.ask("GET", "/healthz", ["Host: two.example"]).status == 200)
    #expect(try running.daemon.ask("GET", "/healthz", ["Host: one.example"]).status == 421)
    let again = try running.reload(changed)
    #expect(again.contains { $0.contains("key=timeZone") } && !again.contains { $0.contains("key=logLevel") })
  }

  @Test(
    "SIGHUP logs each change at the lower of the former and the new level",
    arguments: [("error", "info"), ("warning", "info"), ("info", "error"), ("info", "warning")])
  func levels(former: String, next: String) throws {
    let running = try Running(["logLevel": former])
    let changed: [String: Any] = [
      "corsOrigins": ["https://reader.example"], "readOnly": true, "logLevel": next,
    ]
    // In the order of the table of settings.
    let lines = try running.reload(changed, until: "key=logLevel value=\(next)")
    for text in [
      "\"setting changed\" key=corsOrigins value=https://reader.example",
      "\"setting needs a restart\" key=readOnly value=true", "\"setting changed\" key=logLevel value=\(next)",
    ] {
      #expect(lines.contains { $0.contains(text) }, "\(text)")
    }
  }

  @Test("settings that are not valid change nothing", arguments: ["logLevel", "nothing"])
  func invalid(key: String) throws {
    let running = try Running(["allowedHosts": ["one.example"]])
    let lines = try running.reload(
      ["allowedHosts": ["two.example"], key: "loud"], until: "settings not reloaded")
    #expect(lines.contains { $0.contains("level=error") && $0.contains(key) })
    #expect(try running.daemon.ask("GET", "/healthz", ["Host: two.example"]).status == 421)
    #expect(try running.daemon.ask("GET", "/healthz", ["Host: one.example"]).status == 200)
  }

  @Test("SIGHUP does not end a daemon that is starting")
  func whileStarting() throws {
    let folders = try TestDaemon.Folders()
    try FileManager.default.createDirectory(atPath: folders.data, withIntermediateDirectories: true)
    // The start waits for this lock before it opens the catalogue.
    let lock = open(folders.data + "/open.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    defer { close(lock) }
    try #require(flock(lock, LOCK_EX) == 0)
    let socket = folders.base + "/socket"
    let daemon = try KilledProcess(
      ["serve", "--library", folders.library, "--data", folders.data, "--listen", "unix:\(socket)"])
    let identifier = daemon.process.processIdentifier
    let descriptors = "/proc/\(identifier)/fd"
    try TestDaemon.until("it waits for the lock") {
      try FileManager.default.contentsOfDirectory(atPath: descriptors).contains { number in
        // The daemon may have closed a descriptor since the folder was listed.
        let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(descriptors)/\(number)")
        return path?.hasSuffix("/open.lock") ?? false
      }
    }
    kill(identifier, SIGHUP)
    flock(lock, LOCK_UN)
    try TestDaemon.until("it listens or has ended") { access(socket, F_OK) == 0 || !daemon.process.isRunning }
    kill(identifier, SIGTERM)
    #expect(daemon.end() == 0)
  }

  @Test("a host name that no browser sends replaces no host name that browsers send")
  func unsentHost() throws {
    let running = try Running(["allowedHosts": ["one.example"]])
    let lines = try running.reload(["allowedHosts": ["https://two.example"]], until: "settings not reloaded")
    #expect(lines.contains { $0.contains("level=error") && $0.contains("allowedHosts: https://two.example") })
    #expect(try running.daemon.ask("GET", "/healthz", ["Host: one.example"]).status == 200)
  }

  @Test("one line in an hour says that a browser discards pictures of another origin, until that origin is allowed")
  func blockedImages() throws {
    let running = try Running(["corsOrigins": ["https://reader.example"]])
    let target = "/v1/assets/\(try running.daemon.identifier("a.jpg"))/image?targetSize=16x16"
    func show(_ site: String, _ more: [String] = [], mode: String = "no-cors") throws {
      let fields = ["Sec-Fetch-Site: \(site)", "Sec-Fetch-Mode: \(mode)", "Sec-Fetch-Dest: image"]
      for _ in 0..<3 { #expect(try running.daemon.get(target, fields + more).status == 200) }
    }
    func count() throws -> Int { try running.lines.count { $0.contains("browser discards images") } }
    try show("same-origin")
    try show("none", mode: "navigate")
    try show("cross-site", [Self.reader], mode: "cors")
    #expect(try count() == 0)
    // A development server on another port.
    try show("same-site")
    try show("cross-site")
    #expect(try count() == 1)
  }
}
