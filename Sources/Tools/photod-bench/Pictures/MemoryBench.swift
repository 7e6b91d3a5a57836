// The resident memory that a render adds, and whether it is returned.
//
// Growth: a new server for each measurement renders one small picture. Then its peak is reset (5 to
// /proc/PID/clear_refs), it renders one picture, and the growth is the peak (VmHWM) minus the resident memory before
// (VmRSS). For a process that makes only one picture, the whole peak is given.
//
// Mixed renders: one server makes many pictures of all photographs at random sizes. After each hundred, resident memory
// is read twice: at once, and when the server has been idle for two seconds. The second shows what it keeps; the first
// depends on when photod last gave free memory back, which it does one second after a lane becomes idle.

import ArgumentParser
import Foundation
import PhotoFixtures

struct MemoryBench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "memory", abstract: "Peak resident growth of large renders, and of 1,000 mixed ones.")

  @OptionGroup var options: PictureOptions

  @Option(
    name: .customLong("case"),
    help: "A photograph, by a part of its name, and a size: 6019/2500x2500. May be given several times.")
  var cases: [MemoryCase] = ["6019/2500x2500", "12mp-prog/1600x1600", "rgba/400x400"].compactMap {
    MemoryCase(argument: $0)
  }

  @Option(help: "Restarts for each growth.")
  var rounds = 5

  @Option(help: "Number of mixed renders.")
  var renders = 1000

  func run() throws {
    try options.withWorkFolder { workspace in
      let vips = try workspace.vipsServer()
      try workspace.printTitle("Resident memory, MiB", vips: vips)
      try printGrowth(workspace)
      if renders > 0 { try printMixed(workspace, vips) }
    }
  }

  // MARK: - Growth

  private func printGrowth(_ workspace: BenchWorkspace) throws {
    print("Growth by one render: medians of \(rounds) fresh starts\n")
    let table = Table(["render", "contestant", "before", "peak", "growth"], labels: 2)
    for memoryCase in cases {
      guard let photograph = workspace.photographs.first(where: { $0.name.contains(memoryCase.name) }) else {
        print("| no photograph has \(memoryCase.name) in its name | – | – | – | – |")
        continue
      }
      let benchPicture = BenchPicture(photograph: photograph, target: memoryCase.target)
      let label = "\(photograph.name) to \(try workspace.photod.plan(benchPicture).output.description)"
      let small = BenchPicture(photograph: workspace.smallest, target: Target(200, 200, "aspectFill"))
      var (ours, theirs, whole) = ([Growth](), [Growth](), [Double]())
      for _ in 0..<rounds {
        ours.append(try growth(workspace.photodServer(), small, benchPicture))
        if let vips = try workspace.vipsServer() { theirs.append(try growth(vips, small, benchPicture)) }
        let output = "\(workspace.folder)/vips.\(benchPicture.format)"
        whole.append(try Vipsthumbnail.command(benchPicture, to: output).usage().peakBytes.mebibytes)
      }
      for (name, list) in [("photod", ours), ("warm libvips", theirs)] where !list.isEmpty {
        let columns = [list.map(\.before), list.map(\.peak), list.map { $0.peak - $0.before }]
        table.row([label, name] + columns.map { $0.median.text(1) })
      }
      table.row([label, "vipsthumbnail", "–", whole.median.text(1), "–"])
    }
  }

  private struct Growth {
    let before, peak: Double
  }

  private func growth(_ server: any ImageServer, _ small: BenchPicture, _ benchPicture: BenchPicture) throws -> Growth {
    try server.make([small])
    try ProcessUsage.resetPeak(of: server.identifier)
    let before = try ProcessUsage.residentBytes(of: server.identifier).mebibytes
    try server.make([benchPicture])
    return Growth(before: before, peak: try ProcessUsage.peakBytes(of: server.identifier).mebibytes)
  }

  // MARK: - Mixed renders

  private func printMixed(_ workspace: BenchWorkspace, _ vips: VipsServer?) throws {
    var random = SplitMix(state: 1)
    let benchPictures = (0..<renders).map { _ in
      BenchPicture(
        photograph: workspace.photographs[Int.random(in: 0..<workspace.photographs.count, using: &random)],
        target: Target(
          Int.random(in: 64...2000, using: &random), Int.random(in: 64...2000, using: &random),
          Bool.random(using: &random) ? "aspectFit" : "aspectFill"))
    }
    let servers: [any ImageServer] = [try workspace.photodServer()] + (vips.map { [$0] } ?? [])
    let names = ["photod", "warm libvips"].prefix(servers.count)
    print("\n\(renders) mixed renders of all photographs, sides of 64 to 2000; photod makes up to 4 at once\n")
    let columns = names.flatMap { ["\($0) peak", "\($0) at once", "\($0) idle"] }
    let table = Table(["renders"] + columns, labels: 0)
    func idleMemory() throws -> [Double] {
      Thread.sleep(forTimeInterval: 2)
      return try servers.map { try ProcessUsage.residentBytes(of: $0.identifier).mebibytes }
    }
    table.row(["0"] + (try idleMemory()).flatMap { ["–", "–", $0.text(1)] })
    var history: [[Double]] = []
    var highest = [Double](repeating: 0, count: servers.count)
    for start in stride(from: 0, to: renders, by: 100) {
      let batch = Array(benchPictures[start..<min(start + 100, renders)])
      var busy: [(peak: Double, resident: Double)] = []
      for (i, server) in servers.enumerated() {
        try ProcessUsage.resetPeak(of: server.identifier)
        try server.make(batch, atOnce: server.width)
        let peak = try ProcessUsage.peakBytes(of: server.identifier).mebibytes
        highest[i] = max(highest[i], peak)
        busy.append((peak, try ProcessUsage.residentBytes(of: server.identifier).mebibytes))
      }
      let idle = try idleMemory()
      history.append(idle)
      table.row(
        ["\(start + batch.count)"]
          + zip(busy, idle).flatMap { [$0.peak.text(1), $0.resident.text(1), $1.text(1)] })
    }
    for (i, name) in names.enumerated() {
      guard let first = history.first?[i], let last = history.last?[i] else { continue }
      print("\n\(name): \((last - first).text(1)) from the first hundred to the last, idle; peak \(highest[i].text(1))")
    }
  }
}

/// `6019/2500x2500`
struct MemoryCase: ExpressibleByArgument {
  let name: String
  let target: Target

  init?(argument: String) {
    let parts = argument.split(separator: "/")
    guard parts.count == 2, let target = Target(argument: String(parts[1])) else { return nil }
    name = String(parts[0])
    self.target = target
  }
}
