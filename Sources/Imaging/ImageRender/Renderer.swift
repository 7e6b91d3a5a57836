import ImageCodec
import MediaMetadata
import PhotoModel

/// A finished picture, and facts about how it was made.
package struct RenderedImage: Sendable {
  package let bytes: [UInt8]
  package let size: PixelSize
  package let format: OutputFormat
  /// The scale at which the picture was decoded, in eighths; 8 if the decoder can't scale. A shared decode may use a
  /// larger scale than an unshared one (``RenderPlanner/eighths(_:_:)``), and then gives other bytes.
  package let decodedEighths: Int
  /// The original ended early; the decoded part is shown.
  package var isIncomplete: Bool
  /// Whether the file has a gain map.
  package var hasGainMap = false
  /// Whether the picture itself has high dynamic range. False for one whose gain map turned out to be damaged.
  package var isHDR = false
  /// Warnings of the codecs, and the reason why a profile was ignored; for the log.
  package let warnings: [CodecWarnings]
  /// Read, worker and decode times are for the whole decode, even if shared; the other times are this picture's own.
  package var readTime = Duration.zero
  /// Waiting for a decoder that runs in a process of its own; not part of `decodeTime`.
  package var workerTime = Duration.zero
  package var decodeTime = Duration.zero
  package var resizeTime = Duration.zero
  package var encodeTime = Duration.zero
}

/// Renders one picture: a ``SharedRenderer`` with a single member. Made and run on a render worker, one thread at a
/// time. It holds its memory until it is released.
package final class Renderer {
  private let shared: SharedRenderer
  private let sourceBytes: Int64

  /// Opens the decoder and the encoder.
  ///
  /// - Parameters:
  ///   - workers: decode formats whose decoder runs in a process of its own; `nil` if there are none.
  ///   - transforms: cache of colour conversions.
  ///   - stages: starts threads for parts of the render, for a picture that is not made in planes; it then needs
  ///     ``RenderPlan/stagedPeakBytes``. `nil`: the caller's thread does everything.
  package init(
    _ plan: RenderPlan, source: any ByteSource, workers: (any CodedPictureDecoder)? = nil,
    transforms: ColorTransforms? = nil, stages: StageStarter? = nil, limits: CodecLimits, stop: StopFlag
  ) throws(CodecError) {
    sourceBytes = source.size
    shared = try SharedRenderer(
      SharedPlan(plan), source: source, workers: workers, transforms: transforms, stages: stages, limits: limits,
      stops: [stop])
  }

  /// Uses colours that the source itself does not contain.
  ///
  /// - Parameter encoder: takes the rows of a plan without planes; by default an encoder for a file of the plan's
  ///   format.
  init(
    _ plan: RenderPlan, source: any ByteSource, workers: (any CodedPictureDecoder)? = nil, color: OutputColor,
    encoder: (any RowEncoder)? = nil, limits: CodecLimits, stop: StopFlag
  ) throws(CodecError) {
    sourceBytes = source.size
    shared = try SharedRenderer(
      SharedPlan(plan), source: source, workers: workers, colors: [color], encoder: encoder, limits: limits,
      stops: [stop])
  }

  /// Uses a decoder that the caller provides, and that never has to wait for data.
  init(
    _ plan: RenderPlan, decoder: any RowDecoder, color: OutputColor, encoder: (any RowEncoder)? = nil, stop: StopFlag
  ) {
    sourceBytes = 0
    shared = SharedRenderer(SharedPlan(plan), decoder: decoder, colors: [color], encoder: encoder, stops: [stop])
  }

  /// Renders the picture. Blocks while the source is read. Call it once.
  ///
  /// - Throws: `truncated` also if the source has no data yet: only a ``SharedRenderer`` can be resumed later.
  package func render() throws(CodecError) -> RenderedImage {
    var result: Result<RenderedImage, CodecError>?
    _ = shared.resume { result = $1 }
    guard let result else { throw .truncated(offset: sourceBytes) }
    return try result.get()
  }
}
