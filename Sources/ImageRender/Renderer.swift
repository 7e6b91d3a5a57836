// A plan carried out: decode rows -> resample -> turn upright -> encode, with memory for the rows in flight and no more.

import ImageCodec
import PhotoModel

/// What stands between a decoder and the output: it takes decoded rows and makes output rows of them.
protocol ResizingConsumer: RowConsumer {
  /// Time spent in the kernels, as part of what decoding took.
  var resizeTime: Duration { get }
}

/// A finished picture and how it came about.
package struct RenderedImage: Sendable {
  package let bytes: [UInt8]
  package let size: PixelSize
  package let format: OutputFormat
  /// The original ended early; what was there is shown.
  package let isIncomplete: Bool
  /// A codec's complaint, for the log.
  package let warning: String?
  package var readTime = Duration.zero
  package var decodeTime = Duration.zero
  package var resizeTime = Duration.zero
  package var encodeTime = Duration.zero
}

/// One render. Made and run on a render worker, one thread at a time; it holds its memory until it goes.
package final class Renderer {
  private let plan: RenderPlan
  private let decoder: any RowDecoder
  private let writer: OutputWriter
  private let consumer: any ResizingConsumer
  private var elapsed = Duration.zero

  /// Opens the decoder and the encoder.
  package init(_ plan: RenderPlan, source: any ByteSource, limits: CodecLimits, stop: StopFlag) throws(CodecError) {
    let started = ContinuousClock.now
    self.plan = plan
    let region = plan.decodedRegion
    switch plan.header.format {
    case .jpeg:
      decoder = try JPEGDecoder(
        source: source, size: plan.header.storedSize,
        options: JPEGDecoder.Options(eighths: plan.eighths, region: region, firstScanOnly: plan.firstScanOnly),
        profileParts: plan.header.profileParts, limits: limits, stop: stop)
    case .png:
      decoder = try PNGDecoder(
        source: source, size: plan.header.storedSize, rows: region.y..<region.y + region.height, limits: limits,
        stop: stop)
    }
    // A CMYK profile says nothing of the RGB that its pixels have become; a gray one nothing of RGB.
    let profile = plan.header.colorChannels == 4 ? nil : decoder.profile
    let encoder: any RowEncoder =
      switch plan.format {
      case .jpeg:
        try JPEGEncoder(size: plan.outputSize, channels: plan.outputChannels, quality: plan.quality, profile: profile)
      case .png: try PNGEncoder(size: plan.outputSize, channels: plan.outputChannels, profile: profile)
      }
    writer = OutputWriter(
      storedSize: plan.storedOutput, channels: plan.outputChannels, orientation: plan.orientation, encoder: encoder)
    consumer = Self.consumer(plan, decoder.layout, writer)
    elapsed = ContinuousClock.now - started
  }

  /// Goes on as far as there is input. `nil`: the source had nothing for now; call again when it has.
  package func resume() throws(CodecError) -> RenderedImage? {
    let started = ContinuousClock.now
    defer { elapsed += ContinuousClock.now - started }
    let outcome = try decoder.decode(into: consumer)
    if let failure = writer.failure { throw failure }
    if outcome == .needsInput { return nil }
    let bytes = try writer.finish()
    let total = elapsed + (ContinuousClock.now - started)
    return RenderedImage(
      bytes: bytes, size: plan.outputSize, format: plan.format, isIncomplete: decoder.isTruncated,
      warning: decoder.warning, readTime: decoder.readTime,
      decodeTime: total - decoder.readTime - consumer.resizeTime - writer.encodeTime, resizeTime: consumer.resizeTime,
      encodeTime: writer.encodeTime)
  }

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
