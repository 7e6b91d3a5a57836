// The chunks of a PNG that say what its samples mean, and which of them counts: cICP before iCCP before sRGB before gAMA
// and cHRM (PNG third edition §4.3, table "Color space chunks").

import PhotoModel

struct PNGColorChunks {
  private var cicp: ColorCalibration?
  private var iccp: EmbeddedProfile?
  private var isSRGB = false
  /// gAMA's exponent as it is applied to samples: 2.2 where the chunk says 45455.
  private var exponent: Double?
  private var primaries: ColorCalibration.Primaries?

  /// Nothing where cICP says it all.
  var embeddedProfile: EmbeddedProfile? { cicp == nil ? iccp : nil }

  /// What holds without a profile; `nil` is sRGB, which is also what a PNG without any of these is taken for.
  var calibration: ColorCalibration? {
    if let cicp { return cicp }
    if isSRGB || (exponent == nil && primaries == nil) { return nil }
    return ColorCalibration(
      transfer: exponent.map(ColorCalibration.Transfer.power) ?? .sRGB, primaries: primaries ?? .bt709)
  }

  /// Takes a chunk, if it is one of these, whole and the first of its kind. What is damaged is as if it were not there.
  mutating func take(
    _ type: String, at content: Int64, length: Int, _ reader: inout HeaderReader
  ) throws(CodecError) {
    switch type {
    case "iCCP" where iccp == nil: iccp = try Self.profile(at: content, length: length, &reader)
    case "cICP" where cicp == nil && length == 4:
      cicp = try Self.checked(type, content, length, &reader).flatMap(Self.codePoints)
    case "sRGB" where length == 1:
      if try Self.checked(type, content, length, &reader) != nil { isSRGB = true }
    case "gAMA" where exponent == nil && length == 4:
      guard let bytes = try Self.checked(type, content, length, &reader) else { return }
      let value = Double(bytes.bigEndian(at: 0, bytes: 4)) / 100_000
      // Beyond this no display and no camera is meant.
      if (0.05...20).contains(value) { exponent = 1 / value }
    case "cHRM" where primaries == nil && length == 32:
      guard let bytes = try Self.checked(type, content, length, &reader) else { return }
      let points = (0..<4).map { i in
        ColorCalibration.Point(
          Double(bytes.bigEndian(at: i * 8, bytes: 4)) / 100_000,
          Double(bytes.bigEndian(at: i * 8 + 4, bytes: 4)) / 100_000)
      }
      // A real chromaticity has a y, and x and y of no more than 1 together.
      guard points.allSatisfy({ $0.y > 0.001 && $0.x + $0.y <= 1.001 }) else { return }
      primaries = ColorCalibration.Primaries(white: points[0], red: points[1], green: points[2], blue: points[3])
    default: break
    }
  }

  /// §11.3.2.3: a name of 1 to 79 bytes, a NUL, the compression method 0, and a zlib stream, which has a checksum itself.
  private static func profile(
    at content: Int64, length: Int, _ reader: inout HeaderReader
  ) throws(CodecError) -> EmbeddedProfile {
    let head = try reader.bytes(at: content, count: min(length, 81))
    guard let name = head.firstIndex(of: 0).map({ $0 - head.startIndex }), (1...79).contains(name),
      name + 2 < length, head.dropFirst(name + 1).first == 0
    else { return .damaged("the iCCP chunk is malformed") }
    let data = ByteRange(offset: content + Int64(name + 2), length: length - name - 2)
    // The tables of a block take 600 bytes at most (RFC 1951 §3.2.7), and then it begins with what is looked for.
    let start = try reader.bytes(at: data.offset, count: min(data.length, 1024))
    return .deflated(data, declaredBytes: try SourceColor.declaredBytes(Array(start)))
  }

  /// ITU-T H.273's code points, as far as they are no video's: full range, RGB, and a curve that a profile can hold.
  private static func codePoints(_ bytes: ArraySlice<UInt8>) -> ColorCalibration? {
    let values = Array(bytes)
    guard values[2] == 0, values[3] == 1 else { return nil }
    let primaries: ColorCalibration.Primaries
    switch values[0] {
    case 1: primaries = .bt709
    case 9: primaries = .bt2020
    case 12: primaries = .displayP3
    default: return nil
    }
    switch values[1] {
    case 4: return ColorCalibration(transfer: .power(2.2), primaries: primaries)
    case 5: return ColorCalibration(transfer: .power(2.8), primaries: primaries)
    case 8: return ColorCalibration(transfer: .power(1), primaries: primaries)
    case 13: return ColorCalibration(transfer: .sRGB, primaries: primaries)
    default: return nil
    }
  }

  /// A chunk's content, if its checksum is right (§5.4: CRC-32 over type and content).
  private static func checked(
    _ type: String, _ content: Int64, _ length: Int, _ reader: inout HeaderReader
  ) throws(CodecError) -> ArraySlice<UInt8>? {
    let bytes = try reader.wholeBytes(at: content, count: length + 4)
    let sum = (Array(type.utf8) + bytes.dropLast(4)).reduce(~UInt32(0)) { sum, byte in
      (0..<8).reduce(sum ^ UInt32(byte)) { value, _ in value & 1 == 1 ? value >> 1 ^ 0xEDB8_8320 : value >> 1 }
    }
    return UInt32(bytes.bigEndian(at: length, bytes: 4)) == ~sum ? bytes.dropLast(4) : nil
  }
}
