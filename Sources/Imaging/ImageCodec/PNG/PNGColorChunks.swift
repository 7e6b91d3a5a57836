// Reads the chunks of a PNG that define the colours of its samples, and applies their precedence: cICP before iCCP
// before sRGB before gAMA and cHRM (PNG third edition §4.3, table "Color space chunks").

import CZlib
import PhotoModel

struct PNGColorChunks {
  private var cicp: ColorCalibration?
  private var iccp: EmbeddedProfile?
  private var isSRGB = false
  /// gAMA's exponent as applied to samples: 2.2 for a chunk value of 45455.
  private var exponent: Double?
  private var primaries: ColorCalibration.Primaries?

  /// The embedded profile; `nil` if cICP takes precedence.
  var embeddedProfile: EmbeddedProfile? { cicp == nil ? iccp : nil }

  /// The colours without a profile; `nil` is sRGB, which is also the default for a PNG without any of these chunks.
  var calibration: ColorCalibration? {
    if let cicp { return cicp }
    if isSRGB || (exponent == nil && primaries == nil) { return nil }
    return ColorCalibration(
      transfer: exponent.map(ColorCalibration.Transfer.power) ?? .sRGB, primaries: primaries ?? .bt709)
  }

  /// Reads a chunk if it is one of these, complete, and the first of its kind. A damaged chunk is treated as missing.
  mutating func take(
    _ type: String, at content: Int64, length: Int, _ reader: inout HeaderReader, _ limits: CodecLimits
  ) throws(CodecError) {
    switch type {
    case "iCCP" where iccp == nil: iccp = try Self.profile(at: content, length: length, &reader, limits)
    case "cICP" where cicp == nil && length == 4:
      cicp = try Self.checked(type, content, length, &reader).flatMap(Self.colors)
    case "sRGB" where length == 1:
      if try Self.checked(type, content, length, &reader) != nil { isSRGB = true }
    case "gAMA" where exponent == nil && length == 4:
      guard let bytes = try Self.checked(type, content, length, &reader) else { return }
      let value = Double(bytes.bigEndian(at: 0, bytes: 4)) / 100_000
      // No display or camera has an exponent outside this range.
      if (0.05...20).contains(value) { exponent = 1 / value }
    case "cHRM" where primaries == nil && length == 32:
      guard let bytes = try Self.checked(type, content, length, &reader) else { return }
      let points = (0..<4).map { i in
        ColorCalibration.Point(
          Double(bytes.bigEndian(at: i * 8, bytes: 4)) / 100_000,
          Double(bytes.bigEndian(at: i * 8 + 4, bytes: 4)) / 100_000)
      }
      // A real chromaticity has a y, and x and y of no more than 1 together. The y of ProPhoto RGB's blue is 0.0001; no
      // white has one that is nearly 0.
      let areReal = points.allSatisfy { $0.y > 0 && $0.x + $0.y <= 1.001 }
      // No profile can be made of primaries on a line, so the exponent would be lost with them.
      let (red, green, blue) = (points[1], points[2], points[3])
      let area = (green.x - red.x) * (blue.y - red.y) - (blue.x - red.x) * (green.y - red.y)
      guard areReal, points[0].y > 0.001, abs(area) > 0.001 else { return }
      primaries = ColorCalibration.Primaries(white: points[0], red: points[1], green: points[2], blue: points[3])
    default: break
    }
  }

  /// §11.3.2.3: a name of 1 to 79 bytes, a NUL, the compression method 0, and a zlib stream, which has its own
  /// checksum.
  private static func profile(
    at content: Int64, length: Int, _ reader: inout HeaderReader, _ limits: CodecLimits
  ) throws(CodecError) -> EmbeddedProfile {
    let head = try reader.bytes(at: content, count: min(length, 81))
    guard let name = head.firstIndex(of: 0).map({ $0 - head.startIndex }), (1...79).contains(name),
      name + 2 < length, head.dropFirst(name + 1).first == 0
    else { return .damaged("the iCCP chunk is malformed") }
    let data = ByteRange(offset: content + Int64(name + 2), length: length - name - 2)
    // The tables of a deflate block take at most 600 bytes (RFC 1951 §3.2.7); the profile's header follows them.
    let start = try reader.bytes(at: data.offset, count: min(data.length, 1024))
    let declared = try SourceColor.declaredBytes(Array(start))
    // zlib expands one byte to at most 1032.
    let maximum = min(limits.profileBytes, data.length * 1032, declared ?? .max)
    return .deflated(data, declaredBytes: declared, maximumBytes: maximum)
  }

  /// The colours for ITU-T H.273 code points, except unknown ones and those for video only: full range, and RGB.
  private static func colors(_ bytes: ArraySlice<UInt8>) -> ColorCalibration? {
    let values = bytes.map { Int($0) }
    guard values[2] == 0, values[3] == 1 else { return nil }
    let points = CodePoints(primaries: values[0], transfer: values[1], matrix: 0, isFullRange: true)
    return points.areColorsKnown ? points.colors : nil
  }

  /// A chunk's content, if its checksum is correct (§5.4: CRC-32 over type and content).
  private static func checked(
    _ type: String, _ content: Int64, _ length: Int, _ reader: inout HeaderReader
  ) throws(CodecError) -> ArraySlice<UInt8>? {
    let bytes = try reader.wholeBytes(at: content, count: length + 4)
    let covered = Array(type.utf8) + bytes.dropLast(4)
    let sum = covered.withUnsafeBufferPointer { crc32_z(0, $0.baseAddress, $0.count) }
    return UInt(bytes.bigEndian(at: length, bytes: 4)) == sum ? bytes.dropLast(4) : nil
  }
}
