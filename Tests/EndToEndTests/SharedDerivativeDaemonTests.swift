import Foundation
import StoreFixtures
import Testing

/// A bucket for derivatives, and daemons that use it.
private final class SharedFixture {
  static let names = (1...6).map { "\($0).jpg" }
  /// The same for all copies of a file.
  private static let modified = Date(timeIntervalSince1970: 1_700_000_000)

  let server = MemoryServer(root: "/shared", isBucket: true)
  private var log = ""

  deinit { server.stop() }

  var objects: [String] { server.keys.filter { $0.hasPrefix("small/") }.sorted() }
  /// The log of the daemon that was started last.
  var lastLog: String { (try? String(contentsOfFile: log, encoding: .utf8)) ?? "" }

  static let environment = [
    "AWS_ACCESS_KEY_ID": RemoteFixture.accessKey, "AWS_SECRET_ACCESS_KEY": RemoteFixture.secret,
    "AWS_SESSION_TOKEN": "",
  ]

  /// A copy of the library, with an empty data folder.
  func folders() throws -> TestDaemon.Folders {
    let folders = try TestDaemon.Folders()
    for (number, name) in Self.names.enumerated() {
      let path = "\(folders.library)/\(name)"
      try Data(RemoteFixture.picture(number)).write(to: URL(filePath: path))
      try FileManager.default.setAttributes([.modificationDate: Self.modified], ofItemAtPath: path)
    }
    return folders
  }

  /// Scans once and serves. Returns when the daemon's own first scan has ended.
  func daemon(_ folders: TestDaemon.Folders, _ more: [String] = []) throws -> TestDaemon {
    log = folders.base + "/log"
    let daemon = try TestDaemon(
      serving: folders,
      arguments: [
        "--set", "cache.derivatives=s3://shared/small", "--set", "s3.endpoint=\(server.address)", "--set",
        "s3.pathStyle=true", "--set", "remote.allowPrivateAddresses=true", "--set", "scan.intervalSeconds=0", "--set",
        "watch.enabled=false", "--set", "scan.settleSeconds=0",
      ] + more, environment: Self.environment, launcher: "exec \"$@\" 2>>'\(log)'")
    try daemon.until("the scan at the start has ended") {
      try daemon.metric("photod_library_scans_total{result=\"completed\"}") == 1
    }
    return daemon
  }

  /// Has a daemon make the derivatives of all pictures in the background.
  func fill() throws {
    let first = try daemon(folders())
    try first.until("all are written") { try first.shared("stored") == Double(Self.names.count) }
    #expect(first.terminate() == 0)
    #expect(objects.count == Self.names.count)
  }

  /// Requests each picture in the size of a grid; all are complete.
  func expectGrid(_ daemon: TestDaemon, _ query: String = "targetSize=200x200&contentMode=aspectFill") throws {
    for name in Self.names {
      let answer = try daemon.image(name, query)
      #expect(answer.status == 200 && answer.result("degraded") == "?0", "\(name)")
    }
  }
}

extension TestDaemon {
  fileprivate func shared(_ event: String) throws -> Double? {
    try metric("photod_shared_derivatives_events_total{event=\"\(event)\"}")
  }

  fileprivate func frames(from source: String) throws -> Double {
    let text = String(decoding: try get("/metrics").body, as: UTF8.self)
    let lines = text.split(separator: "\n").filter {
      $0.hasPrefix("photod_image_frames_total{") && $0.contains("source=\"\(source)\"")
    }
    return lines.reduce(0) { $0 + (Double($1.split(separator: " ").last ?? "") ?? .nan) }
  }

  /// Frames that were made from originals, whole or embedded parts of them.
  fileprivate var framesFromOriginals: Double {
    get throws { try frames(from: "original") + frames(from: "embedded") + frames(from: "network") }
  }
}

@Suite("Daemons that share derivatives", .blocking)
struct SharedDerivativeDaemonTests {
  @Test func `A second daemon with an empty disk serves a grid without decoding one original`() throws {
    let fixture = SharedFixture()
    try fixture.fill()
    let prefixes = Set(fixture.objects.map { $0.split(separator: "/")[1] })
    #expect(prefixes.allSatisfy { $0.count == 2 } && prefixes.count > 1)
    let folders = try fixture.folders()
    let second = try fixture.daemon(folders)
    // Without originals a decode would fail.
    for name in SharedFixture.names { try FileManager.default.removeItem(atPath: "\(folders.library)/\(name)") }
    try fixture.expectGrid(second)
    #expect(try second.framesFromOriginals == 0)
    #expect(try second.frames(from: "derivative") == 6)
    #expect(try (second.shared("hit") ?? 0) >= 6)
    #expect(try second.shared("stored") == 0 && second.shared("damaged") == 0)
    #expect(fixture.lastLog.contains("derivatives are shared"), "\(fixture.lastLog)")
    // Now they are on the local disk.
    fixture.server.stop()
    try fixture.expectGrid(second, "targetSize=190x190")
    #expect(try second.framesFromOriginals == 0)
  }

