import ImageCodec
import ImageRender
import PhotoFixtures
import PhotoModel
import Testing

/// BMPs by the fixtures' own writer, compared with the colours of their pixels.
@Suite("BMP pictures")
struct BMPTests {
  private static let whole = ImageRequest(targetSize: .maximum, format: .png)

  private static func colors(_ count: Int) -> [[UInt8]] {
    (0..<count).map { i in
      let (red, green) = (i * 37 & 255, (i * 91 + 5) & 255)
      return [UInt8(red), UInt8(green), UInt8(255 - i)]
    }
  }

  private static func index(_ x: Int, _ y: Int, _ bits: Int) -> UInt8 {
    let value = x / 9 % 2 == 0 ? x / 5 : x * y + x
    return UInt8(value & (1 << bits - 1))
  }

  /// RGBA of a picture whose pixels are a function of their place.
  private static func picture(_ width: Int, _ height: Int, _ color: (Int, Int) -> [UInt8]) -> Pixels {
    Pixels(
      width: width, height: height, channels: 4,
      bytes: (0..<width * height).flatMap { color($0 % width, $0 / width) })
  }

  private static func check(_ file: BMPFile, _ expected: Pixels, _ name: String) throws {
    let (_, pixels, _) = try render(file.bytes, whole)
    let isEqual = pixels == expected
    #expect(isEqual, "\(name)")
    let (_, trickled, _) = try render(file.bytes, whole) {
      TrickleSource($0, headerBytes: 1300, canReturnNotYet: false)
    }
    let isEqualInPieces = trickled == expected
    #expect(isEqualInPieces, "\(name) in pieces")
    let crop = UnitRect(x: 0.25, y: 0.5, width: 0.5, height: 0.25)
    let (_, part, _) = try render(file.bytes, request(file.width / 2, file.height / 4, .aspectFit, .png, crop: crop))
    let isPartEqual =
      part
      == expected.cropped(x: file.width / 4, y: file.height / 2, width: file.width / 2, height: file.height / 4)
    #expect(isPartEqual, "a part of \(name)")
  }

  @Test("indexes get their colours, with each header and from both sides", arguments: [1, 4, 8])
  func indexes(_ bits: Int) throws {
    let colors = Self.colors(1 << bits)
    for header in BMPFile.Header.allCases {
      for isTopDown in [false, true] where header != .core || !isTopDown {
        var file = BMPFile(width: 44, height: 24, bitsPerPixel: bits) {
          ($0.header, $0.isTopDown, $0.colors, $0.gap) = (header, isTopDown, colors, [1, 2, 3, 4])
        }
        file.store { UInt32(Self.index($0, $1, bits)) }
        let expected = Self.picture(44, 24) { x, y in
          colors[Int(Self.index(x, y, bits))].reversed() + [255]
        }
        try Self.check(file, expected, "\(bits) bits, \(header), \(isTopDown)")
      }
    }
  }

  @Test("indexes in runs get their colours", arguments: [4, 8])
  func runs(_ bits: Int) throws {
    let colors = Self.colors(1 << bits)
    for (width, height) in [(44, 24), (700, 8), (4, 4)] {
      var file = BMPFile(width: width, height: height, bitsPerPixel: bits) {
        ($0.compression, $0.colors) = (bits == 8 ? 1 : 2, colors)
      }
      file.storeRuns { Self.index($0, $1, bits) }
      let expected = Self.picture(width, height) { x, y in
        colors[Int(Self.index(x, y, bits))].reversed() + [255]
      }
      try Self.check(file, expected, "\(width)x\(height)")
    }
  }

