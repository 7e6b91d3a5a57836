// The loss of frames that are made from a rung of the derivative ladder, and their cost.
//
// Quality: the PSNR of the frame from the original minus the PSNR of the frame from the rung, both against a full
// decode with Lanczos3 (as in `quality`) and as JPEGs of quality 82. libjpeg encodes the rungs directly from a rendered
// PNG, so that any quality and sampling can be tried; photod's renderer makes the frames.
//
// CPU of this thread: the frame from the rung's bytes in memory to a JPEG in memory, including header and plan; the
// rung as an additional output of the decode for a frame of 400 px.

import ArgumentParser
import Foundation
import ImageCodec
import ImageRender
import LibraryFolder
import PhotoFixtures
import PhotoModel

struct LadderBench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "ladder", abstract: "Loss and cost of frames from derivatives.")

  @OptionGroup var options: PictureOptions

  @Option(help: "Shorter sides of the rungs, separated by commas.")
  var sides = DerivativeLadder.standard.rungs.map { "\($0.side)" }.joined(separator: ",")

  @Option(help: "JPEG qualities of the rungs, separated by commas.")
  var qualities = "\(DerivativeLadder.standard.quality)"

  @Option(help: "Chroma sampling of the rungs: 2 for 4:2:0, 1 for 4:4:4, separated by commas.")
  var samplings = "\(JPEGEncoder.chromaStep(quality: DerivativeLadder.standard.quality))"

  @Option(help: "A size of frames, as 400x400:aspectFit. Repeatable.")
  var sizes: [Target] = [
    Target(100, 100, "aspectFit"), Target(200, 200, "aspectFill"), Target(256, 256, "aspectFit"),
    Target(400, 400, "aspectFit"),
  ]

  @Option(help: "JPEG quality of frames.")
  var frameQuality = CodecFloor.quality

  @Option(help: "Measurements of each cost.")
  var rounds = 15

  @Flag(help: "Also print a row for each photograph.")
  var each = false

  func run() throws {
    try options.withWorkFolder { workspace in
      try workspace.printTitle("Frames from derivatives, JPEGs of quality \(frameQuality)")
      let opaque = workspace.photographs.filter { !$0.hasAlpha }
      let rungs = try numbers(sides).flatMap { side in
        try numbers(qualities).flatMap { quality in
          try numbers(samplings).map { RungKind(side: side, quality: quality, sampling: $0) }
        }
      }
      let table = Table(
        [
          "rung", "frame", "pixels a side", "photographs", "direct, dB", "loss, median", "loss, worst", "rung, KB",
          "frame, CPU us", "frame, worst",
        ], labels: 3)
      var stores: [String: [RungKind: [UInt8]]] = [:]
      for photograph in opaque { stores[photograph.path] = try Self.encoded(rungs, of: photograph) }
      for target in sizes {
        let references = try opaque.map { try LadderReference($0, target, workspace, quality: frameQuality) }
        for rung in rungs {
          let results = try references.compactMap { reference in
            try result(reference, rung, stores[reference.photograph.path]?[rung] ?? [])
          }
          guard !results.isEmpty else { continue }
          func median(_ value: (Result) -> Double) -> Double? { results.map(value).median }
          table.row([
            rung.description, target.description, median(\.ratio).text(), "\(results.count)",
            median(\.direct).text(), median(\.loss).text(), results.map(\.loss).max().text(),
            median(\.rungBytes).map { $0 / 1000 }.text(1), median(\.microseconds).text(0),
            results.map(\.microseconds).max().text(0),
          ])
          for one in results where each {
            table.row([
              rung.description, target.description, one.ratio.text(), one.name, one.direct.text(), one.loss.text(), "",
              (one.rungBytes / 1000).text(1), one.microseconds.text(0), "",
            ])
          }
        }
      }
      try printRungCosts(opaque)
    }
  }

  private func numbers(_ list: String) throws -> [Int] {
    try list.split(separator: ",").map {
      guard let number = Int($0) else { throw ValidationError("\($0) is not a number") }
      return number
    }
  }

  // MARK: - Frames

  private struct RungKind: Hashable {
    let side, quality, sampling: Int

    var description: String { "\(side) px q\(quality) 4:\(sampling == 2 ? "2:0" : "4:4")" }
  }

  /// The reference of a comparison.
  private struct LadderReference {
    let photograph: Photograph
    let request: ImageRequest
    let upright: PixelSize
    let pixels: Pixels
    /// PSNR of the frame from the original.
    let direct: Double

    init(_ photograph: Photograph, _ target: Target, _ workspace: BenchWorkspace, quality: Int) throws {
      self.photograph = photograph
      let benchPicture = BenchPicture(photograph: photograph, target: target)
      let plan = try workspace.photod.plan(benchPicture)
      pixels = try ReferencePicture(benchPicture: benchPicture, plan: plan, folder: workspace.folder).picture(
        eighths: 8)
      request = target.request(quality: quality)
      let (image, header) = try LadderBench.render(photograph.path, request)
      upright = header.uprightSize
      direct = try LadderBench.psnr(image.bytes, pixels)
    }
  }

  private struct Result {
    let name: String
    let ratio, direct, loss, rungBytes, microseconds: Double
  }

  /// `nil` if the rung has fewer pixels than the frame.
  private func result(_ reference: LadderReference, _ rung: RungKind, _ bytes: [UInt8]) throws -> Result? {
    let rules = SizeRules(reference.request, upright: reference.upright)
    let ratio = rules.reduction / DerivativeLadder.Rung(side: rung.side).reduction(of: reference.upright)
    guard ratio >= 1 else { return nil }
    var frame: [UInt8] = []
    var samples: [Double] = []
    for _ in 0..<rounds {
      samples.append(
        try ProcessUsage.cpuSeconds { frame = try Self.frame(bytes, of: reference.upright, reference.request) } * 1e6)
    }
    return Result(
      name: reference.photograph.name, ratio: ratio, direct: reference.direct,
      loss: reference.direct - (try Self.psnr(frame, reference.pixels)), rungBytes: Double(bytes.count),
      microseconds: samples.median ?? 0)
  }

  /// Makes a frame from a rung's bytes, with all steps.
  private static func frame(_ rung: [UInt8], of upright: PixelSize, _ request: ImageRequest) throws -> [UInt8] {
    let source = MemoryByteSource(rung)
    let header = try ImageHeader.read(from: source, limits: CodecLimits())
    let plan = RenderPlanner().derivativePlan(header, SizedRequest(request, upright: upright))
    return try Renderer(plan, source: source, limits: CodecLimits(), stop: StopFlag()).render().bytes
  }

  private static func encoded(_ kinds: [RungKind], of photograph: Photograph) throws -> [RungKind: [UInt8]] {
    var rungs: [RungKind: [UInt8]] = [:]
    for side in Set(kinds.map(\.side)) {
      let rung = DerivativeLadder.Rung(side: side)
      var request = DerivativeLadder.standard.request(for: rung, of: try upright(photograph), hasAlpha: true)
      request.quality = nil
      let (image, _) = try render(photograph.path, request)
      guard let pixels = Pixels.decoded(image.bytes)?.pixels.channels(3) else { continue }
      for kind in kinds where kind.side == side {
        rungs[kind] = JPEGFile {
          $0.quality = kind.quality
          $0.sampling = (kind.sampling, kind.sampling)
        }.encoded(pixels)
      }
    }
    return rungs
  }

  private static func upright(_ photograph: Photograph) throws -> PixelSize {
    try ImageHeader.read(from: LibraryFolder.file(at: photograph.path), limits: CodecLimits()).uprightSize
  }

  private static func render(_ path: String, _ request: ImageRequest) throws -> (RenderedImage, ImageHeader) {
    let source = try LibraryFolder.file(at: path)
    let header = try ImageHeader.read(from: source, limits: CodecLimits())
    let plan = RenderPlanner().plan(header, request)
    return (try Renderer(plan, source: source, limits: CodecLimits(), stop: StopFlag()).render(), header)
  }

  private static func psnr(_ bytes: [UInt8], _ reference: Pixels) throws -> Double {
    guard let value = Pixels.decoded(bytes)?.pixels.channels(3).psnr(against: reference) else {
      throw BenchError(description: "a frame of another size than the reference")
    }
    return value
  }

  // MARK: - Rungs

  private func printRungCosts(_ photographs: [Photograph]) throws {
    print("\nRungs of the standard ladder as more outputs of the decode for 400x400 aspectFit, CPU ms\n")
    let table = Table(
      ["photograph", "frame alone", "scale", "with the rungs", "scale", "rungs add", "rungs alone"], labels: 1)
    let ladder = DerivativeLadder.standard
    for photograph in photographs {
      let frame = Target(400, 400, "aspectFit").request(quality: frameQuality)
      let rungs = try ladder.rungs.map {
        ladder.request(for: $0, of: try Self.upright(photograph), hasAlpha: photograph.hasAlpha)
      }
      let contestants = [[frame], [frame] + rungs, rungs].map { requests in
        Contestant { pictures in
          try ProcessUsage.cpuSeconds { for _ in 0..<pictures { _ = try Self.shared(photograph.path, requests) } }
        }
      }
      let costs = try Contestant.medians(contestants, rounds: rounds).map { $0 * 1000 }
      let scales = try [[frame], [frame] + rungs].map { "\(try Self.shared(photograph.path, $0))/8" }
      table.row([
        photograph.name, costs[0].text(1), scales[0], costs[1].text(1), scales[1], (costs[1] - costs[0]).text(1),
        costs[2].text(1),
      ])
    }
  }

  /// Renders all with one decode. Returns its scale.
  private static func shared(_ path: String, _ requests: [ImageRequest]) throws -> Int {
    let source = try LibraryFolder.file(at: path)
    let header = try ImageHeader.read(from: source, limits: CodecLimits())
    let plan = RenderPlanner().sharedPlan(header, requests.map(header.sized))
    guard plan.members.count == requests.count else { throw BenchError(description: "\(path) is not shared") }
    try SharedBench.render(plan, source)
    return plan.eighths
  }
}

extension Target {
  func request(quality: Int) -> ImageRequest {
    ImageRequest(
      targetSize: .size(PixelSize(width: size.width, height: size.height)),
      contentMode: mode == "aspectFill" ? .aspectFill : .aspectFit, format: .jpeg, quality: quality)
  }
}
