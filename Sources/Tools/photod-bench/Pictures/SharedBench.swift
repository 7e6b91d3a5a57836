// Several pictures of one original: each with its own decode, and with one decode for those that share a plan. CPU of
// this thread.

import ArgumentParser
import Foundation
import ImageCodec
import ImageRender
import LibraryFolder
import PhotoModel

struct SharedBench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "shared", abstract: "CPU of several sizes from one decode, compared with one decode for each.")

  @OptionGroup var options: PictureOptions

  @Option(help: "Turns of each way for each set of sizes.")
  var rounds = 5

  private static let sets: [[Target]] = [
    [Target(200, 200, "aspectFill"), Target(400, 400, "aspectFit")],
    [Target(400, 400, "aspectFit"), Target(1600, 1600, "aspectFit")],
    [Target(100, 100, "aspectFit"), Target(200, 200, "aspectFill"), Target(2800, 2800, "aspectFit")],
  ]

  func run() throws {
    try options.withWorkFolder { workspace in
      try workspace.printTitle("Several pictures of one original, CPU ms, medians of \(rounds) rounds in turn")
      let table = Table(
        ["photograph", "sizes", "each alone", "all alone", "scales", "together", "scale", "together / alone"],
        labels: 2)
      for photograph in workspace.photographs {
        for set in Self.sets {
          let requests = set.map { target in
            var request = target.request(quality: CodecFloor.quality)
            if photograph.hasAlpha { request.format = .png }
            return request
          }
          let ways = requests.map { [$0] } + [requests]
          let costs = try Contestant.medians(
            ways.map { way in
              Contestant { pictures in
                try ProcessUsage.cpuSeconds { for _ in 0..<pictures { _ = try Self.render(photograph.path, way) } }
              }
            }, rounds: rounds
          ).map { $0 * 1000 }
          let alone = costs.dropLast()
          let scales = try ways.map { try Self.render(photograph.path, $0) }
          table.row([
            photograph.name, set.map { "\($0.size.width)" }.joined(separator: "+"),
            alone.map { $0.text(1) }.joined(separator: " + "), alone.reduce(0, +).text(1),
            scales.dropLast().joined(separator: ", "), costs.last.text(1), scales.last ?? "",
            (costs.last / alone.reduce(0, +)).text(),
          ])
        }
      }
    }
  }

  /// Renders all, with one decode for those that share a plan. Returns the decode scales.
  private static func render(_ path: String, _ requests: [ImageRequest]) throws -> String {
    var left = requests
    var scales: [String] = []
    while !left.isEmpty {
      let source = try LibraryFolder.file(at: path)
      let header = try ImageHeader.read(from: source, limits: CodecLimits())
      let plan = RenderPlanner().sharedPlan(header, left.map(header.sized))
      try render(plan, source)
      scales.append("\(plan.eighths)/8" + (plan.members.count > 1 ? " of \(plan.members.count)" : ""))
      left = left.enumerated().filter { i, _ in !plan.members.contains { $0.requestIndex == i } }.map(\.element)
    }
    return scales.joined(separator: " + ")
  }

  static func render(_ plan: SharedPlan, _ source: any ByteSource) throws {
    let renderer = try SharedRenderer(
      plan, source: source, limits: CodecLimits(), stops: plan.members.map { _ in StopFlag() })
    var failure: CodecError?
    let isFinished = renderer.resume { if case .failure(let error) = $1 { failure = error } }
    if let failure { throw failure }
    if !isFinished { throw BenchError(description: "a file that has to wait") }
  }
}