  @Test("runs may jump, end early, and be longer than their row")
  func runCommands() throws {
    let file = BMPFile(width: 6, height: 4, bitsPerPixel: 8) {
      ($0.compression, $0.colors) = (1, Self.colors(256))
      // The bottom row: too long. Then two right and two up, a pixel, and the end.
      $0.pixels = [9, 5, 0, 0, 0, 2, 2, 2, 1, 7, 0, 1]
    }
    let rows = [[0, 0, 7, 0, 0, 0], [0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0], [5, 5, 5, 5, 5, 5]]
    let (_, pixels, _) = try render(file.bytes, Self.whole)
    // The jump starts in the row above the bottom: it ends in the top row.
    #expect(pixels == Self.picture(6, 4) { Self.colors(256)[rows[$1][$0]].reversed() + [255] })
    // Four bits: two indexes in turn.
    let four = BMPFile(width: 5, height: 1, bitsPerPixel: 4) {
      ($0.compression, $0.colors, $0.pixels) = (2, Self.colors(16), [5, 0x3A, 0, 1])
    }
    let (_, turns, _) = try render(four.bytes, Self.whole)
    #expect(turns == Self.picture(5, 1) { x, _ in Self.colors(16)[x % 2 == 0 ? 3 : 10].reversed() + [255] })
  }

  struct Layout: Sendable {
    let name: String
    let bits: Int
    var header = BMPFile.Header.info
    var compression = 0
    /// The bits of red, green, blue and alpha in a pixel.
    let masks: [UInt32]
  }

  static let layouts: [Layout] = [
    Layout(name: "16 bits", bits: 16, masks: [0x7C00, 0x3E0, 0x1F, 0]),
    Layout(name: "24 bits", bits: 24, masks: [0xFF_0000, 0xFF00, 0xFF, 0]),
    Layout(name: "24 bits of OS/2", bits: 24, header: .core, masks: [0xFF_0000, 0xFF00, 0xFF, 0]),
    Layout(name: "32 bits", bits: 32, masks: [0xFF_0000, 0xFF00, 0xFF, 0]),
    Layout(name: "5, 6 and 5 bits", bits: 16, compression: 3, masks: [0xF800, 0x7E0, 0x1F, 0]),
    Layout(name: "4 bits each", bits: 16, header: .v4, compression: 3, masks: [0xF00, 0xF0, 0xF, 0xF000]),
    Layout(name: "alpha of one bit", bits: 16, compression: 6, masks: [0x7C00, 0x3E0, 0x1F, 0x8000]),
    Layout(name: "red first", bits: 32, header: .infoWithMasks, compression: 3, masks: [0xFF, 0xFF00, 0xFF_0000, 0]),
    Layout(
      name: "alpha of a V5 header", bits: 32, header: .v5, compression: 3,
      masks: [0xFF_0000, 0xFF00, 0xFF, 0xFF00_0000]),
    Layout(
      name: "alpha of a header with masks", bits: 32, header: .infoWithAlpha, compression: 3,
      masks: [0xFF00_0000, 0xFF_0000, 0xFF00, 0xFF]),
    Layout(name: "10 bits each", bits: 32, compression: 3, masks: [0x3FF0_0000, 0xFFC00, 0x3FF, 0]),
  ]

  @Test("colours in bits of a pixel are scaled to eight bits", arguments: layouts.indices, [false, true])
  func masks(_ i: Int, _ isTopDown: Bool) throws {
    let layout = Self.layouts[i]
    guard layout.header != .core || !isTopDown else { return }
    var file = BMPFile(width: 44, height: 24, bitsPerPixel: layout.bits) {
      ($0.header, $0.compression, $0.isTopDown) = (layout.header, layout.compression, isTopDown)
      if layout.compression != 0 {
        $0.masks = Array(layout.masks.prefix(layout.compression == 3 && layout.header.rawValue < 56 ? 3 : 4))
      }
    }
    func value(_ x: Int, _ y: Int, _ channel: Int) -> UInt32 {
      let most = (1 << layout.masks[channel].nonzeroBitCount) - 1
      let values = [x * 7 + y, y * 11, x * y + 3, x * 5]
      return UInt32(values[channel] * (most > 255 ? 4 : 1) & most)
    }
    file.store { x, y in
      (0..<4).reduce(0) {
        let mask = layout.masks[$1]
        return mask == 0 ? $0 : $0 | value(x, y, $1) << UInt32(mask.trailingZeroBitCount)
      }
    }
    let expected = Self.picture(44, 24) { x, y in
      (0..<4).map {
        let bits = layout.masks[$0].nonzeroBitCount
        if bits == 0 { return 255 }
        let most = Double(1 << min(bits, 8) - 1)
        return UInt8((Double(value(x, y, $0) >> UInt32(max(0, bits - 8))) * 255 / most).rounded())
      }
    }
    try Self.check(file, expected, layout.name)
  }

