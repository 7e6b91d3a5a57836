// The cost of each adjustment, compared with the plain render of the same picture at the same size and with the same
// adjustment by libvips; and the latency of previews while a slider moves. CPU of this thread, and of one thread of
// libvips; the previews go over HTTP.

import ArgumentParser
import Foundation
import ImageCodec
import ImageRender
import LibraryFolder
import PhotoModel

struct AdjustBench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "adjust",
    abstract: "CPU of each adjustment, compared with the plain render and libvips; latency of previews.")

  @OptionGroup var options: PictureOptions

  @Option(help: "Turns of each way.")
  var rounds = 9

  @Option(help: "The longer side of the output.")
  var side = 1600

  @Option(help: "Previews of each photograph.")
  var previews = 200

  @Option(help: "Previews a second.")
  var rate = 20.0

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
      let photographs = workspace.photographs.filter { !$0.hasAlpha }
      let vips = try options.vipsPython.map {
        try VipsAdjustments(python: $0, side: side, rounds: rounds, photographs: photographs)
      }
      try workspace.printTitle(
        "Adjustments at \(side) px, CPU ms, minima of \(rounds) rounds in turn",
        extra: vips.map { ", libvips \($0.version)" })
      if vips == nil { print("No libvips: --vips-python names a Python that has pyvips.\n") }
      let table = Table(
        ["photograph", "adjustment", "CPU ms", "more than plain", "libvips", "more than plain"], labels: 2)
      for (number, photograph) in photographs.enumerated() {
        var best = [Double](repeating: .infinity, count: Self.ways.count)
        for _ in 0..<rounds {
          for (i, way) in Self.ways.enumerated() {
            let seconds = try ProcessUsage.cpuSeconds { try render(photograph.path, way.operations) }
            best[i] = min(best[i], seconds)
          }
        }
        for (i, way) in Self.ways.enumerated() {
          let (theirs, plain) = (vips?.milliseconds(number, way.name), vips?.milliseconds(number, "plain"))
          table.row([
            photograph.name, way.name, (best[i] * 1000).text(1), ((best[i] - best[0]) * 1000).text(1), theirs.text(1),
            theirs.flatMap { theirs in plain.map { theirs - $0 } }.text(1),
          ])
        }
      }
      try measurePreviews(of: photographs, workspace)
    }
  }

  /// A slider that moves: a client asks for one preview after another at a fixed rate, and waits for each. The first
  /// one, which decodes the photograph, is not counted.
  private func measurePreviews(of photographs: [Photograph], _ workspace: BenchWorkspace) throws {
    print(
      "\nPreviews at \(side) px over HTTP, \(rate.text(0)) a second while one slider moves, beside three other operations\n"
    )
    let server = try workspace.photodServer()
    try server.waitUntilIdle()
    let table = Table(["photograph", "first ms", "p50 ms", "p99 ms", "CPU ms each", "late"], labels: 1)
    for photograph in photographs {
      let target = try server.assetPath(of: photograph) + "/preview"
      let client = HTTPClient(port: server.port)
      func preview(_ ev: Double) throws -> Double {
        let json =
          #"{"targetSize": "\#(side)x\#(side)", "client": "bench", "operations": [{"type": "straighten", "degrees": 1.5}, "#
          + #"{"type": "exposure", "ev": \#(ev)}, {"type": "contrast", "amount": 0.2}, {"type": "saturation", "amount": 0.1}]}"#
        let answer = try client.perform(HTTPClient.request(target, method: "POST", json: json))
        guard answer.status == 200 else { throw BenchError(description: "a preview: \(answer.outcome)") }
        return answer.seconds * 1000
      }
      let first = try preview(0)
      var milliseconds: [Double] = []
      var late = 0
      let before = try ProcessUsage.cpuSeconds(of: server.identifier)
      let start = HTTPClient.now()
      for number in 0..<previews {
        let wait = start + Double(number) / rate - HTTPClient.now()
        if wait > 0 { Thread.sleep(forTimeInterval: wait) } else { late += 1 }
        milliseconds.append(try preview(Double(number % 100) / 100 - 0.5))
      }
      let spent = try ProcessUsage.cpuSeconds(of: server.identifier) - before
      table.row([
        photograph.name, first.text(1), milliseconds.percentile(50).text(1), milliseconds.percentile(99).text(1),
        (spent * 1000 / Double(previews)).text(1), "\(late)",
      ])
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

/// The times of libvips for the adjustments that it has.
private struct VipsAdjustments {
  let version: String
  private var found: [String: Double] = [:]

  /// The path in the checkout, where `scripts/bench` runs.
  private static let program = "scripts/bench.d/vips-adjust.py"

  /// - Parameter python: an interpreter with pyvips.
  init(python: String, side: Int, rounds: Int, photographs: [Photograph]) throws {
    let lines = try Command(
      ["env", "VIPS_CONCURRENCY=1", python, Self.program, "\(side)", "\(rounds)", "\(CodecFloor.quality)"]
        + photographs.map(\.path)
    ).text().split(separator: "\n")
    guard let first = lines.first else { throw BenchError(description: "\(python) has no pyvips") }
    version = String(first)
    for line in lines.dropFirst() {
      let fields = line.split(separator: "\t")
      guard fields.count == 3, let milliseconds = Double(fields[2]) else { continue }
      found["\(fields[0]) \(fields[1])"] = milliseconds
    }
  }

  /// `nil` for an adjustment that libvips does not have.
  func milliseconds(_ photograph: Int, _ adjustment: String) -> Double? { found["\(photograph) \(adjustment)"] }
}
