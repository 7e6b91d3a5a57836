import CPhotodPNG
import PhotoModel

/// The location of a file's ICC profile.
package enum EmbeddedProfile: Sendable, Hashable {
  /// A JPEG's APP2 segments, in the order of their numbers (ICC.1 annex B.4).
  case parts([ByteRange])
  /// The compressed data of a PNG's iCCP chunk, and the length that the profile declares (ICC.1 §7.2.2); `nil` if that
  /// is not a valid length. Bytes after the declared length are not read. It has at most `maximumBytes`, or is refused.
  case deflated(ByteRange, declaredBytes: Int?, maximumBytes: Int)
  /// The profile is a part of the coded picture, which only its decoder can read.
  case coded
  /// A profile exists but can't be assembled; the text is the reason.
  case damaged(String)

  /// The largest profile that a picture's decoder is asked for.
  package static let maximumCodedBytes = 1 << 20

  /// Whether a reader that joins the parts as they follow each other in the file gets the profile.
  package var isInFileOrder: Bool {
    guard case .parts(let parts) = self else { return true }
    return zip(parts, parts.dropFirst()).allSatisfy { $0.offset < $1.offset }
  }

  /// Maximum memory of a profile with any content.
  var maximumBytes: Int {
    switch self {
    case .parts(let parts): parts.reduce(0) { $0 + $1.length }
    case .deflated(_, _, let maximum): maximum
    case .coded: Self.maximumCodedBytes
    case .damaged: 0
    }
  }
}

/// A file's description of the colours of its pixels.
package struct SourceColor: Sendable, Hashable {
  /// The ICC profile as embedded, not validated yet.
  package var profile: [UInt8]?
  /// The colours if the profile is missing or unusable; `nil` is sRGB.
  package var calibration: ColorCalibration?
  /// Why an embedded profile could not be read.
  package var warning: String?

  package init(profile: [UInt8]? = nil, calibration: ColorCalibration? = nil, warning: String? = nil) {
    self.profile = profile
    self.calibration = calibration
    self.warning = warning
  }

  /// Reads the profile that the header points at. Blocks while the source is read.
  ///
  /// - Parameter codedProfile: asks the picture's decoder for a ``EmbeddedProfile/coded`` profile; `nil` if it can't.
  /// - Throws: ``CodecError``: `limitExceeded` for a profile larger than `profileBytes`, before it is read or while it
  ///   is inflated, and errors of reading. A damaged profile is a warning, not an error.
  package init(
    _ header: ImageHeader, in source: any ByteSource, limits: CodecLimits,
    codedProfile: () throws(CodecError) -> [UInt8]? = { nil }
  ) throws(CodecError) {
    calibration = header.calibration
    switch header.embeddedProfile {
    case nil: break
    case .coded: profile = try codedProfile()
    case .damaged(let reason): warning = reason
    case .parts(let parts):
      if header.profileBytes > limits.profileBytes {
        throw .limitExceeded(Self.limitName, limit: limits.profileBytes, found: header.profileBytes)
      }
      var bytes: [UInt8] = []
      for part in parts { bytes += try source.codecBytes(at: part.offset, count: part.length) }
      profile = bytes
    case .deflated(let range, let declared, _):
      if let declared, declared > limits.profileBytes {
        throw .limitExceeded(Self.limitName, limit: limits.profileBytes, found: declared)
      }
      let compressed = try source.codecBytes(at: range.offset, count: range.length)
      let (bytes, hasMore) = try Self.inflate(compressed, limit: declared ?? limits.profileBytes)
      if hasMore && declared == nil {
        throw .limitExceeded(Self.limitName, limit: limits.profileBytes, found: limits.profileBytes + 1)
      }
      profile = bytes
      if profile == nil { warning = "the iCCP chunk does not inflate" }
    }
  }

  private static let limitName = "the size of the colour profile"

  /// The length that a profile declares (ICC.1 §7.2.2), from its compressed bytes or their beginning; `nil` if its
  /// signature (§7.2.9) is missing or it is damaged.
  static func declaredBytes(_ compressed: [UInt8]) throws(CodecError) -> Int? {
    guard let head = try inflate(compressed, limit: 40, isCutOff: true).bytes, head.count == 40,
      head.suffix(4).elementsEqual("acsp".utf8)
    else { return nil }
    let bytes = head.prefix(4).reduce(0) { $0 << 8 | Int($1) }
    return bytes < 128 ? nil : bytes
  }

  /// Inflates a zlib stream up to the limit, and returns whether there is more; `nil` if it is damaged.
  ///
  /// - Parameter isCutOff: the end of the stream may be missing.
  private static func inflate(
    _ compressed: [UInt8], limit: Int, isCutOff: Bool = false
  ) throws(CodecError) -> (bytes: [UInt8]?, hasMore: Bool) {
    var bytes: UnsafeMutablePointer<UInt8>?
    var length = 0
    let status = photod_inflate(compressed, compressed.count, limit, &bytes, &length)
    defer { photod_inflate_free(bytes) }
    if status == PHOTOD_PNG_NO_MEMORY { throw .outOfMemory }
    let hasMore = status == PHOTOD_PNG_TOO_LARGE
    guard status == PHOTOD_PNG_OK || hasMore || isCutOff else { return (nil, false) }
    return (Array(UnsafeBufferPointer(start: bytes, count: min(length, limit))), hasMore)
  }
}
