import Foundation
import PhotoFixtures
import Synchronization
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// The built daemon, serving a test's own folder on a free port.
///
/// `@unchecked Sendable` because its fields are constants, and `Process` is only ended, once.
final class TestDaemon: @unchecked Sendable {
  /// A library and a data folder, removed with the last reference.
  final class Folders: Sendable {
    let base: String
    var library: String { base + "/library" }
    var data: String { base + "/data" }

    init() throws {
      var template = Array((FileManager.default.temporaryDirectory.path + "/photod-e2e-XXXXXX").utf8CString)
      base = String(cString: try #require(mkdtemp(&template)))
      try FileManager.default.createDirectory(atPath: library, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: base) }
  }

  let port: UInt16
  private let process: Process
  private let folders: Folders

  /// - Parameters:
  ///   - fill: puts files into the library before the daemon starts.
  ///   - launcher: a shell command that runs its arguments, as `exec "$@"` does.
  convenience init(
    _ fill: (TestDaemon.Files) throws -> Void = { _ in }, arguments: [String] = [], launcher: String = "exec \"$@\""
  ) throws {
    let folders = try Folders()
    try fill(Files(root: folders.library))
    let scan = try Self.run(["scan", "--library", folders.library, "--data", folders.data])
    #expect(scan.status == 0, "\(scan.error)")
    try self.init(serving: folders, arguments: arguments, launcher: launcher)
  }

  /// The library is scanned before the tests begin and not again, so that changes of its files go unnoticed.
  convenience init(unwatched fill: (TestDaemon.Files) throws -> Void, arguments: [String] = []) throws {
    try self.init(unwatched: fill, arguments: arguments, launcher: "exec \"$@\"")
  }

  /// As above, with a launcher. It has no default, so that a daemon with a trailing closure is a watched one.
  convenience init(
    unwatched fill: (TestDaemon.Files) throws -> Void, arguments: [String] = [], launcher: String
  ) throws {
    try self.init(
      fill, arguments: ["--set", "watch.enabled=false", "--set", "scan.intervalSeconds=0"] + arguments,
      launcher: launcher)
    try until("the scan at the start has ended") {
      String(decoding: try get("/metrics").body, as: UTF8.self).split(separator: "\n").contains {
        $0.hasPrefix("photod_library_scans_total{result=\"completed\"}") && !$0.hasSuffix(" 0")
      }
    }
  }

  /// Serves folders without a scan before the start. The folders may outlive the daemon.
  ///
  /// - Parameter library: the setting `library`, if it is not the folder.
  init(
    serving folders: Folders, library: String? = nil, arguments: [String] = [], environment: [String: String] = [:],
    launcher: String = "exec \"$@\""
  ) throws {
    self.folders = folders
    process = Process()
    process.executableURL = URL(filePath: "/bin/sh")
    process.arguments =
      [
        "-c", launcher, "sh", Self.binary, "serve", "--library", library ?? folders.library, "--data", folders.data,
        "--listen", "127.0.0.1:0",
      ] + arguments
    process.environment = Self.environment.merging(environment) { $1 }
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    // The daemon prints its address as soon as it listens, so no timed wait is needed.
    var line = Data()
    while !line.contains(UInt8(ascii: "\n")) {
      let more = output.fileHandleForReading.availableData
      if more.isEmpty { break }
      line += more
    }
    // The first address; others may follow it.
    let text = String(String(decoding: line, as: UTF8.self).prefix { $0 != "\n" })
    Self.endAtExit(process.processIdentifier)
    port = try #require(text.split(separator: ":").last.flatMap { UInt16($0.prefix { $0.isNumber }) }, "\(text)")
  }

  deinit {
    process.terminate()
    process.waitUntilExit()
    Self.running.withLock { $0.removeAll { [process] in $0 == process.processIdentifier } }
  }

  /// Kills the daemon when the test process exits: a daemon in a static property is never deinitialised.
  private static func endAtExit(_ identifier: Int32) {
    let isFirst = running.withLock { running in
      running.append(identifier)
      return running.count == 1
    }
    if isFirst { atexit { TestDaemon.running.withLock { $0.forEach { kill($0, SIGKILL) } } } }
  }

  private static let running = Mutex<[Int32]>([])

  struct Files {
    let root: String

