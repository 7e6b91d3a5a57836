import Foundation
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// nginx with `config/nginx.conf` in front of a daemon. Only the sockets and paths of the sample are replaced.
///
/// nginx can't create temporary files, because plain files replace its folders for them. So a request fails if nginx
/// buffers a body on disk.
final class ReverseProxy {
  /// Whether all programs that it needs are installed.
  static let isInstalled = [nginx, program("openssl"), program("curl")].allSatisfy { $0 != nil }

  /// What a browser's address bar would show.
  static let origin = "https://\(authority)"
  private static let authority = "photos.example:8443"
  private static let nginx = program("nginx")

  let daemon: TestDaemon
  private let folder: String
  private let process = Process()

  private static func program(_ name: String) -> String? {
    ["/usr/sbin", "/usr/local/sbin", "/usr/bin", "/usr/local/bin"].map { "\($0)/\(name)" }
      .first { FileManager.default.isExecutableFile(atPath: $0) }
  }

  /// - Parameter arguments: of the daemon, in addition to those that the sample needs.
  init(_ fill: (TestDaemon.Files) throws -> Void = { _ in }, arguments: [String] = []) throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "photod-proxy-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    daemon = try TestDaemon(
      fill,
      arguments: [
        "--listen", "unix:\(folder)/photod", "--set", "trustedProxies=unix", "--set", "allowedHosts=photos.example",
      ] + arguments)
    let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "\(folder)/key"]
    let name = ["-subj", "/CN=photos.example", "-addext", "subjectAltName=DNS:photos.example"]
    let openssl = try Self.run("openssl", ["req", "-x509", "-days", "2", "-out", "\(folder)/certificate"] + key + name)
    try #require(openssl.status == 0, "openssl made no certificate")
    try Data(configuration().utf8).write(to: URL(filePath: "\(folder)/nginx.conf"))
    process.executableURL = URL(filePath: try #require(Self.nginx))
    process.arguments = [
      "-p", folder, "-c", "\(folder)/nginx.conf", "-e", "\(folder)/error", "-g", "daemon off; master_process off;",
    ]
    try process.run()
    try daemon.until("nginx listens") {
      try #require(process.isRunning, "nginx has ended: \(errors)")
      return (try? ask("/healthz"))?.status == 200
    }
    for name in ["client_body", "proxy"] {
      try FileManager.default.removeItem(atPath: "\(folder)/\(name)")
      try Data().write(to: URL(filePath: "\(folder)/\(name)"))
    }
  }

  deinit {
    // nginx inherits the blocked signals of the tests, and has nothing to save.
    if process.isRunning {
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
    }
    try? FileManager.default.removeItem(atPath: folder)
  }

  /// nginx's error log.
  var errors: String { (try? String(contentsOfFile: "\(folder)/error", encoding: .utf8)) ?? "" }

  /// Files in nginx's cache.
  var storedFiles: Set<String> { TestDaemon.files(in: "\(folder)/cache") }

  private func configuration() throws -> String {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    var text = try String(contentsOf: root.appending(path: "config/nginx.conf"), encoding: .utf8)
    let folders = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map { "\($0)_temp_path \(folder)/\($0);" }
    for (original, replacement) in [
      ("/run/nginx.pid", "\(folder)/pid"),
      ("\nhttp {", "\nhttp { \(folders.joined(separator: " "))"),
      ("unix:/run/photod.sock", "unix:\(folder)/photod"),
      ("/var/cache/nginx-photod", "\(folder)/cache"),
      ("listen 80;", "listen unix:\(folder)/http;"),
      ("listen [::]:80;", ""),
      ("listen 443 ssl http2;", "listen unix:\(folder)/https ssl http2;"),
      ("listen [::]:443 ssl http2;", ""),
      ("/etc/letsencrypt/live/photos.example/fullchain.pem", "\(folder)/certificate"),
      ("/etc/letsencrypt/live/photos.example/privkey.pem", "\(folder)/key"),
    ] {
      let parts = text.components(separatedBy: original)
      try #require(parts.count == 2, "config/nginx.conf has \(original) \(parts.count - 1) times")
      text = parts.joined(separator: replacement)
    }
    return text
  }

  // MARK: Requests

  /// curl failed before a response arrived.
  struct NoAnswer: Error {
    let status: Int32
  }

  /// One request by curl.
  ///
  /// - Parameters:
  ///   - arguments: more arguments of curl.
  ///   - version: curl's argument for the version of HTTP.
  func ask(_ target: String, _ arguments: [String] = [], version: String = "--http2") throws -> TestDaemon.Response {
    try answer("https", arguments + [version, "\(Self.origin)\(target)"])
  }

  /// The same without TLS.
  func askInTheClear(_ target: String) throws -> TestDaemon.Response {
    try answer("http", ["http://photos.example\(target)"])
  }

  private func answer(_ socket: String, _ arguments: [String]) throws -> TestDaemon.Response {
    let run = try Self.run("curl", curlArguments(socket) + arguments)
    if run.output.isEmpty { throw NoAnswer(status: run.status) }
    return try TestDaemon.parsed(run.output)
  }

  /// Without `Expect`: it would cause an interim response, whose head curl would print too.
  private func curlArguments(_ socket: String) -> [String] {
    [
      "-q", "-s", "-g", "-i", "--max-time", "60", "--noproxy", "*", "--unix-socket", "\(folder)/\(socket)", "--cacert",
      "\(folder)/certificate", "-H", "Expect:",
    ]
  }

  /// A response that is read as it arrives.
  final class Stream {
    private let process = Process()
    private let output = Pipe()
    private var text = ""

    init(_ arguments: [String]) throws {
      process.executableURL = URL(filePath: "/usr/bin/env")
      process.arguments = arguments
      process.standardOutput = output
      process.standardError = FileHandle.nullDevice
      try process.run()
    }

    deinit {
      guard process.isRunning else { return }
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
    }

    /// Reads until the text arrives. Returns false if the response ends first.
    func receive(_ expected: String) -> Bool {
      while !text.contains(expected) {
        let more = output.fileHandleForReading.availableData
        if more.isEmpty { return false }
        text += String(decoding: more, as: UTF8.self)
      }
      return true
    }
  }

  func stream(_ target: String, _ arguments: [String] = [], version: String = "--http2") throws -> Stream {
    try Stream(["curl"] + curlArguments("https") + ["-N"] + arguments + [version, "\(Self.origin)\(target)"])
  }

  /// Sends the head of an HTTP/1.1 request and the beginning of its body, never the rest; returns the response.
  ///
  /// - Parameter body: fits into a pipe.
  func begin(_ target: String, _ fields: [String], _ body: String) throws -> TestDaemon.Response {
    let head = ["POST \(target) HTTP/1.1", "Host: \(Self.authority)", "Connection: close"] + fields
    let (process, input, output) = (Process(), Pipe(), Pipe())
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = ["openssl", "s_client", "-quiet", "-unix", "\(folder)/https", "-servername", "photos.example"]
    process.standardInput = input
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try input.fileHandleForWriting.write(contentsOf: Data((head.joined(separator: "\r\n") + "\r\n\r\n" + body).utf8))
    try process.run()
    let answer = [UInt8](output.fileHandleForReading.readDataToEndOfFile())
    try input.fileHandleForWriting.close()
    process.waitUntilExit()
    return try TestDaemon.parsed(answer)
  }

  /// A sparse file of this size for uploads: the bytes, then zeros.
  func file(_ bytes: [UInt8], size: Int) throws -> String {
    let path = "\(folder)/\(UUID().uuidString)"
    try Data(bytes).write(to: URL(filePath: path))
    let file = try FileHandle(forWritingTo: URL(filePath: path))
    try file.truncate(atOffset: UInt64(size))
    try file.close()
    return path
  }

  private static func run(_ program: String, _ arguments: [String]) throws -> (status: Int32, output: [UInt8]) {
    let (process, output) = (Process(), Pipe())
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = [program] + arguments
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    let bytes = [UInt8](output.fileHandleForReading.readDataToEndOfFile())
    process.waitUntilExit()
    return (process.terminationStatus, bytes)
  }
}
