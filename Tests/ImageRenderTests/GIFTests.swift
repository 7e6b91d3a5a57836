import ImageCodec
import PhotoFixtures
import PhotoModel
import Testing

/// GIFs by the fixtures' own encoder, compared with the colours of their indexes.
@Suite("GIF pictures")
struct GIFTests {
  private static let whole = ImageRequest(targetSize: .maximum, format: .png)

  private static func colors(_ count: Int) -> [[UInt8]] {
    (0..<count).map { i in
      let (red, green) = (i * 37 & 255, (i * 91 + 5) & 255)
      return [UInt8(red), UInt8(green), UInt8(255 - i)]
    }
  }

  /// Long runs, short repetitions and noise, which fill the table.
  private static func indexes(_ width: Int, _ height: Int, _ count: Int) -> [UInt8] {
    var state: UInt32 = 1
    return (0..<width * height).map { i in
      state = state &* 1_664_525 &+ 1_013_904_223
      switch i / 977 % 3 {
      case 0: return UInt8(i / 200 % count)
      case 1: return UInt8((i % 7 * 3 + i / width) % count)
      default: return UInt8(Int(state >> 16) % count)
      }
    }
  }

  /// The canvas as RGBA.
  private static func expected(_ file: CodedGIFFile) -> Pixels {
    let colors = file.localColors ?? file.globalColors ?? []
    var out = Pixels(width: file.canvas.width, height: file.canvas.height, channels: 4)
    for y in 0..<file.height {
      for x in 0..<file.width {
        let (toX, toY) = (file.origin.x + x, file.origin.y + y)
        let index = file.indexes[y * file.width + x]
        guard toX < out.width, toY < out.height, index != file.transparentIndex else { continue }
        let start = (toY * out.width + toX) * 4
        out.bytes.replaceSubrange(start..<start + 4, with: colors[Int(index)] + [255])
      }
    }
    return out
  }

  private static func file(_ width: Int = 61, _ height: Int = 43, _ change: (inout CodedGIFFile) -> Void)
    -> CodedGIFFile
  {
    var file = CodedGIFFile(width: width, height: height, indexes: [])
    file.globalColors = colors(256)
    change(&file)
    if file.indexes.isEmpty { file.indexes = indexes(file.width, file.height, 1 << file.indexBits) }
    return file
  }

  private static let depths: [(name: String, file: CodedGIFFile)] = (1...8).map { bits in
    ("\(bits) bits", file { ($0.indexBits, $0.globalColors) = (bits, colors(1 << bits)) })
  }

  static let cases: [(name: String, file: CodedGIFFile)] =
    depths + [
      ("a full table that is cleared", file(300, 211) { _ in }),
      ("a full table that is kept", file(300, 211) { $0.clearsFullTable = false }),
      (
        "one colour, of which each string holds one more",
        file(200, 150) { $0.indexes = Array(repeating: 9, count: 30_000) }
      ),
      ("only literals", file { $0.codesBetweenClears = 1 }), ("sub-blocks of one byte", file { $0.blockBytes = 1 }),
      ("without an end code", file { $0.hasEndCode = false }), ("one pixel", file(1, 1) { _ in }),
      ("local colours", file { $0.localColors = colors(256).reversed() }),
      ("only local colours", file { ($0.localColors, $0.globalColors) = (colors(256), nil) }),
      ("a transparent colour", file { $0.transparentIndex = 3 }),
      ("a smaller picture", file { ($0.canvas, $0.origin) = ((90, 80), (11, 23)) }),
      ("a picture beyond the right and bottom edge", file { ($0.canvas, $0.origin) = ((50, 40), (11, 7)) }),
      ("a picture outside", file { ($0.canvas, $0.origin) = ((50, 40), (50, 40)) }),
      ("a comment and an XMP packet before it", file { $0.blocksBefore = [0x21, 0xFE, 2, 65, 66, 0, 0] }),
      ("an unknown extension", file { $0.blocksBefore = [0x21, 0x99, 1, 0x2C, 0] }),
      ("a second picture", file { $0.blocksAfter = [0x2C, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x44, 1, 0, 0x3B] }),
      ("no trailer", file { $0.blocksAfter = [] }),
    ]

  @Test("pixels, transparency and place are those of the file, interlaced or not", arguments: cases.indices)
  func pixels(_ i: Int) throws {
    for isInterlaced in [false, true] {
      var file = Self.cases[i].file
      file.isInterlaced = isInterlaced
      let (_, pixels, _) = try render(file.bytes, Self.whole)
      let isEqual = pixels == Self.expected(file)
      #expect(isEqual, "\(Self.cases[i].name), \(isInterlaced)")
      let (_, trickled, _) = try render(file.bytes, Self.whole) {
        TrickleSource($0, headerBytes: 1700, canReturnNotYet: false)
      }
      let isEqualInPieces = trickled == Self.expected(file)
      #expect(isEqualInPieces, "\(Self.cases[i].name) in pieces")
    }
  }