    func put(_ bytes: [UInt8], _ path: String) throws {
      let whole = root + "/" + path
      try FileManager.default.createDirectory(
        atPath: (whole as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
      try Data(bytes).write(to: URL(filePath: whole))
    }
  }

  /// Writes a file of the library in place and sets its time back, so that of its times only the ctime changes.
  func rewrite(_ path: String, _ bytes: [UInt8], at offset: Int = 0) throws {
    let descriptor = open(library + "/" + path, O_WRONLY)
    guard descriptor >= 0 else { throw Failure(call: "open") }
    defer { close(descriptor) }
    var before = stat()
    #expect(fstat(descriptor, &before) == 0)
    var now = before
    repeat {
      #expect(pwrite(descriptor, bytes, bytes.count, offset) == bytes.count)
      #expect(fstat(descriptor, &now) == 0)
      // A file system's clock advances in milliseconds.
    } while now.st_ctim.tv_sec == before.st_ctim.tv_sec && now.st_ctim.tv_nsec == before.st_ctim.tv_nsec
    var times = [before.st_atim, before.st_mtim]
    #expect(futimens(descriptor, &times) == 0)
  }

  var library: String { folders.library }
  var data: String { folders.data }

  /// Starts a full scan, as the local administrator.
  func requestScan() throws { #expect(try post("/v1/scan", "").status == 202) }

  /// The open files below the library, by their paths.
  var openLibraryFiles: [String] {
    get throws {
      let folder = "/proc/\(process.processIdentifier)/fd"
      return try FileManager.default.contentsOfDirectory(atPath: folder).compactMap {
        // The daemon may have closed a descriptor since the folder was listed.
        try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)")
      }.filter { $0.hasPrefix(library + "/") }
    }
  }

  /// The target of one of its descriptors, as /proc shows it.
  func descriptor(_ number: Int32) throws -> String {
    try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(process.processIdentifier)/fd/\(number)")
  }

  /// A line of proc_pid_status(5) in bytes, such as `VmRSS`.
  func memory(_ name: String) throws -> Int {
    let text = try String(contentsOfFile: "/proc/\(process.processIdentifier)/status", encoding: .utf8)
    let line = try #require(text.split(separator: "\n").first { $0.hasPrefix(name + ":") })
    return try #require(line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) }) << 10
  }

  func signal(_ number: Int32) { kill(process.processIdentifier, number) }

  /// Waits until the daemon has ended. Returns whether SIGKILL ended it.
  func waitUntilKilled() -> Bool {
    process.waitUntilExit()
    return process.terminationReason == .uncaughtSignal && process.terminationStatus == SIGKILL
  }

  /// Ends it as an operator would; returns its exit status.
  func terminate() -> Int32 {
    process.terminate()
    process.waitUntilExit()
    return process.terminationStatus
  }

  /// The built binary, beside the tests that run.
  static let binary: String = {
    if let path = ProcessInfo.processInfo.environment["PHOTOD_BINARY"] { return path }
    let tests = URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath().deletingLastPathComponent()
    return tests.appending(path: "photod").path
  }()

  /// Tests put complete files into the library and request scans themselves, so scans don't wait for files to settle
  /// and the folder is not watched. Tests read the log as logfmt.
  static let environment = ProcessInfo.processInfo.environment.merging([
    "PHOTOD_SCAN_SETTLE_SECONDS": "0", "PHOTOD_WATCH_ENABLED": "false", "PHOTOD_LOG_FORMAT": "logfmt",
  ]) { $1 }

  /// Runs a command that must succeed; a failure names the command and repeats its messages.
  static func succeed(
    _ arguments: [String], environment: [String: String] = [:],
    at location: SourceLocation = #_sourceLocation
  ) throws {
    let run = try run(arguments, environment: environment)
    let message = "photod \(arguments.joined(separator: " ")): \(run.status), \(run.error)"
    #expect(run.status == 0, Comment(rawValue: message), sourceLocation: location)
  }

  /// - Parameter isBare: without the settings that tests have in the environment.
  static func run(_ arguments: [String], environment: [String: String] = [:], isBare: Bool = false) throws -> (
    status: Int32, output: String, error: String
  ) {
    let inherited = isBare ? Self.environment.filter { !$0.key.hasPrefix("PHOTOD_") } : Self.environment
    let run = try runToEnd(binary, arguments, environment: inherited.merging(environment) { $1 })
    return (run.status, String(decoding: run.output, as: UTF8.self), run.error)
  }

  // MARK: Requests

  /// The response to a request on its own connection.
  struct Response {
    let status: Int
    let fields: [String: String]
    let body: [UInt8]
    /// All received bytes.
    let raw: [UInt8]

    subscript(name: String) -> String? { fields[name.lowercased()] }

    var json: [String: Any] {
      (try? JSONSerialization.jsonObject(with: Data(body))) as? [String: Any] ?? [:]
    }

    /// A member of Image-Result.
    func result(_ key: String) -> String? {
      self["Image-Result"]?.components(separatedBy: ", ").first { $0.hasPrefix(key + "=") }
        .map { String($0.dropFirst(key.count + 1)) }
    }
  }

  func get(_ target: String, _ fields: [String] = [], method: String = "GET", version: String = "1.1") throws
    -> Response
  {
    var request = "\(method) \(target) HTTP/\(version)\r\nHost: localhost\r\nConnection: close\r\n"
    for field in fields { request += field + "\r\n" }
    return try Self.parsed(send(request + "\r\n"), isHead: method == "HEAD")
  }

  func post(
    _ target: String, _ body: String, type: String = "application/json", method: String = "POST",
    _ fields: [String] = []
  ) throws -> Response {
    var request = "\(method) \(target) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: \(type)\r\n"
    for field in fields { request += field + "\r\n" }
    return try Self.parsed(send(request + "Content-Length: \(body.utf8.count)\r\n\r\n" + body))
  }

  /// When a client shuts its sending side.
  enum ClientShutdown {
    case never, atOnce, afterTheFirstBytes
    /// Disconnects without shutting its sending side first.
    case abruptly
  }

  /// A system call that failed. Thrown instead of recorded as an issue, because threads of a test may send requests
  /// after their daemon has ended.
  struct Failure: Error, CustomStringConvertible {
    let call: String
    let number = errno

    var description: String { "\(call): \(String(cString: strerror(number)))" }
  }

  /// A connection to the daemon; the caller closes it.
  func connection() throws -> Int32 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    // As long as `until` waits: a request may wait for other tests' daemons.
    var timeout = timeval(tv_sec: 120, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
    let connected = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard connected == 0 else {
      defer { close(descriptor) }
      throw Failure(call: "connect")
    }
    return descriptor
  }

  /// Sends bytes and reads until the daemon closes.
  func send(_ text: String, clientShutdown closing: ClientShutdown = .never) throws -> [UInt8] {
    let descriptor = try connection()
    defer { close(descriptor) }
    let bytes = Array(text.utf8)
    guard Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else {
      throw Failure(call: "send")
    }
    if closing == .atOnce { shutdown(descriptor, Int32(SHUT_WR)) }
    if closing == .abruptly { return [] }
    var answer: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = recv(descriptor, &chunk, chunk.count, 0)
      if count < 0, errno == EAGAIN { throw Failure(call: "recv after \(answer.count) bytes") }
      // With a timeout, recv is not restarted after a signal.
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { break }
      if closing == .afterTheFirstBytes && answer.isEmpty { shutdown(descriptor, Int32(SHUT_WR)) }
      answer += chunk[..<count]
    }
    return answer
  }

