import Foundation
import StoreFixtures
import Synchronization

@testable import ObjectStores

#if canImport(Glibc)
  import Glibc
#endif

/// nginx with a folder of files and a manifest, as people would publish a library.
final class NginxOrigin: Sendable {
  static let program: String? = ["/usr/sbin/nginx", "/usr/local/sbin/nginx", "/usr/bin/nginx"].first {
    FileManager.default.isExecutableFile(atPath: $0)
  }

  let store: HTTPObjectStore
  private let folder: URL
  private let process = Process()
  /// The times of the files: nginx makes entity tags of seconds and sizes.
  private let time = Mutex(1_600_000_000)
  private let keys = Mutex<Set<String>>([])

  init() throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("nginx-\(UUID().uuidString)")
    try FileManager.default.createDirectory(
      at: folder.appendingPathComponent("files/photos"), withIntermediateDirectories: true)
    let port = Self.freePort()
    var limits = RemoteLimits()
    // Until nginx listens.
    limits.retries.attempts = 100
    limits.retries.maximumDelay = .milliseconds(100)
    limits.breaker.failures = 1000
    store = try required(
      HTTPObjectStore(address: "http://127.0.0.1:\(port)/photos", rules: .loopback, limits: limits))
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map { "\($0)_temp_path \(folder.path)/\($0);" }
    let configuration = """
      pid \(folder.path)/pid;
      events {}
      http {
        access_log off;
        \(temporary.joined(separator: " "))
        server { listen 127.0.0.1:\(port); root \(folder.path)/files; }
      }
      """
    try Data(configuration.utf8).write(to: folder.appendingPathComponent("nginx.conf"))
    process.executableURL = URL(fileURLWithPath: try required(Self.program))
    process.arguments = [
      "-p", folder.path, "-c", "\(folder.path)/nginx.conf", "-e", "\(folder.path)/error", "-g",
      "daemon off; master_process off;",
    ]
    try process.run()
    try writeManifest()
    _ = try store.waitForPage(from: nil)
  }

  func stop() {
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
    try? FileManager.default.removeItem(at: folder)
  }

  func set(_ key: String, _ bytes: [UInt8]) throws {
    let file = folder.appendingPathComponent("files/photos/\(key)")
    try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(bytes).write(to: file)
    let time = time.withLock { time in
      time += 1
      return time
    }
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSince1970: Double(time))], ofItemAtPath: file.path)
    keys.withLock { _ = $0.insert(key) }
    try writeManifest()
  }

  private func writeManifest() throws {
    var rows: [[String: Any]] = []
    for key in keys.withLock({ $0 }) {
      let identity = try store.waitForHead(required(ObjectKey(key))).identity
      guard case .entityTag(let tag) = identity.version else { throw Missing() }
      rows.append(["path": key, "size": identity.size, "etag": tag])
    }
    try JSONSerialization.data(withJSONObject: rows).write(
      to: folder.appendingPathComponent("files/photos/manifest.json"))
  }

  /// A port that nothing listens at, for now.
  private static func freePort() -> UInt16 {
    let server = ScriptedServer { _, _ in [] }
    defer { server.stop() }
    return server.port
  }
}
