// Executes a shared plan: decode once -> for each picture resample -> rotate upright -> encode. Memory is needed only
// for the rows in flight.

import ImageCodec
import MediaMetadata
import PhotoModel

/// Renders several pictures in one decode. Made and run on a render worker, one thread at a time. It holds its memory
/// until it is released, except that an output's memory is freed when the output is done.
package final class SharedRenderer {
  /// The number of a member of the plan, and its result.
  package typealias Delivery = (_ member: Int, Result<RenderedImage, CodecError>) -> Void

  private let plan: SharedPlan
  private let pipeline: any RenderPipeline
  private let colors: [OutputColor]
  private let stops: [StopFlag]
  /// The original from which gain maps are rendered; `nil` if the caller provides the decoder.
  private let original: (source: any ByteSource, workers: (any CodedPictureDecoder)?, limits: CodecLimits)?
  /// Members whose encoder could not be made and whose failure is not yet delivered.
  private var setupFailures: [(member: Int, error: CodecError)] = []
  private var elapsed = Duration.zero
  /// Time that the finished outputs spent on their own work.
  private var finishedOutputTime = Duration.zero

  /// Opens the decoder and the encoders.
  ///
  /// - Parameters:
  ///   - workers: decode formats whose decoder runs in a process of its own; `nil` if there are none.
  ///   - transforms: cache of colour conversions.
  ///   - stages: as for a ``Renderer``.
  ///   - stops: one for each member of the plan. A raised flag drops that picture; when all are raised, the decode
  ///     ends.
  /// - Throws: an error that prevents every picture from being made.
  package convenience init(
    _ plan: SharedPlan, source: any ByteSource, workers: (any CodedPictureDecoder)? = nil,
    transforms: ColorTransforms? = nil, stages: StageStarter? = nil, limits: CodecLimits, stops: [StopFlag]
  ) throws(CodecError) {
    let started = ContinuousClock.now
    let color = try plan.header.sourceColor(in: source, workers: workers, limits: limits, stop: StopFlag(allOf: stops))
    let transforms = transforms ?? ColorTransforms(capacityBytes: 0)
    var known: [(rows: RowFormat, colorSpace: ColorSpace, isLinear: Bool, color: OutputColor)] = []
    var colors = plan.members.map { member in
      let (rows, colorSpace, isLinear) = (member.plan.sourceRows, member.plan.colorSpace, member.plan.isLinear)
      if member.plan.isHDR {
        var output = HDRLight.outputColor(
          of: color, isCoded: plan.header.isCodedInHDR, rows, transforms)
        if isLinear { output.light = .of(color, rows, isHDR: true) }
        return output
      }
      if let same = known.first(where: { $0.rows == rows && $0.colorSpace == colorSpace && $0.isLinear == isLinear }) {
        return same.color
      }
      let output = transforms.outputColor(of: color, rows, as: colorSpace, isLinear: isLinear)
      known.append((rows, colorSpace, isLinear, output))
      return output
    }
    for (i, member) in plan.members.enumerated() where member.plan.isHDR {
      guard let map = member.plan.gainMap else { continue }
      try Self.addGains(of: map, to: &colors[i], source, workers, limits, stops[i])
    }
    try self.init(
      plan, source: source, workers: workers, colors: colors, stages: stages, limits: limits, stops: stops)
    elapsed = ContinuousClock.now - started
  }

  /// Uses colours that the source itself does not contain.
  ///
  /// - Parameter encoder: takes the rows of a group of one without planes; by default an encoder for a file.
  init(
    _ plan: SharedPlan, source: any ByteSource, workers: (any CodedPictureDecoder)? = nil, colors: [OutputColor],
    encoder: (any RowEncoder)? = nil, stages: StageStarter? = nil, limits: CodecLimits, stops: [StopFlag]
  ) throws(CodecError) {
    self.plan = plan
    self.colors = colors
    self.stops = stops
    original = (source, workers, limits)
    let stop = stops.count == 1 ? stops[0] : StopFlag(allOf: stops)
    let picture = plan.header.pictureSource(in: source)
    // Colours are converted in RGB, not in planes.
    if plan.staysInPlanes && colors.allSatisfy({ $0.transform == nil }) {
      let decoder = try JPEGPlaneDecoder(
        source: picture, header: plan.header, eighths: plan.eighths, firstScanOnly: plan.firstScanOnly, limits: limits,
        stop: stop)
      let opened = Self.branches(plan, stops) { (i, plan) throws(CodecError) in
        try PlaneOutput(plan, layouts: decoder.planes, profile: colors[i].profile, stop: stops[i])
      }
      pipeline = PlanePipeline(decoder, opened.branches)
      setupFailures = opened.failed
    } else {
      let decoder = try RowPipeline.decoder(
        plan, source: picture, workers: workers, limits: limits, stop: stop)
      (pipeline, setupFailures) = Self.rows(
        plan, decoder, colors, encoder: encoder, workers: workers, stages: stages, stops: stops)
    }
  }

  /// Uses a decoder that the caller provides.
  init(
    _ plan: SharedPlan, decoder: any RowDecoder, colors: [OutputColor], encoder: (any RowEncoder)? = nil,
    stops: [StopFlag]
  ) {
    self.plan = plan
    self.colors = colors
    self.stops = stops
    original = nil
    (pipeline, setupFailures) = Self.rows(
      plan, decoder, colors, encoder: encoder, workers: nil, stages: nil, stops: stops)
  }

  /// Decodes as far as there is input, and delivers each picture once, when it is finished, on this thread and during
  /// the decode. Returns true if all are delivered; false if the source has no data yet: call again when it has.
  package func resume(_ deliver: Delivery) -> Bool {
    let started = ContinuousClock.now
    defer { elapsed += ContinuousClock.now - started }
    for (member, error) in setupFailures { deliver(member, .failure(error)) }
    setupFailures = []
    return withoutActuallyEscaping(deliver) { deliver in
      let outcome = pipeline.decode { [self] member, output, failure in
        let result = Result { () throws(CodecError) in
          if let failure { throw failure }
          return try finish(member, output, started)
        }
        finishedOutputTime += output.resizeTime + output.encodeTime
        deliver(member, result)
      }
      return outcome == .finished
    }
  }

  private func finish(
    _ member: Int, _ output: any RenderOutput, _ started: ContinuousClock.Instant
  ) throws(CodecError) -> RenderedImage {
    var bytes = try output.finish()
    let plan = plan.members[member].plan
    let decoder = pipeline.decoder
    var mapWarning: CodecWarnings?
    var hasGainMap = false
    if !decoder.isTruncated {
      do throws(CodecError) {
        if let joined = try withGainMap(bytes, member) {
          bytes = joined
          hasGainMap = true
        }
      } catch {
        // If the map is damaged, the picture is sent without one.
        guard error.isOfFile else { throw error }
        mapWarning = CodecWarnings(library: "gain map", count: 1, first: "\(error)")
      }
    }
    let others = pipeline.outputs.reduce(finishedOutputTime) { $0 + $1.resizeTime + $1.encodeTime }
    let total = elapsed + (ContinuousClock.now - started)
    return RenderedImage(
      bytes: bytes, size: plan.outputSize, format: plan.format, decodedEighths: plan.eighths,
      isIncomplete: decoder.isTruncated, hasGainMap: hasGainMap,
      isHDR: plan.isHDR
        && (plan.gainMap == nil || colors[member].hdrLight?.gains != nil),
      warnings: [
        decoder.warnings, output.warnings, colors[member].warnings, colors[member].gainWarning, mapWarning,
      ].compactMap(\.self),
      readTime: decoder.readTime, workerTime: decoder.workerTime,
      decodeTime: total - decoder.readTime - decoder.workerTime - output.resizeTime - output.encodeTime - others,
      resizeTime: output.resizeTime, encodeTime: output.encodeTime)
  }

  /// Renders the gain map of a frame of high dynamic range, before the picture: an encoder that is writing rows can't
  /// wait for a decoder. If the map is damaged, the frame has the light of the base picture.
  private static func addGains(
    of map: GainMapPlan, to color: inout OutputColor, _ source: any ByteSource,
    _ workers: (any CodedPictureDecoder)?, _ limits: CodecLimits, _ stop: StopFlag
  ) throws(CodecError) {
    // As for kept maps: gains for red, green and blue apply to the primaries of the original.
    if map.map.isColored, color.hdrLight?.hasOwnPrimaries == false { return }
    do throws(CodecError) {
      color.hdrLight?.gains = try map.field(source: source, workers: workers, limits: limits, stop: stop)
    } catch {
      // This picture is no longer wanted; the other members of the plan continue.
      if stop.isRaised { return }
      guard error.isOfFile else { throw error }
      color.gainWarning = CodecWarnings(library: "gain map", count: 1, first: "\(error)")
    }
  }

  /// A finished picture with its gain map; `nil` if it has none.
  private func withGainMap(_ picture: [UInt8], _ member: Int) throws(CodecError) -> [UInt8]? {
    let plan = plan.members[member].plan
    guard let gainMap = plan.gainMap, !plan.isHDR, let original else { return nil }
    // Gains for red, green and blue apply only to the primaries of the original; a single gain applies to any.
    if gainMap.map.isColored, colors[member].transform != nil { return nil }
    return try gainMap.join(
      picture, source: original.source, workers: original.workers, limits: original.limits, stop: stops[member])
  }

  private static func rows(
    _ plan: SharedPlan, _ decoder: any RowDecoder, _ colors: [OutputColor], encoder: (any RowEncoder)?,
    workers: (any CodedPictureDecoder)?, stages: StageStarter?, stops: [StopFlag]
  ) -> (any RenderPipeline, [(Int, CodecError)]) {
    let opened = branches(plan, stops) { (i, plan) throws(CodecError) in
      try RowOutput(
        plan, layout: decoder.layout, color: colors[i], encoder: encoder, workers: workers, stages: stages,
        stop: stops[i])
    }
    // The gain map of a picture that a worker decodes is decoded by a worker too.
    let needsAnotherWorker = plan.header.format.needsWorker && plan.members.contains { $0.plan.gainMap != nil }
    return (RowPipeline(decoder, opened.branches, leavesEarly: !needsAnotherWorker), opened.failed)
  }

  /// Outputs for the members whose encoder could be made, and the failures of the others.
  private static func branches<Output>(
    _ plan: SharedPlan, _ stops: [StopFlag], _ make: (Int, RenderPlan) throws(CodecError) -> Output
  ) -> (branches: [DecodedRowDistributor<Output>.Branch], failed: [(Int, CodecError)]) {
    var branches: [DecodedRowDistributor<Output>.Branch] = []
    var failed: [(Int, CodecError)] = []
    for (i, member) in plan.members.enumerated() {
      do throws(CodecError) {
        branches.append(
          DecodedRowDistributor<Output>.Branch(member: i, output: try make(i, member.plan), stop: stops[i]))
      } catch {
        failed.append((i, error))
      }
    }
    return (branches, failed)
  }
}
