import PhotoModel

/// How a JPEG XL picture is coded.
package struct JXLPicture: Sendable, Hashable {
  package let header: JXLCodestream
  /// The ranges of the file that are the codestream, in order.
  package let codestream: [ByteRange]
  /// Whether the picture was a JPEG, whose blocks the codestream has.
  let isJPEG: Bool

  package init(_ header: JXLCodestream, codestream: [ByteRange], isJPEG: Bool = false) {
    self.header = header
    self.codestream = codestream
    self.isJPEG = isJPEG
  }

  /// Planes of a decode, alpha included.
  package var channels: Int { (header.isGray ? 1 : 3) + (header.hasAlpha ? 1 : 0) }

  /// The colours that a decoder converts to; `nil` if it does not convert them. Pictures of high dynamic range keep
  /// their curve, which is converted as in other formats.
  package var convertedColors: RGBPrimaries? {
    guard header.isXYB, !header.colors.isHDR else { return nil }
    guard let primaries = header.colors.primaries else { return header.isGray ? .sRGB : .displayP3 }
    if header.isGray || ColorCalibration(transfer: .sRGB, primaries: primaries).isSRGB { return .sRGB }
    return primaries == .displayP3 ? .displayP3 : .bt2020
  }

  /// Whether the colours of the decoded rows are those of a profile that only the decoder can read.
  package var needsProfile: Bool { header.colors.hasProfile && !header.isXYB }

  /// The colours of the decoded rows; `nil` is sRGB.
  var calibration: ColorCalibration? {
    let calibration: ColorCalibration
    switch convertedColors {
    case .sRGB: return nil
    case .displayP3: calibration = ColorCalibration(transfer: .sRGB, primaries: .displayP3)
    case .bt2020: calibration = ColorCalibration(transfer: .sRGB, primaries: .bt2020)
    case nil:
      guard let primaries = header.colors.primaries else { return nil }
      calibration = ColorCalibration(transfer: header.colors.transfer, primaries: primaries)
    }
    return calibration.isSRGB ? nil : calibration
  }

  static func read(_ reader: HeaderReader) throws(CodecError) -> JXLPicture {
    var reader = reader
    let boxes = try JXLBoxes(reader)
    return JXLPicture(
      try boxes.header(&reader), codestream: boxes.codestream.map { ByteRange($0) }, isJPEG: boxes.isJPEG)
  }

  /// Memory of libjxl for the picture, without the codestream and the rows that it delivers. Measured with libjxl 0.7.0
  /// as the smallest limit under which a decode succeeds, over VarDCT and Modular, lossy and lossless, from 300 x 200
  /// to 12 megapixels, and rounded up.
  package var workingBytes: Int {
    func padded(_ side: Int) -> Int { (side + 63) / 64 * 64 }
    let bytesPerPixel =
      header.isPlain || isJPEG ? 20 + 42 * header.extraChannels : 52 + 24 * header.extraChannels
    return (4 << 20) + padded(header.size.width) * padded(header.size.height) * bytesPerPixel
  }

  /// The bytes of the codestream.
  var codedBytes: Int { codestream.reduce(0) { $0 + $1.length } }
}
