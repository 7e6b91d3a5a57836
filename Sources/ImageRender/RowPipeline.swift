import ImageCodec
import PhotoModel

/// What stands between a decoder and the output: it takes decoded rows and makes output rows of them.
protocol ResizingConsumer: RowConsumer {
  /// Time spent in the kernels, as part of what decoding took.
  var resizeTime: Duration { get }
}

/// Every picture as rows of gray, RGB, RGBA or CMYK.
final class RowPipeline: RenderPipeline {
  private let decoder: any RowDecoder
  private let writer: OutputWriter
  private let consumer: any ResizingConsumer

  convenience init(
    _ plan: RenderPlan, source: any ByteSource, color: OutputColor, limits: CodecLimits, stop: StopFlag
  ) throws(CodecError) {
    let region = plan.decodedRegion
    let decoder: any RowDecoder
    switch plan.header.format {
    case .jpeg:
      decoder = try JPEGDecoder(
        source: source, size: plan.header.storedSize,
        options: JPEGDecoder.Options(eighths: plan.eighths, region: region, firstScanOnly: plan.firstScanOnly),
        limits: limits, stop: stop)
    case .png:
      decoder = try PNGDecoder(
        source: source, size: plan.header.storedSize, rows: region.y..<region.y + region.height, limits: limits,
        stop: stop)
    }
    try self.init(plan, decoder: decoder, color: color, stop: stop)
  }

  /// For rows that come from a decoder of the caller's.
  init(_ plan: RenderPlan, decoder: any RowDecoder, color: OutputColor, stop: StopFlag) throws(CodecError) {
    self.decoder = decoder
    let profile = color.profile
    let encoder: any RowEncoder =
      switch plan.format {
      case .jpeg:
        try JPEGEncoder(size: plan.outputSize, channels: plan.outputChannels, quality: plan.quality, profile: profile)
      case .png: try PNGEncoder(size: plan.outputSize, channels: plan.outputChannels, profile: profile)
      }
    writer = OutputWriter(
      storedSize: plan.storedOutput, channels: plan.outputChannels, transform: color.transform,
      orientation: plan.orientation, encoder: encoder, stop: stop)
    consumer = Self.consumer(plan, decoder.layout, writer)
  }

  var isTruncated: Bool { decoder.isTruncated }
  var warnings: [CodecWarnings] { [decoder.warnings, writer.warnings].compactMap(\.self) }
  var readTime: Duration { decoder.readTime }
  var resizeTime: Duration { consumer.resizeTime }
  var encodeTime: Duration { writer.encodeTime }

  func decode() throws(CodecError) -> DecodeOutcome {
    let outcome = try decoder.decode(into: consumer)
    if let failure = writer.failure { throw failure }
    return outcome
  }

  func finish() throws(CodecError) -> [UInt8] { try writer.finish() }

  private static func consumer(_ plan: RenderPlan, _ layout: RowLayout, _ writer: OutputWriter) -> any ResizingConsumer
  {
    let isPlain = layout.bitsPerChannel == 8 && layout.channels == writer.channels
    if isPlain && plan.horizontal.isIdentity && plan.vertical.isIdentity {
      return PassThrough(
        layout: layout, columns: plan.horizontal.inputRange, rows: plan.vertical.inputRange, writer: writer)
    }
    if isPlain && !layout.hasAlpha {
      return IntegerResampler(layout: layout, horizontal: plan.horizontal, vertical: plan.vertical, writer: writer)
    }
    return FloatResampler(layout: layout, horizontal: plan.horizontal, vertical: plan.vertical, writer: writer)
  }
}
