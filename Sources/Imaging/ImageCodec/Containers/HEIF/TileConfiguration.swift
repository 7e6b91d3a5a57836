import PhotoModel

/// The codec of a HEIF picture's tiles or a video's frame, with the configuration of its decoder.
package enum TileConfiguration: Sendable, Hashable {
  case hevc(HEVCConfiguration)
  case av1(AV1Configuration)
  /// A codec that only videos have.
  case video(VideoConfiguration)

  package var chroma: ChromaSampling {
    switch self {
    case .hevc(let configuration): configuration.chroma
    case .av1(let configuration): configuration.chroma
    case .video(let configuration): configuration.chroma
    }
  }

  /// Bits of a sample, 8...16; of luma and chroma alike.
  package var bitDepth: Int {
    switch self {
    case .hevc(let configuration): configuration.bitDepth
    case .av1(let configuration): configuration.bitDepth
    case .video(let configuration): configuration.bitDepth
    }
  }

  package var format: SourceFormat {
    switch self {
    case .hevc: .heic
    case .av1: .avif
    case .video: .video
    }
  }

  /// The types of coded items, and of the property with their configuration.
  static let properties: [FourCC: FourCC] = ["hvc1": "hvcC", "av01": "av1C"]

  /// - Parameter type: that of the property.
  init(_ fields: BoxFields, _ type: FourCC) throws(CodecError) {
    self = type == "hvcC" ? .hevc(try HEVCConfiguration(fields)) : .av1(try AV1Configuration(fields))
  }
}
