// Cold renders from the original: the CPU time of a picture at its first request, compared with the limit of the codecs
// and with libvips.
//
// All contestants take turns at one picture before the next picture comes, so that disturbances of the machine affect
// all. The limit is taken at the DCT scale of photod's plan, once on photod's path (in planes of YCbCr if it stays in
// them) and once through RGB, and at the smallest scale that covers the output, regardless of quality.

import ArgumentParser

struct RenderBench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "render", abstract: "CPU of a cold render compared with the limit of the codecs and libvips.")

  @OptionGroup var options: PictureOptions

  @Option(help: "A size, as 400x400:aspectFit. Repeatable.")
  var sizes: [Target] = [
    Target(200, 200, "aspectFill"), Target(400, 400, "aspectFit"), Target(1600, 1600, "aspectFit"),
  ]

  @Option(help: "Turns of each contestant for each picture.")
  var rounds = 5

  func run() throws {
    try options.withWorkFolder { workspace in
      let vips = try workspace.vipsServer()
      let photod = try workspace.photodServer()
      // Derivatives and placeholders that are made after the scan would count as the first pictures'.
      try photod.waitUntilIdle()
      try workspace.printTitle(
        "Cold renders: CPU ms a picture, medians of \(rounds) rounds, all contestants in turn", vips: vips)
      let table = Table(
        [
          "photograph", "target", "output", "plan", "photod", "limit", "limit by RGB", "smallest scale",
          "limit there", "vipsthumbnail", "warm libvips", "photod / limit", "/ limit by RGB", "/ vipsthumbnail",
          "/ warm libvips",
        ], labels: 4)
      var results: [Result] = []
      for target in sizes {
        for photograph in workspace.photographs {
          let benchPicture = BenchPicture(photograph: photograph, target: target)
          let result = try measure(benchPicture, workspace, photod, vips)
          results.append(result)
          table.row(result.cells)
        }
      }
      print("\nRatios by kind: median, and the worst\n")
      printSummary(results)
    }
  }

  private func measure(
    _ benchPicture: BenchPicture, _ workspace: BenchWorkspace, _ photod: PhotodServer, _ vips: VipsServer?
  ) throws -> Result {
    let plan = try workspace.photod.plan(benchPicture)
    let isJPEG = benchPicture.photograph.isJPEG
    var contestants = [photod.contestant(benchPicture)]
    // The index of each contestant; absent ones have no entry.
    func enter(_ contestant: Contestant?) -> Int? {
      guard let contestant else { return nil }
      contestants.append(contestant)
      return contestants.count - 1
    }
    let limit = enter(try CodecFloor(benchPicture, plan, eighths: plan.eighths, isPlanar: plan.isPlanar)?.contestant)
    let byRGB =
      plan.isPlanar
      ? enter(try CodecFloor(benchPicture, plan, eighths: plan.eighths, isPlanar: false)?.contestant) : limit
    let smallest = benchPicture.smallestCoveringScale
    let there =
      isJPEG && smallest != plan.eighths
      ? enter(try CodecFloor(benchPicture, plan, eighths: smallest, isPlanar: plan.isPlanar)?.contestant) : limit
    let vipsthumbnail = enter(Vipsthumbnail.contestant(benchPicture, folder: workspace.folder))
    let warm = enter(vips?.contestant(benchPicture))
    let costs = try Contestant.medians(contestants, rounds: rounds).map { $0 * 1000 }
    return Result(
      benchPicture: benchPicture, plan: plan, photod: costs[0], limit: limit.map { costs[$0] },
      limitByRGB: byRGB.map { costs[$0] }, smallestScale: isJPEG ? "\(smallest)/8" : "–",
      limitAtSmallest: there.map { costs[$0] }, vipsthumbnail: vipsthumbnail.map { costs[$0] },
      warmLibvips: warm.map { costs[$0] })
  }

  private struct Result {
    let benchPicture: BenchPicture
    let plan: PhotodCommand.Plan
    let photod: Double
    let limit, limitByRGB: Double?
    let smallestScale: String
    let limitAtSmallest, vipsthumbnail, warmLibvips: Double?

    var cells: [String] {
      let way = (plan.dctScale ?? "whole") + (plan.isPlanar ? ", planes" : "")
      let output = "\(plan.output.description) \(benchPicture.format)"
      let costs = [photod.text(1), limit.text(1), limitByRGB.text(1), smallestScale, limitAtSmallest.text(1)]
      let peers = [vipsthumbnail.text(1), warmLibvips.text(1)]
      return [benchPicture.photograph.name, benchPicture.target.description, output, way] + costs + peers
        + ratios.map { $0.text() }
    }

    var ratios: [Double?] {
      [photod / limit, photod / limitByRGB, photod / vipsthumbnail, photod / warmLibvips]
    }
  }

  private func printSummary(_ results: [Result]) {
    let table = Table(
      [
        "kind", "target", "photographs", "photod / limit", "/ limit by RGB", "/ vipsthumbnail", "/ warm libvips",
      ], labels: 2)
    for kind in ["baseline JPEG", "progressive JPEG", "PNG"] {
      for target in sizes.map(\.description) {
        let chosen = results.filter {
          $0.benchPicture.photograph.kind == kind && $0.benchPicture.target.description == target
        }
        if chosen.isEmpty { continue }
        let ratios = chosen[0].ratios.indices.map { i in
          let values = chosen.compactMap { $0.ratios[i] }
          return values.isEmpty ? "–" : "\(values.median.text()), \(values.max().text())"
        }
        table.row([kind, target, "\(chosen.count)"] + ratios)
      }
    }
  }
}
