import ImageCodec
import ImageRender
import PhotoFixtures
import PhotoModel
import Testing

/// TIFFs that are not decoded, and TIFFs that are damaged.
@Suite("TIFFs that are refused")
struct BadTIFFTests {
  typealias Entry = CodedTIFFFile.Entry

  /// 8 x 4 pixels of RGB, at byte 8 of the file.
  private static func file(_ channels: Int = 3, _ change: (inout CodedTIFFFile) -> Void) -> CodedTIFFFile {
    let samples = (0..<32 * channels).map { $0 * 5 & 255 }
    return CodedTIFFFile(width: 8, height: 4, samplesPerPixel: channels, samples: samples) {
      if channels == 1 { $0.interpretation = 1 }
      change(&$0)
    }
  }

  static let notDecoded: [(text: String, file: CodedTIFFFile)] = {
    func compression(_ code: Int) -> CodedTIFFFile { file { $0.entries = [Entry(259, type: 3, [code])] } }
    return [
      ("with CCITT compression", compression(2)), ("with CCITT compression (fax group 3)", compression(3)),
      ("with CCITT compression (fax group 4)", compression(4)), ("with old-style JPEG compression", compression(6)),
      ("with LZMA compression", compression(34_925)), ("with Zstandard compression", compression(50_000)),
      ("with WebP compression", compression(50_001)), ("with JPEG XL compression", compression(50_002)),
      ("with compression 999", compression(999)),
      ("with old-style LZW compression", file { ($0.compression, $0.data) = (.lzw, [[0, 1, 2, 3]]) }),
      ("with 12 bits a sample", file { $0.entries = [Entry(258, type: 3, [12, 12, 12])] }),
      ("with 32 bits a sample", file { $0.entries = [Entry(258, type: 3, [32, 32, 32])] }),
      (
        "with samples in floating point",
        file { $0.entries = [Entry(258, type: 3, [32, 32, 32]), Entry(339, type: 3, [3, 3, 3])] }
      ),
      (
        "with samples in floating point", file { ($0.compression, $0.entries) = (.deflate, [Entry(317, type: 3, [3])]) }
      ),
      (
        "with differences of 1 bits",
        file(1) {
          ($0.compression, $0.entries) = (
            .lzw,
            [
              Entry(258, type: 3, [1]), Entry(317, type: 3, [2]),
            ]
          )
        }
      ),
      ("with inks other than CMYK", file(4) { ($0.interpretation, $0.entries) = (5, [Entry(332, type: 3, [2])]) }),
      ("with a palette for 16 bits", file(1) { ($0.bits, $0.interpretation) = (16, 3) }),
      ("with photometric interpretation 32844", file { $0.interpretation = 32_844 }),
      ("in YCbCr with 16 bits a sample", file { ($0.bits, $0.interpretation) = (16, 6) }),
      (
        "in planes of subsampled YCbCr",
        file {
          ($0.isPlanar, $0.interpretation, $0.entries) = (
            true, 6,
            [
              Entry(530, type: 3, [2, 2])
            ]
          )
        }
      ),
      (
        "with a JPEG of other colours",
        file(1) {
          ($0.compression, $0.data, $0.interpretation, $0.colorMap) = (
            .jpeg, [[1]], 3, [Int](repeating: 0, count: 768)
          )
        }
      ),
    ]
  }()

