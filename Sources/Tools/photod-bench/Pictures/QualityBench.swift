// The difference of a picture from the best possible one: a complete decode and one Lanczos3 reduction, both by
// libvips, which shares nothing with photod's decoding and resampling. PSNR in dB, as JPEG of quality 82 and as PNG,
// where no encoder hides the kernel. The gate applies to the JPEG. For a PNG vipsthumbnail decodes everything, so
// libvips is often compared with itself, and a dash means no difference.
//
// It also determines the cheapest DCT scale that passes the gate, again with libvips: a decode at that scale, reduced
// by Lanczos3, encoded as a JPEG. (If a side can't be divided by the scale, libvips is off by a fraction of a pixel at
// the far end.)

import ArgumentParser
import Foundation
import PhotoFixtures

struct QualityBench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "quality", abstract: "PSNR against a full decode and Lanczos3, compared with vipsthumbnail.")

  @OptionGroup var options: PictureOptions

  @Option(help: "A size, as 400x400:aspectFit. Repeatable.")
  var sizes: [Target] = [
    Target(200, 200, "aspectFill"), Target(400, 400, "aspectFit"), Target(1600, 1600, "aspectFit"),
  ]

  /// The allowed difference to vipsthumbnail, in dB.
  private static let allowance = 0.3

  func run() throws {
    try options.withWorkFolder { workspace in
      try workspace.printTitle(
        "PSNR against a full decode and Lanczos3, dB; as JPEG at least vipsthumbnail's less \(Self.allowance)")
      let table = Table(
        [
          "photograph", "target", "plan", "cheapest scale", "passes", "photod JPEG", "vipsthumbnail", "difference",
          "photod PNG", "vipsthumbnail", "difference",
        ], labels: 5)
      var (passed, judged) = (0, 0)
      for target in sizes {
        for photograph in workspace.photographs {
          guard let passes = try row(BenchPicture(photograph: photograph, target: target), workspace, table) else {
            continue
          }
          judged += 1
          passed += passes ? 1 : 0
        }
      }
      print("\n\(passed) of \(judged) pass")
    }
  }

  /// Whether it passes; `nil` unless it is a JPEG.
  private func row(_ benchPicture: BenchPicture, _ workspace: BenchWorkspace, _ table: Table) throws -> Bool? {
    let plan = try workspace.photod.plan(benchPicture)
    let reference = ReferencePicture(benchPicture: benchPicture, plan: plan, folder: workspace.folder)
    let ideal = try reference.picture(eighths: 8)
    func measured(_ format: String) throws -> (photod: Double, vips: Double) {
      let (ours, theirs) = (workspace.folder + "/ours." + format, workspace.folder + "/theirs." + format)
      try workspace.photod.render(benchPicture.photograph.path, benchPicture.target, to: ours)
      try Vipsthumbnail.command(benchPicture, to: theirs).run()
      return (try Self.psnr(ours, ideal), try Self.psnr(theirs, ideal))
    }
    let png = try measured("png")
    // A JPEG of a picture with alpha depends on the choice of background.
    let jpeg = benchPicture.format == "jpeg" ? try measured("jpeg") : nil
    var cheapest = "–"
    if benchPicture.photograph.isJPEG, let jpeg {
      for eighths in [1, 2, 4, 8] where eighths >= benchPicture.smallestCoveringScale && cheapest == "–" {
        let value = try Self.psnr(reference.jpeg(eighths: eighths), ideal)
        if value >= jpeg.vips - Self.allowance { cheapest = "\(eighths)/8" }
      }
    }
    let passes = jpeg.map { $0.photod >= $0.vips - Self.allowance }
    func cells(_ pair: (photod: Double, vips: Double)?) -> [String] {
      [pair?.photod, pair?.vips, pair.map { $0.photod - $0.vips }].map { $0.text() }
    }
    let words = [benchPicture.photograph.name, benchPicture.target.description, plan.dctScale ?? "whole", cheapest]
    table.row(words + [passes.map { $0 ? "yes" : "NO" } ?? "–"] + cells(jpeg) + cells(png))
    return passes
  }

  private static func psnr(_ path: String, _ ideal: Pixels) throws -> Double {
    guard let value = try ReferencePicture.read(path).psnr(against: ideal) else {
      throw BenchError(description: "\(path) has another size than the reference")
    }
    return value
  }
}
