import Foundation

#if canImport(Glibc)
  import Glibc
#endif

/// A photod process of the benchmark, terminated with this object.
final class DaemonUnderTest {
  let url: String
  private let process: ServerProcess

  /// - Parameters:
  ///   - prefix: a command that starts it, such as `taskset -c 0`.
  ///   - listen: the address, in the form of `--listen`.
  ///   - settings: in the form of `--set`.
  init(
    binary: String, library: String, data: String, prefix: [String] = [], listen: String = "127.0.0.1:0",
    settings: [String] = ["accessLog=false"]
  ) throws {
    try Command([binary, "scan", "--library", library, "--data", data, "--log-level", "error"]).run()
    // The log is written, as in production, but nothing reads it.
    process = try ServerProcess(
      prefix + [
        binary, "serve", "--library", library, "--data", data, "--listen", listen, "--set",
        "scan.intervalSeconds=0",
        "--log-level", "error",
      ] + settings.flatMap { ["--set", $0] }, printsWhenReady: true)
    guard let start = process.firstLine.range(of: "http://") else {
      throw BenchError(description: "photod did not start")
    }
    url = process.firstLine[start.lowerBound...].trimmingCharacters(in: .whitespacesAndNewlines)
  }

  func requestScan() throws { try Command(["curl", "-fsS", "-X", "POST", url + "/v1/scan"]).run() }

  /// The identifier of the only asset.
  func onlyAsset() throws -> String {
    guard let asset = try identifiersByPath().first?.value else {
      throw BenchError(description: "the library has no asset")
    }
    return asset
  }

  /// The identifiers of all assets, by their paths in the library.
  func identifiersByPath() throws -> [String: String] {
    struct Page: Decodable {
      struct Asset: Decodable {
        let localIdentifier: String
        let relativePath: String
      }
      let assets: [Asset]
      let next: String?
    }
    var found: [String: String] = [:]
    var next: String? = "/v1/assets"
    while let path = next {
      let page = try JSONDecoder().decode(Page.self, from: Data(Command(["curl", "-fsS", url + path]).text().utf8))
      for asset in page.assets { found[asset.relativePath] = asset.localIdentifier }
      next = page.next
    }
    return found
  }

  var identifier: Int32 { process.identifier }

  /// Waits until the daemon has used almost no CPU for a second: the background work after the scan is then done.
  func waitUntilIdle() throws {
    for _ in 0..<300 {
      if try cpuSeconds({ usleep(1_000_000) }) < 0.005 { return }
    }
    throw BenchError(description: "the daemon is still busy after five minutes without a request")
  }

  /// The daemon's CPU time during `work`.
  func cpuSeconds(_ work: () throws -> Void) throws -> Double {
    let before = try ProcessUsage.cpuSeconds(of: identifier)
    try work()
    return try ProcessUsage.cpuSeconds(of: identifier) - before
  }
}
