import ImageCodec
import ImageRender
import PhotoModel

/// How a frame was made from the original. Two ways to the same size give different bytes, so the derivation
/// is part of the strong entity tag. It is not part of the request, so it is in no key.
package enum Derivation: Sendable, Hashable {
  /// From the original, decoded at the scale that this frame needs.
  case original
  /// From a shared decode of the original, at a larger scale than this frame needs; the scale in eighths.
  case sharedDecode(eighths: Int)
  /// From a derivative: the rung's side, and the scale in eighths at which the derivative itself was decoded.
  case derivative(side: Int, eighths: Int)
  /// The original's own bytes, without the places in them. Such a frame is never in a cache.
  case file
  /// Cut from one decode of the whole picture: see ``TilePass``.
  case tile
  /// A JPEG XL from the finished JPEG that was made in this way: see ``JPEGTranscoding``.
  indirect case transcoded(Derivation)
  /// From the largest preview of a RAW file, with fewer pixels than the request, because the sensor data could not be
  /// developed. Such a frame is degraded and kept in memory only: after LibRaw was installed or the memory budget
  /// raised, which takes a restart, the picture is developed.
  indirect case smallPreview(Derivation)

  /// - Parameters:
  ///   - decodedEighths: the scale at which the frame was decoded.
  ///   - unsharedEighths: the scale that the frame would have needed without sharing.
  init(decodedEighths: Int, unsharedEighths: Int) {
    self = decodedEighths == unsharedEighths ? .original : .sharedDecode(eighths: decodedEighths)
  }

  var text: String {
    switch self {
    case .original: "original"
    case .sharedDecode(let eighths): "original@\(eighths)"
    case .derivative(let side, let eighths): "derivative@\(DerivativeLadder.epoch).\(side).\(eighths)"
    case .tile: "tile@\(TilePass.epoch)"
    case .file: "file@\(LocationRemoval.epoch)"
    case .transcoded(let jpeg): "transcoded \(jpeg.text)"
    case .smallPreview(let frame): "small preview \(frame.text)"
    }
  }

  /// Whether the frame shows less than the original could.
  package var isSmallPreview: Bool {
    switch self {
    case .smallPreview: true
    case .transcoded(let jpeg): jpeg.isSmallPreview
    case .original, .sharedDecode, .derivative, .file, .tile: false
    }
  }

  /// Whether a frame that will be made in this way is certain to be final and complete, because its source exists only
  /// for complete originals.
  package var promisesCompleteFrame: Bool {
    switch self {
    case .file, .derivative: true
    // An original file may turn out to be truncated; any other JPEG is a finished frame.
    case .transcoded(let jpeg): jpeg != .file && !jpeg.isSmallPreview
    case .original, .sharedDecode, .tile, .smallPreview: false
    }
  }

  /// Whether the frame is a JPEG XL from a finished JPEG.
  package var isTranscoded: Bool {
    if case .transcoded = self { true } else { false }
  }

  /// Every derivation of a frame that a client or the disk may keep. Stored frames refer to positions in this array, so
  /// the order must not change within an epoch.
  static let all: [Derivation] = {
    let scales = DecodeScale.all
    let direct: [Derivation] =
      [.original] + scales.dropFirst().map { .sharedDecode(eighths: $0) }
      + DerivativeLadder.standard.rungs.flatMap { rung in
        scales.map { .derivative(side: rung.side, eighths: $0) }
      } + [.file, .tile]
    return direct + direct.map { .transcoded($0) }
  }()

  /// All derivations that a frame of this format may have.
  package static func all(of format: OutputFormat) -> some Sequence<Derivation> {
    all.lazy.filter { format == .jxl || !$0.isTranscoded }
  }
}
