// Reads the headers of a BMP: a file header of 14 bytes and one of several information headers, which differ in length
// (Windows GDI: BITMAPFILEHEADER, BITMAPCOREHEADER, BITMAPINFOHEADER, BITMAPV4HEADER, BITMAPV5HEADER). All numbers are
// little-endian. A BMP has no metadata.

import PhotoModel

/// The values of a BMP's headers. The size is not yet checked against limits.
struct BMPHeader {
  static let signature = Array("BM".utf8)
  /// Lengths of information headers: OS/2's and Windows' first; Windows' with masks for colours, and for alpha; OS/2's
  /// second; V4 and V5.
  private static let lengths: Set<Int> = [12, 40, 52, 56, 64, 108, 124]
  private static let coreLength = 12
  private static let fileHeaderBytes = 14
  /// At most this many bytes of a file are headers and masks.
  static let maximumBytes = fileHeaderBytes + 124 + 16

  /// The header length of a file that starts like a BMP; `nil` for other files.
  private static func length(_ bytes: ArraySlice<UInt8>) -> Int? {
    guard bytes.starts(with: signature), bytes.count >= fileHeaderBytes + 4 else { return nil }
    let length = bytes.littleEndian(at: fileHeaderBytes, bytes: 4)
    return lengths.contains(length) ? length : nil
  }

  static func matches(firstBytes bytes: ArraySlice<UInt8>) -> Bool { length(bytes) != nil }

  /// BITMAPINFOHEADER's `biCompression`.
  enum Coding: Int {
    case rows = 0, runs8, runs4, masks, jpeg, png, masksAndAlpha
  }

  /// Rows are stored from the bottom unless `isTopDown`.
  let size: PixelSize
  let isTopDown: Bool
  let bitsPerPixel: Int
  /// `nil` if it is not known.
  let coding: Coding?
  /// The bits of red, green, blue and alpha of a pixel, if the file states them.
  let masks: SIMD4<UInt32>?
  /// The colours, each blue, green, red and perhaps an unused byte.
  let palette: Range<Int64>
  let paletteEntryBytes: Int
  /// The position of the pixels.
  let pixels: Int64
  /// The length of the file and of the pixels, as stated; 0 if they are not.
  let statedFileBytes: Int64
  let statedPixelBytes: Int64
  let profile: Range<Int64>?

  /// - Parameter bytes: the start of the file: ``maximumBytes``, or all if it is shorter.
  init(_ bytes: ArraySlice<UInt8>) throws(CodecError) {
    guard let length = Self.length(bytes) else { throw .malformed("a BMP without a header", offset: 14) }
    let end = Self.fileHeaderBytes + length
    guard bytes.count >= end else { throw .truncated(offset: Int64(bytes.count)) }
    func number(_ at: Int, _ count: Int) -> Int { bytes.littleEndian(at: Self.fileHeaderBytes + at, bytes: count) }
    func signed(_ at: Int) -> Int { Int(Int32(truncatingIfNeeded: number(at, 4))) }
    pixels = Int64(bytes.littleEndian(at: 10, bytes: 4))
    statedFileBytes = Int64(bytes.littleEndian(at: 2, bytes: 4))
    let isCore = length == Self.coreLength
    let height = isCore ? number(6, 2) : signed(8)
    size = PixelSize(width: isCore ? number(4, 2) : signed(4), height: abs(height))
    isTopDown = height < 0
    bitsPerPixel = number(isCore ? 10 : 14, 2)
    // OS/2 uses the same numbers for other methods.
    let code = isCore ? 0 : number(16, 4)
    let coding = length == 64 && code > 2 ? nil : Coding(rawValue: code)
    self.coding = coding
    statedPixelBytes = isCore ? 0 : Int64(number(20, 4))
    // The oldest Windows header has its masks after it; later ones contain them.
    let maskCount = coding == .masks ? 3 : coding == .masksAndAlpha ? 4 : 0
    var tables = end
    if length == 40 { tables += maskCount * 4 }
    if maskCount > 0 {
      guard bytes.count >= tables else { throw .truncated(offset: Int64(bytes.count)) }
      let hasAlpha = length >= 56 || (maskCount == 4 && length == 40)
      masks = SIMD4(
        UInt32(number(40, 4)), UInt32(number(44, 4)), UInt32(number(48, 4)), hasAlpha ? UInt32(number(52, 4)) : 0)
    } else {
      masks = nil
    }
    paletteEntryBytes = isCore ? 3 : 4
    let stated = isCore ? 0 : number(32, 4)
    let colors = bitsPerPixel > 8 ? 0 : min(1 << bitsPerPixel, stated == 0 ? .max : stated)
    let start = Int64(tables)
    palette = start..<max(start, min(start + Int64(colors * paletteEntryBytes), pixels))
    // BITMAPV5HEADER: an embedded profile, and its place after the start of the information header.
    let hasProfile = length == 124 && bytes.dropFirst(Self.fileHeaderBytes + 56).starts(with: Array("DEBM".utf8))
    let offset = hasProfile ? Int64(Self.fileHeaderBytes + number(112, 4)) : 0
    profile = hasProfile ? offset..<offset + Int64(number(116, 4)) : nil
    guard pixels >= start else { throw .malformed("pixels before the end of the header", offset: 10) }
  }

  static func read(_ reader: inout HeaderReader) throws(CodecError) -> BMPHeader {
    try BMPHeader(try reader.bytes(at: 0, count: maximumBytes))
  }

  /// The header of an indexed file.
  static func media(_ reader: inout HeaderReader) throws(CodecError) -> MediaHeader {
    let header = try read(&reader)
    var media = MediaHeader(format: .bmp, storedSize: header.size)
    media.hasAlpha = header.masks.map { $0.w != 0 } ?? false
    return media
  }

  /// The bytes of a row that is not coded in runs: a multiple of four.
  var strideBytes: Int { (size.width * bitsPerPixel + 31) / 32 * 4 }
}
