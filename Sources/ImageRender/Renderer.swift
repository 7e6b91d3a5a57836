import ImageCodec
import MediaMetadata
import PhotoModel

/// A finished picture and how it came about.
package struct RenderedImage: Sendable {
  package let bytes: [UInt8]
  package let size: PixelSize
  package let format: OutputFormat
  /// The DCT scale that it was made at, 8 for what is no JPEG. A picture that shares a decode may be made at a larger one
  /// than alone (``RenderPlanner/eighths(_:of:)``), and is other bytes then.
  package let decodedEighths: Int
  /// The original ended early; what was there is shown.
  package let isIncomplete: Bool
  /// What the codecs complained of, and what was wrong with a profile that was ignored; for the log.
  package let warnings: [CodecWarnings]
  /// Reading and decoding are the whole decode's, whoever shared it; the rest is this picture's own.
  package var readTime = Duration.zero
  package var decodeTime = Duration.zero
  package var resizeTime = Duration.zero
  package var encodeTime = Duration.zero
}

/// One picture: a ``SharedRenderer`` of a single member. Made and run on a render worker, one thread at a time; it holds its
/// memory until it goes.
package final class Renderer {
  private let shared: SharedRenderer

  /// Opens the decoder and the encoder.
  ///
  /// - Parameter transforms: where conversions that were made before are found.
  package init(
    _ plan: RenderPlan, source: any ByteSource, transforms: ColorTransforms? = nil, limits: CodecLimits, stop: StopFlag
  ) throws(CodecError) {
    shared = try SharedRenderer(
      SharedPlan(plan), source: source, transforms: transforms, limits: limits, stops: [stop])
  }

  /// For colours that the source itself does not tell.
  ///
  /// - Parameter encoder: what takes the rows of a plan without planes; by default what makes a file of the plan's format.
  init(
    _ plan: RenderPlan, source: any ByteSource, color: OutputColor, encoder: (any RowEncoder)? = nil,
    limits: CodecLimits, stop: StopFlag
  ) throws(CodecError) {
    shared = try SharedRenderer(
      SharedPlan(plan), source: source, colors: [color], encoder: encoder, limits: limits, stops: [stop])
  }

  /// For rows that come from a decoder of the caller's.
  init(
    _ plan: RenderPlan, decoder: any RowDecoder, color: OutputColor, encoder: (any RowEncoder)? = nil, stop: StopFlag
  ) {
    shared = SharedRenderer(SharedPlan(plan), decoder: decoder, colors: [color], encoder: encoder, stops: [stop])
  }

  /// Goes on as far as there is input. `nil`: the source had nothing for now; call again when it has.
  package func resume() throws(CodecError) -> RenderedImage? {
    var result: Result<RenderedImage, CodecError>?
    _ = shared.resume { result = $1 }
    return try result?.get()
  }
}
