// An original's bytes, whole and by ranges, served by photod and by nginx: the server's cost of a gigabyte.

import ArgumentParser
import Foundation

struct OriginalsBench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "originals",
    abstract: "CPU of a gigabyte of an original, whole and by ranges, compared with nginx on the same file.")

  @Option(help: "Turns of each contestant.")
  var rounds = 9

  @Option(help: "Megabytes that a turn transfers.")
  var megabytes = 250

  @Option(help: "The daemon's binary.")
  var photod = ".build/release/photod"

  /// How a client reads the file.
  private enum Reading: CaseIterable {
    case whole, mebibytes, kibibytes

    var name: String {
      switch self {
      case .whole: "whole"
      case .mebibytes: "ranges of 1 MiB"
      case .kibibytes: "ranges of 64 KiB"
      }
    }

    /// Bytes of a range; `nil` for the whole file.
    var bytes: Int? {
      switch self {
      case .whole: nil
      case .mebibytes: 1 << 20
      case .kibibytes: 1 << 16
      }
    }
  }

  private struct Server {
    let name: String
    let port: UInt16
    let target: String
    let process: Int32
  }

  func run() throws { try TemporaryFolder.with(measure) }

  private func measure(in folder: String) throws {
    let library = try TemporaryFolder.library(in: folder, width: 12_400, height: 9300)
    guard let name = try FileManager.default.contentsOfDirectory(atPath: library).first,
      let size = FileManager.default.contents(atPath: "\(library)/\(name)")?.count
    else { throw BenchError(description: "no original") }
    let files = folder + "/files"
    try FileManager.default.createDirectory(atPath: files, withIntermediateDirectories: true)
    // nginx's worker runs as another user, who must be able to read the folder.
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder)
    try FileManager.default.copyItem(atPath: "\(library)/\(name)", toPath: files + "/x.jpg")
    let settings = ["http.requestsPerConnection=1000000000"]
    let plain = try DaemonUnderTest(
      binary: photod, library: library, data: folder + "/data", prefix: ServeBench.serverCore,
      settings: settings + ["accessLog=false"])
    let logging = try DaemonUnderTest(
      binary: photod, library: library, data: folder + "/data2", prefix: ServeBench.serverCore, settings: settings)
    let nginx = try PeerServer.nginx(folder: folder, name: "nginx", files: files, extra: "")
    func server(_ name: String, _ daemon: DaemonUnderTest) throws -> Server {
      let parts = try LoadGenerator.parts(of: "\(daemon.url)/v1/assets/\(try daemon.onlyAsset())/data")
      return Server(name: name, port: parts.port, target: parts.target, process: daemon.identifier)
    }
    let anchor = try LoadGenerator.parts(of: nginx.url + "/x.jpg")
    let servers = [
      Server(name: "nginx static", port: anchor.port, target: anchor.target, process: nginx.identifier),
      try server("photod", plain), try server("photod, access log on", logging),
    ]
    print(
      "\((Double(size) / 1e6).text(1)) MB, one connection, each server on core 0, \(rounds) rounds in turn, "
        + "\(megabytes) MB a turn\n")
    let table = Table(["reading", "server", "CPU s a GB, minimum", "median", "to nginx"], labels: 2)
    for reading in Reading.allCases {
      var samples = [[Double]](repeating: [], count: servers.count)
      for round in 0...rounds {
        for (i, server) in servers.enumerated() {
          let cpu = try turn(server, reading, size: size)
          // The first round warms caches and is not counted.
          if round > 0 { samples[i].append(cpu) }
        }
      }
      let best = samples.map { $0.min() }
      for (i, server) in servers.enumerated() {
        table.row([
          reading.name, server.name, best[i].text(3), samples[i].median.text(3), (best[i] / best[0]).text(2),
        ])
      }
    }
    _ = (plain, logging, nginx)
  }

  /// The server's CPU seconds for a gigabyte.
  private func turn(_ server: Server, _ reading: Reading, size: Int) throws -> Double {
    let client = HTTPClient(port: server.port)
    let before = try ProcessUsage.cpuSeconds(of: server.process)
    var (bytes, start) = (0, 0)
    while bytes < megabytes * 1_000_000 {
      var (header, expected) = ("", size)
      if let range = reading.bytes {
        if start >= size { start = 0 }
        let end = min(start + range, size)
        header = "Range: bytes=\(start)-\(end - 1)\r\n"
        (expected, start) = (end - start, end)
      }
      let answer = try client.perform(HTTPClient.request(server.target, header: header))
      guard answer.status == (reading.bytes == nil ? 200 : 206), answer.bodyBytes == expected else {
        throw BenchError(description: "\(server.name): \(answer.outcome), \(answer.bodyBytes) bytes")
      }
      bytes += expected
    }
    return (try ProcessUsage.cpuSeconds(of: server.process) - before) / (Double(bytes) / 1e9)
  }
}
