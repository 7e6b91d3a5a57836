import ImageCodec
import PhotoModel

extension ImageHeader {
  /// The colours of the picture; of a JPEG XL, its worker may be asked for the profile.
  ///
  /// - Throws: as ``SourceColor/init(_:in:limits:codedProfile:)`` and ``CodedPictureDecoder``.
  func sourceColor(
    in source: any ByteSource, workers: (any CodedPictureDecoder)?, limits: CodecLimits, stop: StopFlag
  ) throws(CodecError) -> SourceColor {
    try SourceColor(self, in: source, limits: limits) { () throws(CodecError) in
      guard case .jxl(let picture) = coded else { return nil }
      guard let workers else { throw .decoderUnavailable(format) }
      return try picture.profile(in: source, workers, limits, stop)
    }
  }
}

extension JXLPicture {
  /// The size of the rows in which a worker sends the profile: one byte a pixel.
  static let profileRows = PixelSize(width: 4096, height: EmbeddedProfile.maximumCodedBytes / 4096 + 1)

  /// The ICC profile of the codestream, from a worker.
  ///
  /// - Throws: `limitExceeded` for a profile that is larger than `profileBytes` or the rows, and errors of workers.
  fileprivate func profile(
    in source: any ByteSource, _ workers: any CodedPictureDecoder, _ limits: CodecLimits, _ stop: StopFlag
  ) throws(CodecError) -> [UInt8] {
    var received: [UInt8] = []
    var length: Int?
    try workers.decode(.jxlProfile(self), from: source, isOptional: false, stop: stop) { band, bytes in
      guard let plane = band.planes.first else { return false }
      let end = plane.offset + (band.rowCount - 1) * plane.strideBytes + Self.profileRows.width
      precondition(
        plane.strideBytes == Self.profileRows.width && plane.offset >= 0 && end <= bytes.count,
        "a band that is not in its bytes")
      received += bytes[plane.offset..<end]
      length = length ?? received.prefix(4).reduce(0) { $0 << 8 | Int($1) }
      return received.count < 4 + (length ?? 0)
    }
    guard let length else { throw .malformed("a decoder that left out rows", offset: nil) }
    let limit = min(limits.profileBytes, EmbeddedProfile.maximumCodedBytes)
    guard length <= limit, 4 + length <= received.count else {
      throw .limitExceeded("the size of the colour profile", limit: limit, found: length)
    }
    return Array(received[4..<4 + length])
  }
}
