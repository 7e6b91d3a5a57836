import Foundation

/// The load of wrk on one server: wrk has one thread on core 1, while the server runs on core 0.
struct WrkLoad {
  let connections: Int
  let seconds: Int

  struct Measurement {
    /// The server's CPU time per request.
    let cpuMicroseconds: Double
    let requestsPerSecond: Double
  }

  /// Measures one turn. Throws unless every response is a success.
  ///
  /// - Parameters:
  ///   - fields: header fields of each request.
  ///   - process: the server's.
  ///   - name: the server's, for errors.
  func measure(_ url: String, fields: [String] = [], process: Int32, name: String) throws -> Measurement {
    let before = try ProcessUsage.cpuSeconds(of: process)
    let output = try PeerServer.output(
      ["taskset", "-c", "1", "wrk", "-t1", "-c\(connections)", "-d\(seconds)s"] + fields.flatMap { ["-H", $0] } + [url])
    let spent = try ProcessUsage.cpuSeconds(of: process) - before
    guard !output.contains("Non-2xx"), !output.contains("Socket errors"),
      let count = output.firstMatch(of: /(\d+) requests in/).flatMap({ Double($0.1) }),
      let rate = output.firstMatch(of: /Requests\/sec: +([\d.]+)/).flatMap({ Double($0.1) })
    else { throw BenchError(description: "\(name): \(output)") }
    return Measurement(cpuMicroseconds: spent / count * 1e6, requestsPerSecond: rate)
  }
}