  @Test("the last row need not be filled up")
  func unpadded() throws {
    var file = BMPFile(width: 5, height: 3, bitsPerPixel: 24)
    file.store { UInt32($0 * 50 + $1) }
    file.pixels.removeLast()
    #expect(try render(file.bytes, Self.whole).pixels.height == 3)
  }

  @Test("a profile of a V5 header is kept")
  func profile() throws {
    var file = BMPFile(width: 5, height: 3, bitsPerPixel: 24) { ($0.header, $0.profile) = (.v5, ICCFile.displayP3) }
    file.store { UInt32($0 * 50 + $1) }
    let (image, _, _) = try render(file.bytes, Self.whole)
    let header = try ImageHeader.read(from: MemoryByteSource(image.bytes), limits: CodecLimits())
    #expect(header.embeddedProfile != nil)
  }

  static let refused: [(name: String, file: BMPFile, error: CodecError)] = {
    func file(_ bits: Int, _ change: (inout BMPFile) -> Void) -> BMPFile {
      BMPFile(width: 8, height: 4, bitsPerPixel: bits, pixels: [UInt8](repeating: 0, count: 128), change)
    }
    return [
      ("a JPEG inside", file(0) { $0.compression = 4 }, .unsupported("a BMP picture with another codec's data")),
      (
        "OS/2's Huffman code", file(1) { ($0.header, $0.compression) = (.os2, 3) },
        .unsupported("a BMP picture with another codec's data")
      ),
      ("3 bits", file(3) { _ in }, .malformed("an impossible number of bits", offset: 28)),
      ("runs of 24 bits", file(24) { $0.compression = 1 }, .malformed("an impossible number of bits", offset: 28)),
      (
        "runs from the top", file(8) { ($0.compression, $0.isTopDown) = (1, true) },
        .malformed("runs from the top", offset: 22)
      ),
      (
        "a mask with a hole", file(32) { ($0.compression, $0.masks) = (3, [5, 0xFF00, 0xFF_0000]) },
        .malformed("an impossible mask of colours", offset: 54)
      ),
      (
        "a mask beyond the pixel", file(16) { ($0.compression, $0.masks) = (3, [0x1F_0000, 0x7E0, 0x1F]) },
        .malformed("an impossible mask of colours", offset: 54)
      ),
      ("no width", file(24) { $0.width = 0 }, .malformed("a picture without pixels", offset: nil)),
      ("a negative width", file(24) { $0.width = -8 }, .malformed("a picture without pixels", offset: nil)),
      ("rows that are missing", file(32) { $0.height = 5 }, .truncated(offset: 182)),
      ("runs without an end", file(8) { ($0.compression, $0.pixels) = (1, [3, 1]) }, .truncated(offset: 56)),
      ("too wide", file(1) { $0.width = 70_000 }, .limitExceeded("the longer side", limit: 65_500, found: 70_000)),
    ]
  }()

  @Test("a damaged BMP is refused with the reason", arguments: refused.indices)
  func refusal(_ i: Int) {
    let (name, file, error) = Self.refused[i]
    #expect(throws: error, "\(name)") { try render(file.bytes, Self.whole) }
  }

  @Test("every prefix is refused, and a file with one changed byte gives a picture or an error")
  func damaged() throws {
    var runs = BMPFile(width: 12, height: 7, bitsPerPixel: 4) { ($0.compression, $0.colors) = (2, Self.colors(16)) }
    runs.storeRuns { Self.index($0, $1, 4) }
    runs.pixels.removeLast(2)
    var plain = BMPFile(width: 12, height: 7, bitsPerPixel: 16) { ($0.compression, $0.masks) = (3, [31, 992, 31_744]) }
    plain.store { UInt32($0 * 700 + $1) }
    for file in [runs.bytes, plain.bytes] {
      for length in 0..<file.count {
        #expect(throws: CodecError.self, "\(length) bytes") { try render(Array(file.prefix(length)), Self.whole) }
      }
      _ = try render(file, Self.whole)
      let found = outcomes(of: flipped(file, at: 2..<file.count, [0xFF, 0x80, 0x10, 0x01]), Self.whole)
      #expect(found.pictures > 0 && found.errors > 0)
    }
  }
}