  @Test("what is not decoded is refused by its name", arguments: notDecoded.indices)
  func unsupported(_ i: Int) {
    let (text, file) = Self.notDecoded[i]
    #expect(throws: CodecError.unsupported("a TIFF picture \(text)"), "\(text)") {
      try render(file.bytes, TIFFTests.whole)
    }
  }

  @Test("samples that differ, or have signs, are refused")
  func samples() {
    for (text, entry) in [
      ("whose samples differ in their number of bits", Entry(258, type: 3, [8, 8, 4])),
      ("whose samples are not unsigned integers", Entry(339, type: 3, [2, 2, 2])),
    ] {
      #expect(throws: CodecError.unsupported("a TIFF picture \(text)")) {
        try render(Self.file { $0.entries = [entry] }.bytes, TIFFTests.whole)
      }
    }
  }

  /// The directory follows the 96 bytes of pixels.
  static let damagedFiles: [(name: String, file: CodedTIFFFile, error: CodecError)] = [
    (
      "fewer strips than rows", file { $0.entries = [Entry(278, type: 3, [1])] },
      .malformed("fewer strips or tiles than the picture needs", offset: 104)
    ),
    (
      "no strips", file { $0.entries = [Entry(273, type: 2, [1])] },
      .malformed("a table of strips or tiles that has no numbers", offset: 104)
    ),
    (
      "strips without rows", file { $0.entries = [Entry(278, type: 3, [0])] },
      .malformed("strips without rows", offset: 104)
    ),
    (
      "tiles without pixels", file { $0.entries = [Entry(322, type: 3, [0]), Entry(323, type: 3, [16])] },
      .malformed("tiles without pixels", offset: 104)
    ),
    (
      "a strip at 0", file { $0.entries = [Entry(273, type: 4, [0])] },
      .malformed("a strip or tile without a position", offset: 174)
    ),
    ("a strip beyond the end", file { $0.entries = [Entry(273, type: 4, [90_000])] }, .truncated(offset: 224)),
    ("rows that are missing", file { $0.entries = [Entry(257, type: 4, [50])] }, .truncated(offset: 224)),
    ("no samples", file { $0.entries = [Entry(277, type: 3, [0])] }, .malformed("pixels without samples", offset: 104)),
    (
      "two samples of RGB", file { $0.entries = [Entry(277, type: 3, [2])] },
      .malformed("fewer samples than its colours need", offset: 104)
    ),
    (
      "a palette that is too short", file(1) { ($0.interpretation, $0.colorMap) = (3, [1, 2, 3]) },
      .malformed("a palette without its colours", offset: 40)
    ),
    (
      "an order of samples that there is not", file { $0.entries = [Entry(284, type: 3, [3])] },
      .malformed("an unknown order of samples", offset: 104)
    ),
    (
      "a code without a string", file { ($0.compression, $0.data) = (.lzw, [[0x80, 0x3F, 0xFF, 0xFF, 0, 0]]) },
      .malformed("a code without a string", offset: 12)
    ),
    (
      "codes that end early", file { ($0.compression, $0.data) = (.lzw, [TIFFStrings.encoded([1, 2, 3])]) },
      .truncated(offset: 14)
    ),
    (
      "deflated data with a wrong start", file { ($0.compression, $0.data) = (.deflate, [[1, 2, 3, 4]]) },
      .malformed("damaged data of a strip or tile", offset: 10)
    ),
    (
      "runs that end early", file { ($0.compression, $0.data) = (.packBits, [[200, 3]]) }, .truncated(offset: 10)
    ),
    (
      "a JPEG that is none", file { ($0.compression, $0.sharesTables, $0.data) = (.jpeg, false, [[1, 2, 3, 4]]) },
      .malformed("a strip or tile without its JPEG", offset: 8)
    ),
    (
      "too many samples", file { $0.entries = [Entry(277, type: 3, [100])] },
      .limitExceeded("the number of a pixel's samples", limit: 64, found: 100)
    ),
    (
      "too wide", file { $0.entries = [Entry(256, type: 4, [70_000])] },
      .limitExceeded("the longer side", limit: 65_500, found: 70_000)
    ),
    (
      "a wide tile", file { ($0.tile, $0.data) = ((65_535, 16), [[1, 2]]) },
      .limitExceeded("the longer side of a tile", limit: 65_500, found: 65_535)
    ),
    (
      "too many tiles", file { ($0.tile, $0.width, $0.height, $0.data) = ((1, 1), 4000, 4000, [[1]]) },
      .limitExceeded("the number of strips or tiles", limit: 1 << 20, found: 16_000_000)
    ),
    (
      "a picture that consists of padding",
      file { ($0.tile, $0.width, $0.height, $0.data) = ((60_000, 60_000), 10, 60_000, [[1]]) },
      .limitExceeded("the number of pixels with those that fill up tiles", limit: 250_000_000, found: 3_600_000_000)
    ),
  ]

  @Test("a damaged TIFF is refused with the reason", arguments: damagedFiles.indices)
  func malformed(_ i: Int) {
    let (name, file, error) = Self.damagedFiles[i]
    #expect(throws: error, "\(name)") { try render(file.bytes, TIFFTests.whole) }
  }

  @Test("the warnings of a strip's JPEG are those of the picture")
  func warnings() throws {
    var file = Self.file { ($0.compression, $0.interpretation, $0.sharesTables) = (.jpeg, 6, false) }
    #expect(try render(file.bytes, TIFFTests.whole).image.warnings.isEmpty)
    // A byte that belongs to no segment.
    var jpeg = try #require(file.jpegs.first)
    jpeg.insert(0, at: try #require(jpeg.firstRange(of: [0xFF, 0xC4])).lowerBound)
    file.data = [jpeg]
    let warnings = try render(file.bytes, TIFFTests.whole).image.warnings
    #expect(warnings.map(\.library) == ["libjpeg"] && warnings.map(\.count) == [1])
  }

  static let intactFiles: [CodedTIFFFile] = {
    var files: [CodedTIFFFile] = CodedTIFFFile.Compression.allCases.flatMap { compression in
      [false, true].map { isTiled in
        TIFFTests.file(3) {
          ($0.compression, $0.interpretation) = (compression, compression == .jpeg ? 6 : 2)
          if isTiled { $0.tile = (16, 16) } else { $0.rowsPerStrip = 20 }
          ($0.isBigTIFF, $0.isPlanar) = (isTiled, compression == .lzw)
          if compression == .lzw { $0.predictor = 2 }
        }
      }
    }
    files.append(
      TIFFTests.file(1, most: 15) {
        ($0.bits, $0.interpretation, $0.colorMap) = (4, 3, (0..<48).map { $0 * 900 })
      })
    files.append(
      TIFFTests.file(3) { ($0.interpretation, $0.subsampling, $0.tile) = (6, (2, 2), (32, 16)) })
    return files
  }()

  @Test("a file with changed bytes or without its end gives a picture or an error", arguments: intactFiles.indices)
  func damaged(_ i: Int) throws {
    let file = Self.intactFiles[i].bytes
    _ = try render(file, TIFFTests.whole)
    let shorter = outcomes(of: prefixes(file, of: stride(from: 0, to: file.count, by: 41)), request(20, 20))
    #expect(shorter.errors > 0)
    // All of the directory, which is at the end, and some of the data.
    let tail = max(0, file.count - 1200)
    let places = Array(stride(from: 4, to: tail, by: 23)) + Array(tail..<file.count)
    let found = outcomes(of: flipped(file, at: places, [0xFF, 0x80, 0x01]), request(20, 20))
    #expect(found.pictures > 0 && found.errors > 0)
  }
}
