import CPhotodPNG
import PhotoModel

/// Where a file keeps its ICC profile.
package enum EmbeddedProfile: Sendable, Hashable {
  /// A JPEG's APP2 segments, in the order of their numbers (ICC.1 annex B.4).
  case parts([ByteRange])
  /// The compressed data of a PNG's iCCP chunk.
  case deflated(ByteRange)
  /// There is one, and it can't be put together; the text says why.
  case damaged(String)

  /// What it may take in memory, whatever it turns out to be.
  func maximumBytes(_ limits: CodecLimits) -> Int {
    switch self {
    case .parts(let parts): parts.reduce(0) { $0 + $1.length }
    // zlib makes at most 1032 bytes of one.
    case .deflated(let range): min(limits.profileBytes, range.length * 1032)
    case .damaged: 0
    }
  }
}

/// What a file says of the colours of its pixels.
package struct SourceColor: Sendable, Hashable {
  /// The ICC profile as embedded; nobody has looked into it yet.
  package var profile: [UInt8]?
  /// What holds where the profile is missing or no good; `nil` is sRGB.
  package var calibration: ColorCalibration?
  /// Why an embedded profile could not even be read.
  package var warning: String?

  package init(profile: [UInt8]? = nil, calibration: ColorCalibration? = nil, warning: String? = nil) {
    self.profile = profile
    self.calibration = calibration
    self.warning = warning
  }

  /// Reads the profile that the header points at. Blocks for as long as the source does.
  ///
  /// - Throws: ``CodecError``: `limitExceeded` for a profile larger than `profileBytes`, before it is read or while it is
  ///   inflated, and what reading throws. A damaged profile is a warning, not an error.
  package init(_ header: ImageHeader, in source: any ByteSource, limits: CodecLimits) throws(CodecError) {
    calibration = header.calibration
    switch header.embeddedProfile {
    case nil: break
    case .damaged(let reason): warning = reason
    case .parts(let parts):
      if header.profileBytes > limits.profileBytes {
        throw .limitExceeded(Self.limitName, limit: limits.profileBytes, found: header.profileBytes)
      }
      var bytes: [UInt8] = []
      for part in parts { bytes += try Self.read(part, of: source) }
      profile = bytes
    case .deflated(let range):
      profile = try Self.inflate(try Self.read(range, of: source), limit: limits.profileBytes)
      if profile == nil { warning = "the iCCP chunk does not inflate" }
    }
  }

  private static let limitName = "the size of the colour profile"

  private static func read(_ range: ByteRange, of source: any ByteSource) throws(CodecError) -> [UInt8] {
    do throws(ByteSourceError) {
      return try source.bytes(at: range.offset, count: range.length)
    } catch {
      switch error {
      case .readFailed(let code): throw .readFailed(code: code)
      }
    }
  }

  /// `nil`: damaged.
  private static func inflate(_ compressed: [UInt8], limit: Int) throws(CodecError) -> [UInt8]? {
    var bytes: UnsafeMutablePointer<UInt8>?
    var length = 0
    let status = photod_inflate(compressed, compressed.count, limit, &bytes, &length)
    defer { photod_inflate_free(bytes) }
    switch status {
    case PHOTOD_PNG_OK: return Array(UnsafeBufferPointer(start: bytes, count: length))
    case PHOTOD_PNG_NO_MEMORY: throw .outOfMemory
    case PHOTOD_PNG_TOO_LARGE:
      throw .limitExceeded(Self.limitName, limit: limit, found: limit + 1)
    default: return nil
    }
  }
}
