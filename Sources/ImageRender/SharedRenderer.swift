// A shared plan carried out: decode once -> for each picture resample -> turn upright -> encode, with memory for the rows in
// flight and no more.

import ImageCodec
import PhotoModel

/// Several pictures from one decode. Made and run on a render worker, one thread at a time; it holds its memory until it
/// goes, less what an output took that is done with.
package final class SharedRenderer {
  /// Which member of the plan, and what became of it.
  package typealias Delivery = (_ member: Int, Result<RenderedImage, CodecError>) -> Void

  private let plan: SharedPlan
  private let pipeline: any RenderPipeline
  private let colors: [OutputColor]
  /// Members whose encoder could not be made, not yet told.
  private var failedAtOnce: [(member: Int, error: CodecError)] = []
  private var elapsed = Duration.zero
  /// What the outputs that have left spent on themselves.
  private var spentOnOutputs = Duration.zero

  /// Opens the decoder and the encoders.
  ///
  /// - Parameters:
  ///   - transforms: where conversions that were made before are found.
  ///   - stops: one for each member of the plan. Raised, that picture is dropped; when all are, the decode ends.
  /// - Throws: what keeps every picture from being made.
  package convenience init(
    _ plan: SharedPlan, source: any ByteSource, transforms: ColorTransforms? = nil, limits: CodecLimits,
    stops: [StopFlag]
  ) throws(CodecError) {
    let started = ContinuousClock.now
    let color = try SourceColor(plan.header, in: source, limits: limits)
    let transforms = transforms ?? ColorTransforms(capacityBytes: 0)
    var known: [(rows: RowFormat, colorSpace: ColorSpace, color: OutputColor)] = []
    let colors = plan.members.map { member in
      let (rows, colorSpace) = (member.plan.sourceRows, member.plan.colorSpace)
      if let same = known.first(where: { $0.rows == rows && $0.colorSpace == colorSpace }) { return same.color }
      let output = transforms.outputColor(of: color, rows, as: colorSpace)
      known.append((rows, colorSpace, output))
      return output
    }
    try self.init(plan, source: source, colors: colors, limits: limits, stops: stops)
    elapsed = ContinuousClock.now - started
  }

  /// For colours that the source itself does not tell.
  ///
  /// - Parameter encoder: what takes the rows of a group of one that has no planes; by default what makes a file.
  init(
    _ plan: SharedPlan, source: any ByteSource, colors: [OutputColor], encoder: (any RowEncoder)? = nil,
    limits: CodecLimits, stops: [StopFlag]
  ) throws(CodecError) {
    self.plan = plan
    self.colors = colors
    let stop = stops.count == 1 ? stops[0] : StopFlag(allOf: stops)
    // Colours are converted as RGB.
    if plan.staysInPlanes && colors.allSatisfy({ $0.transform == nil }) {
      let decoder = try JPEGPlaneDecoder(
        source: source, header: plan.header, eighths: plan.eighths, firstScanOnly: plan.firstScanOnly, limits: limits,
        stop: stop)
      let made = Self.branches(plan, stops) { (i, plan) throws(CodecError) in
        try PlaneOutput(plan, layouts: decoder.planes, profile: colors[i].profile, stop: stops[i])
      }
      pipeline = PlanePipeline(decoder, made.branches)
      failedAtOnce = made.failed
    } else {
      let decoder = try RowPipeline.decoder(plan, source: source, limits: limits, stop: stop)
      (pipeline, failedAtOnce) = Self.rows(plan, decoder, colors, encoder, stops)
    }
  }

  /// For rows that come from a decoder of the caller's.
  init(
    _ plan: SharedPlan, decoder: any RowDecoder, colors: [OutputColor], encoder: (any RowEncoder)? = nil,
    stops: [StopFlag]
  ) {
    self.plan = plan
    self.colors = colors
    (pipeline, failedAtOnce) = Self.rows(plan, decoder, colors, encoder, stops)
  }

  /// Goes on as far as there is input, and delivers each picture as it is finished, each once: on this thread, from within
  /// the decode. True: all are delivered. False: the source had nothing for now; call again when it has.
  package func resume(_ deliver: Delivery) -> Bool {
    let started = ContinuousClock.now
    defer { elapsed += ContinuousClock.now - started }
    for (member, error) in failedAtOnce { deliver(member, .failure(error)) }
    failedAtOnce = []
    return withoutActuallyEscaping(deliver) { deliver in
      let outcome = pipeline.decode { [self] member, output, failure in
        let result = Result { () throws(CodecError) in
          if let failure { throw failure }
          return try finish(member, output, started)
        }
        spentOnOutputs += output.resizeTime + output.encodeTime
        deliver(member, result)
      }
      return outcome == .finished
    }
  }

  private func finish(
    _ member: Int, _ output: any RenderOutput, _ started: ContinuousClock.Instant
  ) throws(CodecError) -> RenderedImage {
    let bytes = try output.finish()
    let plan = plan.members[member].plan
    let decoder = pipeline.decoder
    let others = pipeline.outputs.reduce(spentOnOutputs) { $0 + $1.resizeTime + $1.encodeTime }
    let total = elapsed + (ContinuousClock.now - started)
    return RenderedImage(
      bytes: bytes, size: plan.outputSize, format: plan.format, decodedEighths: plan.eighths,
      isIncomplete: decoder.isTruncated,
      warnings: [decoder.warnings, output.warnings, colors[member].warnings].compactMap(\.self),
      readTime: decoder.readTime,
      decodeTime: total - decoder.readTime - output.resizeTime - output.encodeTime - others,
      resizeTime: output.resizeTime, encodeTime: output.encodeTime)
  }

  private static func rows(
    _ plan: SharedPlan, _ decoder: any RowDecoder, _ colors: [OutputColor], _ encoder: (any RowEncoder)?,
    _ stops: [StopFlag]
  ) -> (any RenderPipeline, [(Int, CodecError)]) {
    let made = branches(plan, stops) { (i, plan) throws(CodecError) in
      try RowOutput(plan, layout: decoder.layout, color: colors[i], encoder: encoder, stop: stops[i])
    }
    return (RowPipeline(decoder, made.branches), made.failed)
  }

  /// The outputs whose encoder could be made, and the others.
  private static func branches<Output>(
    _ plan: SharedPlan, _ stops: [StopFlag], _ make: (Int, RenderPlan) throws(CodecError) -> Output
  ) -> (branches: [FanOut<Output>.Branch], failed: [(Int, CodecError)]) {
    var branches: [FanOut<Output>.Branch] = []
    var failed: [(Int, CodecError)] = []
    for (i, member) in plan.members.enumerated() {
      do throws(CodecError) {
        branches.append(FanOut<Output>.Branch(member: i, output: try make(i, member.plan), stop: stops[i]))
      } catch {
        failed.append((i, error))
      }
    }
    return (branches, failed)
  }
}
