// Memory of open connections without traffic.

import ArgumentParser
import Foundation

#if canImport(Glibc)
  import Glibc
#endif

struct IdleBench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "idle", abstract: "Memory of idle connections that have each been answered once.")

  @Option(help: "Number of connections.")
  var connections = 10_000

  @Option(help: "The daemon's binary.")
  var photod = ".build/release/photod"

  func run() throws { try TemporaryFolder.with(measure) }

  private func measure(in folder: String) throws {
    let library = try TemporaryFolder.library(in: folder, width: 400, height: 300)
    let daemon = try DaemonUnderTest(
      binary: photod, library: library, data: folder + "/data",
      settings: ["http.connectionsPerAddress=\(connections + 10)", "http.connections=\(connections + 10)"])
    let target = "/v1/assets/\(try daemon.onlyAsset())/image?targetSize=100x100"
    try Command(["curl", "-fsS", "-o", "/dev/null", daemon.url + target]).run()
    guard let port = daemon.url.split(separator: ":").last.flatMap({ UInt16($0) }) else {
      throw BenchError(description: "no port in \(daemon.url)")
    }
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    // The daemon reserves two descriptors for each connection, and would accept fewer connections.
    guard limit.rlim_max >= rlim_t(2 * connections + 1000) else {
      throw BenchError(description: "\(limit.rlim_max) open files are too few for \(connections) connections")
    }
    limit.rlim_cur = limit.rlim_max
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)

    let before = try ProcessUsage.residentBytes(of: daemon.identifier)
    var sockets: [Int32] = []
    defer { for socket in sockets { close(socket) } }
    let request = Array(
      "GET \(target) HTTP/1.1\r\nHost: localhost\r\nUser-Agent: photod-bench\r\nAccept: image/jpeg\r\n\r\n".utf8)
    for _ in 0..<connections {
      sockets.append(try Self.perform(port, request))
    }
    let after = try ProcessUsage.residentBytes(of: daemon.identifier)
    print("| connections, each answered once | resident before | with them | a connection |")
    print("| ---: | ---: | ---: | ---: |")
    print("| \(connections) | \(before >> 10) KiB | \(after >> 10) KiB | \((after - before) / connections) bytes |")
  }

  /// Opens a connection, sends one request and reads the complete response.
  private static func perform(_ port: UInt16, _ request: [UInt8]) throws -> Int32 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    let connected = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard connected == 0, send(descriptor, request, request.count, 0) == request.count else {
      throw BenchError(description: "not connected: \(String(cString: strerror(errno)))")
    }
    var got: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = recv(descriptor, &chunk, chunk.count, 0)
      guard count > 0 else { throw BenchError(description: "no answer") }
      got += chunk[..<count]
      guard let end = got.firstRange(of: Array("\r\n\r\n".utf8)) else { continue }
      let head = String(decoding: got[..<end.lowerBound], as: UTF8.self)
      guard let length = head.firstMatch(of: /Content-Length: (\d+)/).flatMap({ Int($0.1) }) else {
        throw BenchError(description: head)
      }
      if got.count >= end.upperBound + length { return descriptor }
    }
  }
}
