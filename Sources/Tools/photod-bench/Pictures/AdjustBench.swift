// What each adjustment costs beside the plain render of the same picture at the same size. CPU of this thread.

import ArgumentParser
import Foundation
import ImageCodec
import ImageRender
import LibraryFolder
import PhotoModel

struct AdjustBench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "adjust", abstract: "CPU of each adjustment, compared with the plain render.")

  @OptionGroup var options: PictureOptions

  @Option(help: "Turns of each way.")
  var rounds = 9

  @Option(help: "The longer side of the output.")
  var side = 1600

  private typealias Way = (name: String, operations: [AdjustmentOperation])

  private static let ways: [Way] = {
    var ways: [Way] = [("plain", []), ("rows, not planes", [.toneCurve(.rgb, straight)])]
    for tone in ToneOperation.allCases { ways.append((tone.rawValue, [.tone(tone, 0.5)])) }
    ways.append(("crop", [.crop(UnitRect(x: 0.1, y: 0.1, width: 0.8, height: 0.8))]))
    ways.append(("rotate", [.rotate(quarterTurns: 1)]))
    ways.append(("straighten 2", [.straighten(degrees: 2)]))
    ways.append(("straighten 30", [.straighten(degrees: 30)]))
    ways.append(("perspective", [.perspective(Homography([0.8, 0, 0.1, 0, 0.8, 0.1, 0.1, 0, 1]))]))
    ways.append(("vignette", [.vignette(amount: 0.5, radius: 0.3)]))
    ways.append(
      (
        "eight tones",
        [
          .tone(.exposure, 0.3), .tone(.contrast, 0.2), .tone(.highlights, -0.4), .tone(.shadows, 0.4),
          .tone(.warmth, 0.1), .tone(.saturation, 0.2), .tone(.vibrance, 0.2), .toneCurve(.rgb, straight),
        ]
      ))
    return ways
  }()

  private static let straight: ToneCurve = {
    guard let curve = ToneCurve([.init(0, 0), .init(1, 1)]) else { preconditionFailure("a straight line is a curve") }
    return curve
  }()

  func run() throws {
    try options.withWorkFolder { workspace in
      try workspace.printTitle("Adjustments at \(side) px, CPU ms, minima of \(rounds) rounds in turn")
      let table = Table(["photograph", "adjustment", "CPU ms", "more than plain"], labels: 2)
      for photograph in workspace.photographs where !photograph.hasAlpha {
        var best = [Double](repeating: .infinity, count: Self.ways.count)
        for _ in 0..<rounds {
          for (i, way) in Self.ways.enumerated() {
            let seconds = try ProcessUsage.cpuSeconds { try render(photograph.path, way.operations) }
            best[i] = min(best[i], seconds)
          }
        }
        for (i, way) in Self.ways.enumerated() {
          table.row([photograph.name, way.name, (best[i] * 1000).text(1), ((best[i] - best[0]) * 1000).text(1)])
        }
      }
    }
  }

  private func render(_ path: String, _ operations: [AdjustmentOperation]) throws {
    let source = try LibraryFolder.file(at: path)
    let header = try ImageHeader.read(from: source, limits: CodecLimits())
    let request = ImageRequest(targetSize: .size(PixelSize(width: side, height: side)), format: .jpeg)
    let adjustments = operations.isEmpty ? nil : Adjustments(operations)
    try SharedBench.render(SharedPlan(RenderPlanner().plan(header, header.sized(request, adjustments))), source)
  }
}
