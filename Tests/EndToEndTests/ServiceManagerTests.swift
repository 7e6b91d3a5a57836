import Foundation
import PhotoFixtures
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// What the daemon tells a service manager: sd_notify(3).
@Suite("The daemon under a service manager", .blocking)
struct ServiceManagerTests {
  /// The socket of a service manager.
  private final class NotifySocket {
    let path = "/tmp/photod-notify-\(UUID().uuidString)"
    private let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)

    init() throws {
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
      let bound = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
      }
      try #require(bound == 0)
      var timeout = timeval(tv_sec: 60, tv_usec: 0)
      setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit {
      close(descriptor)
      unlink(path)
    }

    /// The lines of the next datagram.
    func next() throws -> [String] {
      var bytes = [UInt8](repeating: 0, count: 4096)
      let count = recv(descriptor, &bytes, bytes.count, 0)
      try #require(count > 0, "the daemon sends no state")
      return String(decoding: bytes[..<count], as: UTF8.self).components(separatedBy: "\n")
    }

    /// Reads until a line satisfies the condition; returns the lines up to it.
    func until(_ condition: (String) -> Bool) throws -> [String] {
      var lines: [String] = []
      while true {
        for line in try next() {
          lines.append(line)
          if condition(line) { return lines }
        }
      }
    }
  }

  private static func daemon(_ socket: NotifySocket, _ environment: [String: String] = [:]) throws -> TestDaemon {
    let folders = try TestDaemon.Folders()
    try TestDaemon.Files(root: folders.library).put(
      JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 64, height: 48)), "a.jpg")
    return try TestDaemon(
      serving: folders, environment: ["NOTIFY_SOCKET": socket.path].merging(environment) { $1 })
  }

  @Test("it announces that it is ready with a status, each new status, and that it stops")
  func states() throws {
    let socket = try NotifySocket()
    let daemon = try Self.daemon(socket, ["WATCHDOG_USEC": "3000000"])
    let first = try socket.next()
    #expect(first.first == "READY=1" && first.last?.hasPrefix("STATUS=") == true)
    if first.last != "STATUS=serving 1 assets" {
      _ = try socket.until { $0 == "STATUS=serving 1 assets" }
    }
    try TestDaemon.Files(root: daemon.library).put(
      JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 32, height: 48)), "b.jpg")
    try daemon.requestScan()
    _ = try socket.until { $0 == "STATUS=serving 2 assets" }
    #expect(daemon.terminate() == 0)
    let rest = try socket.until { $0.hasPrefix("STATUS=finishing") }
    #expect(rest.suffix(2).first == "STOPPING=1")
  }

  @Test("it sends WATCHDOG=1 again and again within the time of the watchdog, also while it is busy")
  func watchdog() throws {
    let socket = try NotifySocket()
    let daemon = try Self.daemon(socket, ["WATCHDOG_USEC": "3000000"])
    try daemon.until("the first scan has found the picture") {
      let assets = try daemon.get("/v1/assets?limit=1").json["assets"] as? [Any]
      return assets?.isEmpty == false
    }
    let identifier = try daemon.identifier("a.jpg")
    for size in 1...3 {
      let lines = try socket.until { $0 == "WATCHDOG=1" }
      #expect(!lines.contains { $0.hasPrefix("STOPPING") })
      #expect(try daemon.get("/v1/assets/\(identifier)/image?targetSize=\(size * 10)x30").status == 200)
    }
  }

  @Test("without a watchdog, or with that of another process, it sends no WATCHDOG=1")
  func noWatchdog() throws {
    for environment in [[:], ["WATCHDOG_USEC": "1000000", "WATCHDOG_PID": "1"]] as [[String: String]] {
      let socket = try NotifySocket()
      let daemon = try Self.daemon(socket, environment)
      #expect(daemon.terminate() == 0)
      #expect(try !socket.until { $0 == "STOPPING=1" }.contains("WATCHDOG=1"))
    }
  }
}
