import ImageCodec
import MediaMetadata
import PhotoModel

/// Makes output rows from decoded rows.
protocol RowResampler: RowConsumer {
  /// Time spent in the kernels; part of the decode's total time.
  var resizeTime: Duration { get }
}

/// An output that is made from rows of gray, RGB, RGBA or CMYK.
final class RowOutput: RenderOutput, RowConsumer {
  private let writer: RowWriter
  private let consumer: any RowResampler

  /// - Parameters:
  ///   - layout: layout of the decoded rows.
  ///   - encoder: takes the rows; by default an encoder for a file of the plan's format.
  ///   - workers: encode formats whose encoder runs in a process of its own; `nil` if there are none.
  ///   - stages: starts threads for the warp, the tones and the encoder; `nil`: the caller's does everything.
  init(
    _ plan: RenderPlan, layout: RowLayout, color: OutputColor, encoder: (any RowEncoder)? = nil,
    workers: (any CodedPictureDecoder)? = nil, stages: StageStarter? = nil, stop: StopFlag
  ) throws(CodecError) {
    let channels = plan.rowChannels
    func staged(_ encoder: any RowEncoder, rowBytes: Int) -> any RowEncoder {
      stages.map { StagedEncoder(encoder, rowBytes: rowBytes, start: $0) } ?? encoder
    }
    var encoder: any RowEncoder =
      if let encoder { encoder } else { try Self.encoder(plan, color, workers, stop) }
    encoder = staged(encoder, rowBytes: plan.outputSize.width * plan.outputPixelBytes)
    if let edit = plan.edit {
      let toned = plan.tonedSize
      if !edit.tones.isEmpty {
        encoder = AdjustingEncoder(
          edit, size: toned, channels: channels, outputChannels: plan.outputChannels, to: encoder)
        encoder = staged(encoder, rowBytes: toned.width * plan.rowPixelBytes)
      }
      if let warp = edit.warp {
        let upright = plan.uprightSize
        encoder = WarpEncoder(warp.map, from: upright, to: toned, channels: channels, encoder: encoder)
        encoder = staged(encoder, rowBytes: upright.width * plan.rowPixelBytes)
      }
    }
    // Without a conversion and linear light, the resampler blends over white itself, which needs no buffer for a row.
    let changesValues = color.transform?.source.hasAlpha ?? (color.light != nil)
    writer = RowWriter(
      storedSize: plan.storedOutput, channels: channels, bits: plan.outputBits,
      transform: color.transform, blendsAlpha: plan.dropsAlpha && changesValues,
      orientation: plan.orientation, encoder: encoder, stop: stop)
    consumer = Self.consumer(plan, layout, color.light, writer)
  }

  var failure: CodecError? { writer.failure }
  var warnings: CodecWarnings? { writer.warnings }
  var resizeTime: Duration { consumer.resizeTime }
  var encodeTime: Duration { writer.encodeTime }

  func space(forRow y: Int) -> UnsafeMutableRawPointer { consumer.space(forRow: y) }
  func rowArrived(_ y: Int) -> Bool { consumer.rowArrived(y) }
  func finish() throws(CodecError) -> [UInt8] { try writer.finish() }

  private static func encoder(
    _ plan: RenderPlan, _ color: OutputColor, _ workers: (any CodedPictureDecoder)?, _ stop: StopFlag
  ) throws(CodecError) -> any RowEncoder {
    if plan.isHDR {
      guard let light = color.hdrLight else { preconditionFailure("a frame of high dynamic range without light") }
      return try HDREncoder(plan, light, workers, stop: stop)
    }
    guard plan.tone != .color else {
      return try encoder(plan, channels: plan.outputChannels, profile: color.profile, workers, stop)
    }
    let tones = ToneEncoder.channels(of: plan.outputChannels)
    return ToneEncoder(
      plan.tone, channels: plan.outputChannels, width: plan.outputSize.width,
      encoder: try encoder(plan, channels: tones, profile: nil, workers, stop))
  }

  private static func encoder(
    _ plan: RenderPlan, channels: Int, profile: [UInt8]?, _ workers: (any CodedPictureDecoder)?, _ stop: StopFlag
  ) throws(CodecError) -> any RowEncoder {
    switch plan.format {
    case .jpeg:
      try JPEGEncoder(
        size: plan.outputSize, channels: channels, quality: plan.quality, profile: profile, coding: plan.jpegCoding)
    case .png:
      try PNGEncoder(
        size: plan.outputSize, channels: channels, bitsPerChannel: plan.outputBits, profile: profile)
    case .webp, .avif, .jxl: try WorkerEncoder(plan, channels: channels, profile: profile, workers, stop: stop)
    }
  }

  /// - Parameter light: in which rows are scaled; `nil` for their own values.
  private static func consumer(
    _ plan: RenderPlan, _ layout: RowLayout, _ light: LinearLight?, _ writer: RowWriter
  ) -> any RowResampler {
    let isPlain = layout.bitsPerChannel == 8 && writer.bitsPerChannel == 8 && layout.channels == writer.channels
    if isPlain && plan.horizontal.isIdentity && plan.vertical.isIdentity {
      return IdentityResampler(
        layout: layout, columns: plan.horizontal.inputRange, rows: plan.vertical.inputRange, writer: writer)
    }
    if isPlain && !layout.hasAlpha && light == nil {
      return IntegerResampler(layout: layout, horizontal: plan.horizontal, vertical: plan.vertical, writer: writer)
    }
    return FloatResampler(
      layout: layout, horizontal: plan.horizontal, vertical: plan.vertical, light: light, writer: writer)
  }
}
