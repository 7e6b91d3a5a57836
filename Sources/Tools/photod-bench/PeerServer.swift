import Foundation

#if canImport(Glibc)
  import Glibc
#endif

/// Another server, terminated with this object.
final class PeerServer {
  let url: String
  private let process: ServerProcess

  var identifier: Int32 { process.identifier }

  /// - Parameter path: a path that the server answers once it is ready.
  private init(_ arguments: [String], port: UInt16, path: String = "/x.jpg") throws {
    url = "http://127.0.0.1:\(port)"
    process = try ServerProcess(arguments, printsWhenReady: false)
    // Waits until it answers; curl waits between its attempts.
    try Command([
      "curl", "-fsS", "--retry", "50", "--retry-delay", "1", "--retry-connrefused", "-o", "/dev/null", url + path,
    ]).run()
  }

  /// nginx with one worker, tuned for files as its manual recommends.
  ///
  /// - Parameter accessLog: the options of a log of all requests; without them, there is none.
  static func nginx(
    folder: String, name: String, files: String, accessLog: String? = nil, extra: String = ""
  ) throws -> PeerServer {
    let (home, port) = (folder + "/" + name, try freePort())
    try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: true)
    let paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map { "\($0)_temp_path \(home)/\($0);" }
    let configuration = """
      daemon off; worker_processes 1; pid \(home)/pid; error_log \(home)/error crit; events { worker_connections 1024; }
      http {
        access_log \(accessLog.map { "\(home)/access.log combined \($0)" } ?? "off"); types { image/jpeg jpg; } sendfile on; tcp_nopush on; keepalive_requests 1000000000;
        \(paths.joined(separator: " ")) \(extra)
        server { listen 127.0.0.1:\(port); root \(files); }
      }
      """
    try Data(configuration.utf8).write(to: URL(filePath: home + "/nginx.conf"))
    return try PeerServer(ServeBench.serverCore + ["nginx", "-p", home, "-c", home + "/nginx.conf"], port: port)
  }

  /// SwiftNIO with hummingbird, serving from memory.
  static func hummingbird(binary: String, file: String) throws -> PeerServer {
    let port = try freePort()
    return try PeerServer(ServeBench.serverCore + [binary, String(port), file], port: port)
  }

  /// Any program that answers `/healthcheck`, on all cores. `arguments` gets the port.
  static func listening(_ arguments: (UInt16) -> [String]) throws -> PeerServer {
    let port = try freePort()
    return try PeerServer(arguments(port), port: port, path: "/healthcheck")
  }

  /// The output of a program.
  static func output(_ arguments: [String]) throws -> String {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = arguments
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw BenchError(description: "failed: \(arguments.joined(separator: " "))")
    }
    return text
  }

  private static func freePort() throws -> UInt16 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, length) == 0 ? getsockname(descriptor, $0, &length) : -1
      }
    }
    guard result == 0 else { throw BenchError(description: "no free port") }
    return UInt16(bigEndian: address.sin_port)
  }
}
