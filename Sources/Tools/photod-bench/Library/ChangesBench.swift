// The cost of change lists over HTTP: lists with several numbers of entries, one after the other on one connection and
// from several connections at once. Each is durable before its response. For comparison, the time that SQLite needs for
// the same number of rows in a bare table. The catalogue is a copy of a synthetic one.

import ArgumentParser
import Foundation
import PhotoFixtures

#if canImport(Glibc)
  import Glibc
#endif

struct ChangesBench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "changes", abstract: "Change lists per second by their number of entries, and the time of one.")

  @Option(help: "The daemon's binary.")
  var photod = ".build/release/photod"

  @Option(help: "Number of assets in the library.")
  var assets = 100_000

  @Option(parsing: .upToNextOption, help: "Numbers of entries in a list.")
  var entries = [1, 10, 100]

  @Option(parsing: .upToNextOption, help: "Numbers of connections that send lists at once.")
  var connections = [1, 8]

  @Option(help: "Seconds of each measurement.")
  var seconds = 5.0

  @Option(help: "The folder that keeps catalogues between runs.")
  var cache = ".build/bench-library"

  func run() throws {
    let catalogue = try SyntheticCatalogue(assets: assets, in: cache)
    try TemporaryFolder.with { folder in
      try FileManager.default.copyItem(atPath: catalogue.folder, toPath: folder + "/data")
      try FileManager.default.createDirectory(atPath: folder + "/library", withIntermediateDirectories: true)
      let server = try ServerProcess(
        [
          photod, "serve", "--library", folder + "/library", "--data", folder + "/data", "--listen", "127.0.0.1:0",
          "--set", "scan.intervalSeconds=0", "--set", "accessLog=false", "--log-level", "critical",
        ], printsWhenReady: true)
      guard let port = server.firstLine.split(separator: ":").last.flatMap({ UInt16($0.prefix { $0.isNumber }) }) else {
        throw BenchError(description: "photod did not start: \(server.firstLine)")
      }
      print("Change lists over HTTP, \(assets) assets; \(Machine.cores)")
      print("One fdatasync of four kilobytes on this disk: \(try Self.syncMilliseconds(folder).text(2)) ms\n")
      let names = try Self.identifiers(port)
      let baseline = try SQLiteBaseline(rows: assets, in: folder)
      let table = Table(
        [
          "entries", "connections", "lists/s", "entries/s", "p50 ms", "p99 ms", "CPU ms a list",
          "SQLite alone: p50 ms", "CPU ms",
        ], labels: 0)
      for count in entries {
        let floor = try baseline.measure(count, seconds: min(seconds, 2))
        for connections in connections {
          let cpu = try ProcessUsage.cpuSeconds(of: server.identifier)
          let times = try measure(count, connections, names, port)
          let spent = try ProcessUsage.cpuSeconds(of: server.identifier) - cpu
          let rate = Double(times.count) / seconds
          table.row([
            "\(count)", "\(connections)", rate.text(0), (rate * Double(count)).text(0),
            times.percentile(50).text(2), times.percentile(99).text(2), (spent * 1000 / Double(times.count)).text(2),
            floor.times.percentile(50).text(2), floor.cpu.text(2),
          ])
        }
      }
    }
  }

  /// The milliseconds of each list.
  private func measure(_ count: Int, _ connections: Int, _ names: [String], _ port: UInt16) throws -> [Double] {
    let end = HTTPClient.now() + seconds
    let workers = WorkerThreads(connections) { connection in
      Result { try Self.send(count, names, connection: connection, of: connections, port, until: end) }
    }
    return try workers.wait().flatMap { try $0.get() }
  }

  private static func send(
    _ count: Int, _ names: [String], connection: Int, of connections: Int, _ port: UInt16, until end: Double
  ) throws -> [Double] {
    let client = HTTPClient(port: port)
    var random = SplitMix(state: UInt64(connection + count * 100))
    var times: [Double] = []
    // Each connection has its own assets, so that every entry is a change. An update without effect would create no
    // event.
    let own = names.indices.filter { $0 % connections == connection }
    var isFavorite = [Bool](repeating: false, count: names.count)
    while HTTPClient.now() < end {
      let list = (0..<count).map { _ in
        let name = own[Int.random(in: own.indices, using: &random)]
        isFavorite[name].toggle()
        return "{\"type\":\"updateAsset\",\"asset\":\"\(names[name])\",\"isFavorite\":\(isFavorite[name])}"
      }
      let body = "{\"changes\":[\(list.joined(separator: ","))]}"
      let header = "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n"
      let start = HTTPClient.now()
      let answer = try client.perform(
        HTTPClient.request("/v1/changes", method: "POST", header: header) + Array(body.utf8))
      guard answer.status == 200 else { throw BenchError(description: answer.outcome) }
      times.append((HTTPClient.now() - start) * 1000)
    }
    return times
  }

  /// A thousand assets, spread over the library.
  private static func identifiers(_ port: UInt16) throws -> [String] {
    struct Page: Decodable {
      struct Asset: Decodable { let localIdentifier: String }
      let assets: [Asset]
    }
    let url = "http://127.0.0.1:\(port)/v1/assets?limit=1000&sortDescriptors=localIdentifier&fields=localIdentifier"
    let page = try JSONDecoder().decode(Page.self, from: Data(Command(["curl", "-fsS", url]).text().utf8))
    return page.assets.map(\.localIdentifier)
  }

  /// The median time of a hundred fdatasync calls.
  private static func syncMilliseconds(_ folder: String) throws -> Double? {
    let descriptor = open(folder + "/sync", O_CREAT | O_WRONLY, 0o600)
    defer { close(descriptor) }
    let block = [UInt8](repeating: 1, count: 4096)
    return (0..<100).map { number in
      let start = HTTPClient.now()
      pwrite(descriptor, block, block.count, off_t(number * block.count))
      fdatasync(descriptor)
      return (HTTPClient.now() - start) * 1000
    }.median
  }
}