  @Test("every height is interlaced in the order of the four passes")
  func passes() throws {
    for height in 1...20 {
      let file = Self.file(3, height) { ($0.isInterlaced, $0.indexes) = (true, (0..<3 * height).map { UInt8($0) }) }
      let (_, pixels, _) = try render(file.bytes, Self.whole)
      #expect(pixels == Self.expected(file), "\(height) rows")
    }
  }

  @Test("a crop shows its part of the canvas", arguments: [false, true])
  func crop(_ isInterlaced: Bool) throws {
    for origin in [(0, 0), (30, 20), (70, 70)] {
      let file = Self.file(60, 40) { ($0.canvas, $0.origin, $0.isInterlaced) = ((100, 80), origin, isInterlaced) }
      let crop = UnitRect(x: 0.25, y: 0.25, width: 0.5, height: 0.5)
      let (_, pixels, _) = try render(
        file.bytes, request(50, 40, .aspectFit, .png, crop: crop))
      let isEqual = pixels == Self.expected(file).cropped(x: 25, y: 20, width: 50, height: 40)
      #expect(isEqual, "\(origin)")
    }
  }

  @Test("a GIF without colours is gray")
  func noColors() throws {
    let file = Self.file(4, 1) { ($0.globalColors, $0.indexBits, $0.indexes) = (nil, 2, [0, 1, 2, 3]) }
    let (_, pixels, _) = try render(file.bytes, Self.whole)
    #expect(pixels.bytes == [0, 0, 0, 255, 85, 85, 85, 255, 170, 170, 170, 255, 255, 255, 255, 255])
  }

  static let refused: [(name: String, bytes: [UInt8], error: CodecError)] = {
    let sound = file(8, 8) { _ in }.bytes
    let picture = 13 + 768
    func changed(_ change: (inout [UInt8]) -> Void) -> [UInt8] {
      var bytes = sound
      change(&bytes)
      return bytes
    }
    return [
      ("no picture", Array(sound.prefix(picture)) + [0x3B], .malformed("a GIF without a picture", offset: 781)),
      (
        "codes of thirteen bits", changed { $0[picture + 10] = 12 },
        .malformed("an impossible size of codes", offset: Int64(picture + 10))
      ),
      (
        "a code that is not there", Array(sound.prefix(picture + 11)) + [3, 0x00, 0xFF, 0x03, 0],
        .malformed("a code without a string", offset: Int64(picture + 15))
      ),
      (
        "rows that are missing", Array(sound.prefix(picture + 11)) + [UInt8](repeating: 0, count: 99),
        .truncated(offset: Int64(picture + 12))
      ),
      (
        "a picture without pixels", changed { $0[picture + 5] = 0 }, .malformed("a picture without pixels", offset: nil)
      ),
      (
        "a picture that is too large",
        changed { $0.replaceSubrange(picture + 5..<picture + 9, with: [255, 255, 1, 0]) },
        .limitExceeded("the longer side", limit: 65_500, found: 65_535)
      ),
      (
        "endless comments",
        Array(sound.prefix(picture)) + [0x21, 0xFE] + [UInt8](repeating: 255, count: 300_000),
        .limitExceeded("the bytes before the first picture", limit: 1 << 18, found: 262_146)
      ),
    ]
  }()

  @Test("a damaged GIF is refused with the reason", arguments: refused.indices)
  func refusal(_ i: Int) {
    let (name, bytes, error) = Self.refused[i]
    #expect(throws: error, "\(name)") { try render(bytes, Self.whole) }
  }

  @Test("every prefix that lacks a part of the picture is refused")
  func prefixes() throws {
    let file = Self.file(16, 9) { $0.blocksAfter = [] }.bytes
    // The block terminator and the end code, which may have a byte of its own, are not needed.
    for length in 0..<file.count - 3 {
      #expect(throws: CodecError.self, "\(length) bytes") { try render(Array(file.prefix(length)), Self.whole) }
    }
    #expect(try render(file, Self.whole).pixels.width == 16)
  }

  @Test("a file with one changed byte gives a picture or an error")
  func flips() {
    let file = Self.file(16, 9) { ($0.isInterlaced, $0.indexBits, $0.globalColors) = (true, 4, Self.colors(16)) }.bytes
    let found = outcomes(of: flipped(file, at: 6..<file.count, [0xFF, 0x80, 0x10, 0x01]), Self.whole)
    #expect(found.pictures > 0 && found.errors > 0)
  }
}
