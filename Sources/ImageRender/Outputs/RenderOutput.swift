import ImageCodec
import MediaMetadata

/// One picture of a render on its way: resampled, turned and encoded as its rows come in.
protocol RenderOutput: AnyObject {
  /// What went wrong; no further row is wanted then.
  var failure: CodecError? { get }

  /// The finished file, after the last row.
  func finish() throws(CodecError) -> [UInt8]

  /// What the encoder complained of so far.
  var warnings: CodecWarnings? { get }
  /// What the kernels took, as part of what everything took.
  var resizeTime: Duration { get }
  /// What converting colours, turning and encoding took.
  var encodeTime: Duration { get }
}
