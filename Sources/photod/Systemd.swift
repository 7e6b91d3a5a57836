// Socket activation and readiness notification for systemd and compatible service managers: sd_listen_fds(3) and
// sd_notify(3), without libsystemd.

import Foundation

#if canImport(Glibc)
  import Glibc
#endif

enum Systemd {
  private static let firstDescriptor: Int32 = 3

  /// Listening sockets that were passed to this process; empty without a service manager.
  static func inheritedSockets(_ environment: [String: String] = ProcessInfo.processInfo.environment) -> [Int32] {
    guard let process = environment["LISTEN_PID"].flatMap({ Int32($0) }), process == getpid(),
      let count = environment["LISTEN_FDS"].flatMap({ Int32($0) }), count > 0, count < 1024
    else { return [] }
    return (0..<count).map { firstDescriptor + $0 }
  }

  /// Whether a service manager receives states.
  static var isNotified: Bool { ProcessInfo.processInfo.environment["NOTIFY_SOCKET"] != nil }

  /// Within this many seconds the service manager expects the next `WATCHDOG=1` (sd_watchdog_enabled(3)); `nil` if it
  /// expects none from this process.
  static func watchdogSeconds(_ environment: [String: String] = ProcessInfo.processInfo.environment) -> Double? {
    guard let time = environment["WATCHDOG_USEC"].flatMap({ Double($0) }), time > 0 else { return nil }
    if let process = environment["WATCHDOG_PID"], Int32(process) != getpid() { return nil }
    return time / 1_000_000
  }

  /// Sends states to the service manager, one a line: `READY=1`, `STATUS=text`, `WATCHDOG=1`, `STOPPING=1`. Does nothing
  /// without one.
  static func notify(_ state: String) {
    guard let path = ProcessInfo.processInfo.environment["NOTIFY_SOCKET"], path.hasPrefix("/") || path.hasPrefix("@")
    else {
      return
    }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    guard path.utf8.count < MemoryLayout.size(ofValue: address.sun_path) else { return }
    withUnsafeMutableBytes(of: &address.sun_path) { bytes in
      bytes.copyBytes(from: path.utf8)
      // An abstract socket name starts with a NUL byte.
      if path.hasPrefix("@") { bytes[0] = 0 }
    }
    let length = socklen_t(MemoryLayout<sa_family_t>.size + path.utf8.count)
    let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    let message = Array(state.utf8)
    _ = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        sendto(descriptor, message, message.count, 0, $0, length)
      }
    }
  }
}
