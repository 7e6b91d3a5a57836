import Foundation

/// The load of a gallery on photod, on warm libvips and on thumbor, each with all cores, in turn.
struct GalleryComparison {
  let workspace: BenchWorkspace
  let connections: Int
  let seconds: Double
  let turns: Int

  /// - Parameter thumbor: thumbor's binary; `nil` omits thumbor.
  func print(thumbor: String?) throws {
    let cores = ProcessInfo.processInfo.activeProcessorCount
    let gallery = Gallery(workspace.photographs, count: 20_000, seed: 5)
    Swift.print(
      "A gallery of \(workspace.photographs.count) photographs, \(connections) connections, \(Gallery.shares); \(turns) turns of "
        + "\(seconds.text(0)) s each, in turn; ms; RSS in MiB, every 100 ms, over all processes\n")
    var peers: [LoadGenerator.Target] = []
    let vips = try (0..<cores).compactMap { _ in try workspace.vipsServer() }
    if !vips.isEmpty {
      peers.append(LoadGenerator.Target(name: "warm libvips, \(cores) processes", servers: vips))
    }
    if let thumbor, FileManager.default.isExecutableFile(atPath: thumbor) {
      let server = try ThumborServer(
        binary: thumbor, photographsFolder: workspace.photographsFolder, workFolder: workspace.folder,
        processes: cores)
      peers.append(LoadGenerator.Target(name: "thumbor, \(cores) processes", servers: [server]))
    } else {
      Swift.print("No thumbor: --thumbor names its binary (pip install thumbor).\n")
    }
    let uncached = LoadGenerator.Target(
      name: "photod, every frame rendered", servers: [try workspace.photodServer()],
      header: "Cache-Control: no-cache\r\n")
    let load = LoadGenerator(connections: connections, seconds: seconds)
    let names = ["photod, from an empty data folder", uncached.name] + peers.map(\.name)
    var results = [[LoadGenerator.Turn]](repeating: [], count: names.count)
    for _ in 0..<turns {
      // A new data folder each time, so nothing is stored yet.
      let fresh = LoadGenerator.Target(name: names[0], servers: [try workspace.photodServer()])
      for (i, server) in ([fresh, uncached] + peers).enumerated() {
        results[i].append(try load.run(gallery, on: server))
      }
    }
    let times = Gallery.Kind.allCases.flatMap { ["\($0.rawValue) p50", "p99"] }
    let table = Table(
      ["contestant", "requests/s", "CPU ms a request"] + times + ["RSS peak", "requests", "failed"], labels: 1)
    for (name, turns) in zip(names, results) { table.row(row(name, turns)) }
    Swift.print("")
  }

  private func row(_ name: String, _ turns: [LoadGenerator.Turn]) -> [String] {
    let samples = turns.flatMap(\.samples)
    let wall = turns.reduce(0) { $0 + $1.wallSeconds }
    let cpu = turns.reduce(0) { $0 + $1.cpuSeconds }
    let times = Gallery.Kind.allCases.flatMap { kind in
      let times = samples.filter { $0.kind == kind && $0.isSuccess }.map { $0.seconds * 1000 }
      return [times.percentile(50).text(1), times.percentile(99).text(1)]
    }
    let count = Double(samples.count)
    let rates = [(count / wall).text(1), (cpu / count * 1000).text(2)]
    let peak = turns.map(\.peakBytes).max()?.mebibytes
    return [name] + rates + times + [peak.text(0), "\(samples.count)", "\(samples.count { !$0.isSuccess })"]
  }
}
