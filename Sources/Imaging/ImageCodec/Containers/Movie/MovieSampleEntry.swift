// Reads how the samples of a movie's track are coded: the first entry of `stsd` (ISO/IEC 14496-12 §8.5.2, §12.1.3;
// QuickTime File Format, "Video Sample Description").

import PhotoModel

/// How a track's frames are coded.
struct MovieSampleEntry {
  enum Coding {
    case tiles(TileConfiguration)
    /// Each sample is a JPEG.
    case jpeg
  }

  let coding: Coding
  /// The size of a decoded frame.
  let size: PixelSize
  /// The part of a frame that is shown.
  let crop: PixelRect
  let colors: CodePoints

  /// An entry's fixed fields, before its boxes.
  static let fieldBytes = 78

  /// - Parameter box: the track's `stsd`.
  /// - Throws: ``CodecError``; `unsupported` for a codec without a decoder.
  init(_ boxes: inout BoxReader, _ box: Box, limits: CodecLimits) throws(CodecError) {
    var position = box.content.lowerBound + 8
    guard let entry = try boxes.next(&position, before: box.content.upperBound) else {
      throw .malformed("a track that does not describe its samples", offset: box.content.lowerBound)
    }
    var fields = try boxes.fields(of: entry, atMost: Self.fieldBytes)
    _ = try fields.take(24)
    let width = try fields.number(2)
    var size = PixelSize(width: width, height: try fields.number(2))
    _ = try fields.take(Self.fieldBytes - 28)
    var children: [FourCC: Box] = [:]
    position = entry.content.lowerBound + Int64(Self.fieldBytes)
    while let child = try boxes.next(&position, before: entry.content.upperBound) {
      if children[child.type] == nil { children[child.type] = child }
    }
    var signalled: CodePoints?
    coding = try Self.coding(entry.type, &boxes, children, size: &size, colors: &signalled)
    try limits.check(size)
    self.size = size
    crop = try HEIFTransformation(&boxes, size: size, by: [children["clap"]].compactMap(\.self)).crop
    var stated: CodePoints?
    if let box = children["colr"] {
      stated = try Self.colors(boxes.fields(of: box, atMost: 11), hasFullRange: signalled?.isFullRange ?? false)
    }
    var colors = stated ?? signalled ?? CodePoints(isFullRange: false)
    // If no matrix is stated, the size decides, as in players.
    if colors.matrix == 2 { colors.matrix = size.height >= 720 ? 1 : 6 }
    self.colors = colors
  }

  /// - Parameters:
  ///   - size: that of the entry; replaced by that of the codec's own parameters.
  ///   - colors: those of the codec's own parameters.
  private static func coding(
    _ type: FourCC, _ boxes: inout BoxReader, _ children: [FourCC: Box], size: inout PixelSize,
    colors: inout CodePoints?
  ) throws(CodecError) -> Coding {
    func box(_ name: FourCC) throws(CodecError) -> Box {
      guard let box = children[name], box.content.count <= ContainerLimits.parameterBytes else {
        throw .malformed("a video without the configuration of its codec", offset: nil)
      }
      return box
    }
    switch type {
    case "avc1", "avc3":
      var fields = try boxes.fields(of: box("avcC"))
      let configuration = Array(fields.remaining())
      let parameters = try Self.sequenceParameters(configuration)
      (size, colors) = (parameters.size, parameters.colors)
      return .tiles(
        .video(
          VideoConfiguration(
            codec: .avc, configuration: configuration, chroma: parameters.chroma, bitDepth: parameters.bitDepth)))
    case "hvc1", "hev1", "dvh1", "dvhe":
      // Dolby's profile 5 has colours of its own, which only its decoder can convert.
      if children["hvcC"] == nil || type == "dvh1" || type == "dvhe" {
        throw .unsupported("a video in Dolby Vision without a layer for other decoders")
      }
      let configuration = try HEVCConfiguration(boxes.fields(of: box("hvcC")))
      let parameters = configuration.sequenceParameters
      size = parameters?.size ?? size
      colors = parameters?.colors
      return .tiles(.hevc(configuration))
    case "av01":
      let fields = try boxes.fields(of: box("av1C"))
      var configuration = try AV1Configuration(fields)
      var rest = fields
      _ = try rest.take(4)
      let units = rest.remaining()
      configuration.units = Array(units)
      colors = AV1SequenceHeader.colors(units)
      return .tiles(.av1(configuration))
    case "mp4v":
      let configuration = try Self.decoderConfiguration(boxes.fields(of: box("esds")))
      return .tiles(.video(VideoConfiguration(codec: .mpeg4, configuration: configuration)))
    case "s263", "h263": return .tiles(.video(VideoConfiguration(codec: .h263)))
    case "apch", "apcn", "apcs", "apco":
      return .tiles(.video(VideoConfiguration(codec: .proRes, chroma: .halfWidth, bitDepth: 10)))
    case "vp09":
      var fields = try boxes.fields(of: box("vpcC"))
      // VP Codec ISO Media File Format Binding: version and flags, profile, level; then depth in 4 bits, subsampling in
      // 3 and the range in 1; then the code points.
      let version = try fields.number(1)
      _ = try fields.take(5)
      let packed = try fields.number(1)
      // Version 0 was a draft, with other fields.
      if version == 1 {
        colors = try CodePoints(
          primaries: fields.number(1), transfer: fields.number(1), matrix: fields.number(1),
          isFullRange: packed & 1 == 1)
      }
      let sampling: ChromaSampling =
        switch packed >> 1 & 7 {
        case 0, 1: .half
        case 2: .halfWidth
        default: .full
        }
      guard [8, 10, 12].contains(packed >> 4) else { throw .malformed("an unknown depth in vpcC", offset: nil) }
      return .tiles(.video(VideoConfiguration(codec: .vp9, chroma: sampling, bitDepth: packed >> 4)))
    case "jpeg", "mjpa": return .jpeg
    default: throw .unsupported("a video of the codec \(type)")
    }
  }

