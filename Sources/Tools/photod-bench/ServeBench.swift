// The same bytes, served by photod from its frame cache and by its peers: the server's cost of a request.
//
// Each server runs on one core and wrk on another; they take turns in one run. CPU time is the operating system's
// account of the server's processes. Compare ratios within a run, not times of two runs.

import ArgumentParser
import Foundation

struct ServeBench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve",
    abstract: "CPU of a request for a cached frame, compared with nginx and SwiftNIO on the same bytes.")

  @Option(help: "Turns of each contestant.")
  var rounds = 5

  @Option(help: "Seconds per turn.")
  var seconds = 4

  @Option(help: "Connections.")
  var connections = 64

  @Option(help: "Minimum size of the frame in bytes.")
  var bytes = 20_000

  @Option(help: "The daemon's binary.")
  var photod = ".build/release/photod"

  @Option(help: "The binary of scripts/bench.d/hummingbird-bench; omitted if not named.")
  var hummingbird: String?

  func run() throws { try TemporaryFolder.with(measure) }

  private func measure(in folder: String) throws {
    let library = try TemporaryFolder.library(in: folder, width: 1600, height: 1200)
    let files = folder + "/files"
    try FileManager.default.createDirectory(atPath: files, withIntermediateDirectories: true)
    // nginx's worker runs as another user, who must be able to read the folder.
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder)

    let unlimited = ["http.requestsPerConnection=1000000000"]
    let plain = try DaemonUnderTest(
      binary: photod, library: library, data: folder + "/data", prefix: Self.serverCore,
      settings: unlimited + ["accessLog=false"])
    let logging = try DaemonUnderTest(
      binary: photod, library: library, data: folder + "/data2", prefix: Self.serverCore, settings: unlimited)
    let (body, query) = try frame(plain, files: files)
    var contestants = [
      ServeContestant(
        name: "photod", url: "\(plain.url)/v1/assets/\(try plain.onlyAsset())/\(query)", process: plain.identifier),
      ServeContestant(
        name: "photod, access log on", url: "\(logging.url)/v1/assets/\(try logging.onlyAsset())/\(query)",
        process: logging.identifier),
      // The frame as the only part of a multipart body.
      ServeContestant(
        name: "photod, opportunistic",
        url: "\(plain.url)/v1/assets/\(try plain.onlyAsset())/\(query)&deliveryMode=opportunistic",
        process: plain.identifier, servesFile: false),
    ]
    let nginx = try PeerServer.nginx(folder: folder, name: "nginx", files: files)
    let writing = try PeerServer.nginx(folder: folder, name: "nginx-log", files: files, accessLog: "")
    let buffering = try PeerServer.nginx(
      folder: folder, name: "nginx-buffer", files: files, accessLog: "buffer=64k flush=1s")
    let cached = try PeerServer.nginx(
      folder: folder, name: "nginx-ofc", files: files,
      extra: "open_file_cache max=100 inactive=1h; open_file_cache_valid 1h;")
    var peers = [nginx, writing, buffering, cached]
    let names = [
      "nginx static", "nginx static, access log on", "nginx static, access log buffered", "nginx, open_file_cache",
    ]
    contestants =
      zip(names, peers).map { name, peer in
        ServeContestant(name: name, url: peer.url + "/x.jpg", process: peer.identifier)
      } + contestants
    if let hummingbird {
      let peer = try PeerServer.hummingbird(binary: hummingbird, file: files + "/x.jpg")
      peers.append(peer)
      contestants.append(
        ServeContestant(name: "hummingbird (SwiftNIO)", url: peer.url + "/x.jpg", process: peer.identifier))
    }

    for contestant in contestants where contestant.servesFile {
      for _ in 0..<2 { try Command(["curl", "-fsS", "-o", folder + "/got", contestant.url]).run() }
      guard FileManager.default.contentsEqual(atPath: folder + "/got", andPath: files + "/x.jpg") else {
        throw BenchError(description: "\(contestant.name) serves other bytes")
      }
    }
    let load = WrkLoad(connections: connections, seconds: seconds)
    var samples = [[WrkLoad.Measurement]](repeating: [], count: contestants.count)
    for round in 0...rounds {
      for (i, contestant) in contestants.enumerated() {
        let turn = try load.measure(contestant.url, process: contestant.process, name: contestant.name)
        // The first round warms caches and is not counted.
        if round > 0 { samples[i].append(turn) }
      }
    }
    print(
      "\(body) bytes, wrk -t1 -c\(connections) -d\(seconds)s on core 1, each server on core 0, "
        + "\(rounds) rounds in turn, medians\n")
    print("| contestant | CPU us a request | min | max | requests/s | to nginx static |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    let anchor = samples[0].map(\.cpuMicroseconds).median
    for (contestant, turns) in zip(contestants, samples) {
      let cpu = turns.map(\.cpuMicroseconds)
      let row = [cpu.median, cpu.min(), cpu.max()].map { $0.text() }.joined(separator: " | ")
      let rate = turns.map(\.requestsPerSecond).median.text(0)
      print("| \(contestant.name) | \(row) | \(rate) | \((cpu.median / anchor).text()) |")
    }
    _ = (plain, logging)
  }

  static let serverCore = ["taskset", "-c", "0"]

  private struct ServeContestant {
    let name: String
    let url: String
    let process: Int32
    /// Whether the body is the frame and nothing else.
    var servesFile = true
  }

  /// Stores the first frame that is large enough as `x.jpg`. Returns its bytes and its query.
  private func frame(_ daemon: DaemonUnderTest, files: String) throws -> (bytes: Int, query: String) {
    let asset = try daemon.onlyAsset()
    for side in stride(from: 200, through: 1600, by: 20) {
      let query = "image?targetSize=\(side)x\(side)&format=jpeg"
      try Command(["curl", "-fsS", "-o", files + "/x.jpg", "\(daemon.url)/v1/assets/\(asset)/\(query)"]).run()
      let size = FileManager.default.contents(atPath: files + "/x.jpg")?.count ?? 0
      if size >= bytes { return (size, query) }
    }
    throw BenchError(description: "no frame of \(bytes) bytes")
  }
}
