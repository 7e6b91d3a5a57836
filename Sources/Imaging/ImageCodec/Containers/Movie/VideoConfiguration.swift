import PhotoModel

/// A codec of videos whose decoder takes a frame and the configuration as the movie stores them.
package struct VideoConfiguration: Sendable, Hashable {
  package enum Codec: String, Sendable, Hashable, CaseIterable {
    /// ISO/IEC 14496-10; the configuration is the content of `avcC` (ISO/IEC 14496-15 §5.3.3.1).
    case avc = "avc1"
    /// ISO/IEC 14496-2; the configuration is the decoder's part of `esds` (ISO/IEC 14496-1 §7.2.6.7).
    case mpeg4 = "mp4v"
    /// ITU-T H.263, without a configuration.
    case h263 = "s263"
    /// Apple's ProRes, without a configuration.
    case proRes = "apch"
    /// Without a configuration.
    case vp9 = "vp09"
  }

  package let codec: Codec
  package let configuration: [UInt8]
  package let chroma: ChromaSampling
  /// Bits of a sample, 8...16.
  package let bitDepth: Int

  package init(codec: Codec, configuration: [UInt8] = [], chroma: ChromaSampling = .half, bitDepth: Int = 8) {
    self.codec = codec
    self.configuration = configuration
    self.chroma = chroma
    self.bitDepth = bitDepth
  }
}

extension TileConfiguration {
  /// Adds what only a frame states: the chroma subsampling of ProRes (SMPTE RDD 36 §5.1.1). Some programs write 4:4:4
  /// frames under the names of 4:2:2.
  func completed(
    by frame: MovieKeyFrame, _ reader: inout HeaderReader
  ) throws(CodecError) -> TileConfiguration {
    guard case .video(let video) = self, video.codec == .proRes else { return self }
    // The frame's length and `icpf`, then its header, in which chroma_format follows 12 bytes. If the data is shorter,
    // the decoder reports an error.
    let head = try reader.bytes(at: frame.data.offset, count: min(frame.data.length, 21))
    guard head.count == 21, head.bigEndian(at: 20, bytes: 1) >> 6 == 3 else { return self }
    return .video(VideoConfiguration(codec: .proRes, chroma: .full, bitDepth: video.bitDepth))
  }
}