  /// ISO/IEC 14496-15 §5.3.3.1: after five bytes the number of sets, then each after its length.
  private static func sequenceParameters(_ configuration: [UInt8]) throws(CodecError) -> AVCSequenceParameters {
    let head = configuration[...]
    guard head.count >= 8, head[0] == 1, head[5] & 31 > 0 else {
      throw .unsupported("an AVC video whose parameters are not in its description")
    }
    let length = head.bigEndian(at: 6, bytes: 2)
    guard length >= 4, head.count >= 8 + length else { throw .malformed("avcC ends too early", offset: nil) }
    return try AVCSequenceParameters(head[8..<8 + length])
  }

  /// ISO/IEC 14496-1 §7.2.6: descriptors within descriptors, each with a tag and a length in groups of seven bits.
  private static func decoderConfiguration(_ fields: BoxFields) throws(CodecError) -> [UInt8] {
    var fields = fields
    _ = try fields.take(4)
    while !fields.isAtEnd {
      let tag = try fields.number(1)
      var length = 0
      for _ in 0..<4 {
        let byte = try fields.number(1)
        length = length << 7 | byte & 0x7F
        if byte & 0x80 == 0 { break }
      }
      switch tag {
      // The stream's: its number, and flags for optional fields.
      case 3:
        _ = try fields.take(2)
        let flags = try fields.number(1)
        if flags & 0x80 != 0 { _ = try fields.take(2) }
        if flags & 0x40 != 0 { _ = try fields.take(try fields.number(1)) }
        if flags & 0x20 != 0 { _ = try fields.take(2) }
      // The decoder's: its type, rates and buffers.
      case 4:
        guard try fields.number(1) == 0x20 else { throw .unsupported("a video of MPEG-1 or MPEG-2 in MPEG-4") }
        _ = try fields.take(12)
      case 5: return Array(try fields.take(length))
      default: _ = try fields.take(length)
      }
    }
    throw .malformed("a video without the configuration of its codec", offset: nil)
  }

  /// ISO/IEC 14496-12 §12.1.5.
  ///
  /// - Parameter hasFullRange: what the codec's own parameters say, for QuickTime's `nclc`, which says nothing of it.
  static func colors(_ fields: BoxFields, hasFullRange: Bool = false) throws(CodecError) -> CodePoints? {
    var fields = fields
    let type = try fields.type()
    guard type == "nclx" || type == "nclc" else { return nil }
    let (primaries, transfer) = (try fields.number(2), try fields.number(2))
    var colors = CodePoints(
      primaries: primaries, transfer: transfer, matrix: try fields.number(2), isFullRange: hasFullRange)
    if type == "nclx" { colors.isFullRange = try fields.number(1) & 0x80 != 0 }
    return colors
  }
}