  @Test func `A second daemon serves a remote library without downloading one original`() throws {
    let remote = try RemoteFixture()
    defer { remote.stop() }
    remote.set("a.jpg", RemoteFixture.picture(1))
    let sharing = ["--set", "cache.derivatives=s3://photos/small"]
    let first = try remote.daemon(sharing)
    #expect(try first.image("a.jpg", "targetSize=900x900&networkAccessAllowed=true").status == 200)
    try first.until("it is written") { try first.shared("stored") == 1 }
    #expect(first.terminate() == 0)
    let second = try RemoteFixture(sharing: remote)
    let daemon = try second.daemon(sharing)
    let downloads = remote.downloads(of: "a.jpg")
    let answer = try daemon.image("a.jpg", "targetSize=200x200")
    #expect(answer.status == 200 && answer.result("in-cloud") == "?0" && answer.result("source") == "derivative")
    let degraded = try daemon.image("a.jpg", "targetSize=1100x1100")
    #expect(degraded.status == 200 && degraded.result("in-cloud") == "?1")
    #expect(remote.downloads(of: "a.jpg") == downloads && second.localOriginals.isEmpty)
  }

  @Test func `Damaged and foreign objects are ignored, counted and made again`() throws {
    let fixture = SharedFixture()
    try fixture.fill()
    let objects = fixture.objects
    let whole = objects.map { fixture.server.bytes(of: $0) ?? [] }
    var damaged = whole[0]
    damaged[300] ^= 1
    fixture.server.set(objects[0], damaged)
    fixture.server.set(objects[1], whole[2])
    fixture.server.set(objects[2], Array("<html>not a derivative</html>".utf8))
    let second = try fixture.daemon(fixture.folders(), ["--set", "cache.backgroundDerivatives=false"])
    try fixture.expectGrid(second)
    #expect(try second.shared("damaged") == 3 && second.framesFromOriginals == 3)
    // A larger frame makes all sizes.
    try fixture.expectGrid(second, "targetSize=1000x1000")
    try second.until("they are made again") { try second.shared("stored") == 3 }
    #expect(objects.map { fixture.server.bytes(of: $0) ?? [] } == whole)
    #expect(fixture.lastLog.contains("damaged shared derivatives"))
  }

  @Test func `A store that is down or answers nothing costs the time of a few reads`() throws {
    let fixture = SharedFixture()
    let gate = Gate()
    defer { gate.open() }
    fixture.server.misbehave { _ in [.wait(gate)] }
    let daemon = try fixture.daemon(
      fixture.folders(),
      ["--set", "cache.derivativeReadMilliseconds=100", "--set", "cache.backgroundDerivatives=false"])
    try fixture.expectGrid(daemon)
    try daemon.until("the store is no longer asked") {
      try daemon.metric("photod_shared_derivatives_suspended") == 1
    }
    let failed = try daemon.shared("failed")
    try fixture.expectGrid(daemon, "targetSize=190x190")
    #expect(try daemon.shared("failed") == failed && (daemon.shared("suspended") ?? 0) > 0)
    let began = ContinuousClock.now
    #expect(daemon.terminate() == 0)
    #expect(ContinuousClock.now - began < .seconds(15))
    #expect(fixture.lastLog.contains("reading shared derivatives failed"), "\(fixture.lastLog)")
  }

  @Test func `A wrong secret is logged with what to check, and pictures come from originals`() throws {
    let fixture = SharedFixture()
    fixture.server.misbehave { _ in
      [.answer(403, [:], "<Error><Code>SignatureDoesNotMatch</Code><Message>\(RemoteFixture.secret)</Message></Error>")]
    }
    let daemon = try fixture.daemon(fixture.folders())
    try fixture.expectGrid(daemon)
    #expect(try (daemon.shared("failed") ?? 0) > 0 && daemon.shared("hit") == 0)
    let metrics = String(decoding: try daemon.get("/metrics").body, as: UTF8.self)
    for text in [fixture.lastLog, metrics] {
      #expect(!text.contains(RemoteFixture.secret) && !text.contains(RemoteFixture.accessKey))
    }
    #expect(fixture.lastLog.contains("check the secret"), "\(fixture.lastLog)")
  }

  @Test func `Settings that can't work are refused at start`() throws {
    let folders = try TestDaemon.Folders()
    func run(_ address: String, _ more: [String] = [], _ environment: [String: String]) throws -> String {
      let run = try TestDaemon.run(
        [
          "serve", "--library", folders.library, "--data", folders.data, "--listen", "127.0.0.1:0", "--set",
          "cache.derivatives=\(address)",
        ] + more, environment: environment)
      #expect(run.status != 0)
      return run.error
    }
    let environment = SharedFixture.environment
    #expect(try run("https://host/small", [], environment).contains("is not a bucket: use s3://BUCKET/PREFIX"))
    #expect(try run("s3://UPPER", [], environment).contains("cache.derivatives s3://UPPER is not a bucket"))
    #expect(
      try run("s3://small", ["--set", "cache.diskBytes=0"], environment).contains("needs the disk cache"))
    #expect(
      try run("s3://small", [], ["AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""])
        .contains("credentials of cache.derivatives"))
  }
}
