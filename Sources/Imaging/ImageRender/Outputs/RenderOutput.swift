import ImageCodec
import MediaMetadata

/// One picture of a render in progress: resampled, rotated and encoded as its rows arrive.
protocol RenderOutput: AnyObject {
  /// The output's error; after an error it wants no further rows.
  var failure: CodecError? { get }

  /// The finished file, after the last row.
  func finish() throws(CodecError) -> [UInt8]

  /// The encoder's warnings so far.
  var warnings: CodecWarnings? { get }
  /// Time spent in the kernels; part of the decode's total time.
  var resizeTime: Duration { get }
  /// Time spent converting colours, rotating and encoding.
  var encodeTime: Duration { get }
}