  static func parsed(_ raw: [UInt8], isHead: Bool = false) throws -> Response {
    let end = try #require(raw.firstRange(of: Array("\r\n\r\n".utf8)), "no head in \(raw.count) bytes")
    var lines = String(decoding: raw[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
    let status = Int(lines.removeFirst().split(separator: " ")[1]) ?? 0
    var fields: [String: String] = [:]
    for line in lines {
      let parts = line.split(separator: ":", maxSplits: 1)
      fields[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces)
    }
    var body = Array(raw[end.upperBound...])
    if fields["transfer-encoding"] == "chunked", !isHead { body = try unchunked(body) }
    if let length = fields["content-length"].flatMap({ Int($0) }), !isHead { #expect(body.count == length) }
    return Response(status: status, fields: fields, body: body, raw: raw)
  }

  private static func unchunked(_ bytes: [UInt8]) throws -> [UInt8] {
    var rest = bytes[...]
    var out: [UInt8] = []
    while true {
      let end = try #require(rest.firstRange(of: [13, 10]), "a chunk without an end")
      let size = try #require(Int(String(decoding: rest[..<end.lowerBound], as: UTF8.self), radix: 16))
      rest = rest[end.upperBound...]
      if size == 0 { return out }
      out += rest.prefix(size)
      rest = rest.dropFirst(size + 2)
    }
  }

  /// Waits until the daemon has made the placeholders of all assets in the background; returns the assets.
  func assetsWithPlaceholders() throws -> [[String: Any]] {
    var assets: [[String: Any]] = []
    try until("every asset has a placeholder") {
      assets = try #require(try get("/v1/assets?limit=1000").json["assets"] as? [[String: Any]])
      return assets.allSatisfy { $0["placeholder"] is String }
    }
    return assets
  }

  /// The identifier of the asset with that path.
  func identifier(_ path: String) throws -> String {
    let assets = try #require(try get("/v1/assets?limit=1000").json["assets"] as? [[String: Any]])
    let asset = assets.first { $0["relativePath"] as? String == path }
    return try #require(asset?["localIdentifier"] as? String, "no asset \(path)")
  }
}

extension TestDaemon {
  /// A daemon with `count` small pictures, `0.jpg` and so on, each with a different width.
  ///
  /// - Parameter settings: environment variables in a shell's syntax, such as `A=1 B=2`.
  static func ofCards(_ count: Int = 4, settings: String = "") throws -> TestDaemon {
    try TestDaemon(
      { files in
        for number in 0..<count {
          let picture = Pixels.orientationCard(width: 32 + number, height: 24)
          try files.put(JPEGFile { _ in }.encoded(picture), "\(number).jpg")
        }
      }, launcher: "\(settings) exec \"$@\"")
  }
}
