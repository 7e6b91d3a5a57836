import Foundation

#if canImport(Glibc)
  import Glibc
#endif

/// A photod of the benchmark's own, ended with it.
final class DaemonUnderTest {
  let url: String
  private let process = Process()

  init(binary: String, library: String, data: String) throws {
    try Command([binary, "scan", "--library", library, "--data", data, "--log-level", "error"]).run()
    process.executableURL = URL(filePath: binary)
    process.arguments = [
      "serve", "--library", library, "--data", data, "--listen", "127.0.0.1:0", "--set", "scan.intervalSeconds=0",
      "--log-level", "error",
    ]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
    guard let start = line.range(of: "http://") else { throw BenchError(description: "photod did not start") }
    url = line[start.lowerBound...].trimmingCharacters(in: .whitespacesAndNewlines)
  }

  deinit {
    process.terminate()
    process.waitUntilExit()
  }

  /// The identifier of the library's one asset.
  func onlyAsset() throws -> String {
    let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
    defer { try? FileManager.default.removeItem(atPath: file) }
    try Command(["curl", "-fsS", "-o", file, url + "/v1/assets"]).run()
    let answer =
      try JSONSerialization.jsonObject(with: FileManager.default.contents(atPath: file) ?? Data()) as? [String: Any]
    guard let asset = (answer?["assets"] as? [[String: Any]])?.first?["localIdentifier"] as? String else {
      throw BenchError(description: "the library has no asset")
    }
    return asset
  }

  /// What the daemon spends while `work` is done.
  func cpuSeconds(_ work: () throws -> Void) throws -> Double {
    let before = try spent()
    try work()
    return try spent() - before
  }

  /// User and system time of /proc/PID/stat (proc(5)): the 14th and 15th field, the 12th and 13th behind the name.
  private func spent() throws -> Double {
    guard let data = FileManager.default.contents(atPath: "/proc/\(process.processIdentifier)/stat"),
      let rest = String(decoding: data, as: UTF8.self).split(separator: ")").last
    else { throw BenchError(description: "photod has gone") }
    let fields = rest.split(separator: " ")
    guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else {
      throw BenchError(description: "an unreadable /proc/PID/stat")
    }
    return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
  }
}
