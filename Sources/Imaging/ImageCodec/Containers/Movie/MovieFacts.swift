/// How a movie's frames are stored, for people: nothing is decoded by it.
package struct MovieFacts: Sendable, Hashable {
  /// How a range of brightness beyond that of ordinary screens is stored.
  package enum HDRFormat: String, Sendable, Hashable {
    case perceptualQuantizer = "PQ"
    case hybridLogGamma = "HLG"
    case dolbyVision = "Dolby Vision"
  }

  /// The codec's four characters, such as `avc1`.
  var codec: String
  /// 0 if not stated.
  var framesPerSecond: Double
  package var hdrFormat: HDRFormat?

  /// - Parameter description: the track's `stsd` (ISO/IEC 14496-12 §8.5.2).
  /// - Returns: `nil` if it has no entry.
  init?(_ boxes: inout BoxReader, description: Box, framesPerSecond: Double) throws(CodecError) {
    var position = description.content.lowerBound + 8
    guard let entry = try boxes.next(&position, before: description.content.upperBound) else { return nil }
    codec = entry.type.description
    self.framesPerSecond = framesPerSecond
    position = entry.content.lowerBound + Int64(MovieSampleEntry.fieldBytes)
    while let box = try boxes.next(&position, before: entry.content.upperBound) {
      switch box.type {
      case "dvcC", "dvvC", "dvwC": hdrFormat = .dolbyVision
      case "colr" where hdrFormat == nil:
        switch try MovieSampleEntry.colors(boxes.fields(of: box, atMost: 11))?.transfer {
        case 16: hdrFormat = .perceptualQuantizer
        case 18: hdrFormat = .hybridLogGamma
        default: break
        }
      default: break
      }
    }
  }
}
