import Foundation
import ImageCodec
import ImageRender
import PhotoFixtures
import PhotoModel
import Testing

/// Colours that are described by numbers: PNG's chunks, a camera's Adobe RGB.
extension ColorTests {
  struct Numbers: CustomTestStringConvertible {
    let testDescription: String
    let chunks: [PNGChunk]
    var profile: [UInt8]?
    /// The picture's colours in sRGB; `nil`: its values are taken for sRGB.
    let expected: (@Sendable ([UInt8]) -> [UInt8])?
  }

  static func power(_ exponent: Double, _ matrix: [[Double]] = ReferenceColor.same) -> @Sendable ([UInt8]) -> [UInt8] {
    { ReferenceColor.sRGB($0, matrix) { pow($0, exponent) } }
  }

  static let p3: @Sendable ([UInt8]) -> [UInt8] = { ReferenceColor.sRGB($0, ReferenceColor.p3, ReferenceColor.light) }

  static let bt2020: @Sendable ([UInt8]) -> [UInt8] = {
    ReferenceColor.sRGB($0, ReferenceColor.bt2020, ReferenceColor.light)
  }

  static func damaged(_ chunk: PNGChunk) -> PNGChunk {
    var chunk = chunk
    chunk.isDamaged = true
    return chunk
  }

  static let numbers = [
    Numbers(testDescription: "no colour chunk", chunks: [], expected: nil),
    Numbers(testDescription: "sRGB", chunks: [PNGChunk("sRGB", [0])], expected: nil),
    Numbers(
      testDescription: "sRGB outranks gAMA", chunks: [.gamma(100_000), PNGChunk("sRGB", [0])], expected: nil),
    Numbers(testDescription: "the gAMA of sRGB", chunks: [.gamma(45_455)], expected: nil),
    Numbers(
      testDescription: "the gAMA and cHRM of sRGB",
      chunks: [.gamma(45_455), .chromaticities(ICCFile.d65 + ICCFile.sRGBPrimaries)], expected: nil),
    Numbers(testDescription: "linear light", chunks: [.gamma(100_000)], expected: power(1)),
    Numbers(
      testDescription: "linear light, and a cHRM of primaries on a line",
      chunks: [.gamma(100_000), .chromaticities([0.3127, 0.329, 0.7, 0.0001, 0.4, 0.0002, 0.1, 0.0003])],
      expected: power(1)),
    Numbers(testDescription: "the gAMA of old Macintosh files", chunks: [.gamma(55_556)], expected: power(1.8)),
    Numbers(
      testDescription: "Display P3's primaries",
      chunks: [.chromaticities(ICCFile.d65 + ICCFile.displayP3Primaries)], expected: p3),
    Numbers(
      testDescription: "the gAMA and cHRM of Adobe RGB",
      chunks: [.chromaticities(ICCFile.d65 + ICCFile.adobePrimaries), .gamma(45_470)],
      expected: power(2.199_218_75, ReferenceColor.adobe)),
    Numbers(
      testDescription: "the gAMA and cHRM of ProPhoto RGB",
      chunks: [
        .chromaticities([0.3457, 0.3585, 0.7347, 0.2653, 0.1596, 0.8404, 0.0366, 0.0001]), .gamma(55_556),
      ],
      expected: power(1.8, ReferenceColor.proPhoto)),
    Numbers(
      testDescription: "iCCP outranks sRGB and gAMA", chunks: [PNGChunk("sRGB", [0]), .gamma(100_000)],
      profile: ICCFile.displayP3, expected: p3),
    Numbers(
      testDescription: "cICP outranks iCCP", chunks: [PNGChunk("cICP", [12, 13, 0, 1])], profile: ICCFile.adobeRGB,
      expected: p3),
    Numbers(
      testDescription: "BT.2020's primaries with the curve of video", chunks: [PNGChunk("cICP", [9, 14, 0, 1])],
      expected: bt2020),
    Numbers(
      testDescription: "Display P3's primaries with the curve of video", chunks: [PNGChunk("cICP", [12, 1, 0, 1])],
      expected: p3),
    Numbers(
      testDescription: "the primaries of cinemas with the curve of BT.601", chunks: [PNGChunk("cICP", [11, 6, 0, 1])],
      expected: p3),
    Numbers(
      testDescription: "the cICP of BT.709 outranks iCCP", chunks: [PNGChunk("cICP", [1, 1, 0, 1])],
      profile: ICCFile.displayP3, expected: nil),
    Numbers(
      testDescription: "unspecified primaries in cICP are ignored", chunks: [PNGChunk("cICP", [2, 13, 0, 1])],
      profile: ICCFile.displayP3, expected: p3),
    Numbers(
      testDescription: "a cICP of the narrow range is ignored", chunks: [PNGChunk("cICP", [9, 1, 0, 0])],
      profile: ICCFile.displayP3, expected: p3),
    Numbers(
      testDescription: "an unsupported cICP is ignored",
      chunks: [PNGChunk("cICP", [9, 17, 0, 1])], profile: ICCFile.displayP3, expected: p3),
    Numbers(
      testDescription: "the cICP of sRGB", chunks: [PNGChunk("cICP", [1, 13, 0, 1]), .gamma(100_000)], expected: nil),
    Numbers(testDescription: "a damaged gAMA", chunks: [damaged(.gamma(100_000))], expected: nil),
    Numbers(testDescription: "an impossible gAMA", chunks: [.gamma(0)], expected: nil),
    Numbers(
      testDescription: "impossible chromaticities", chunks: [.chromaticities([0, 0, 0, 0, 0, 0, 0, 0])], expected: nil),
    Numbers(
      testDescription: "three equal primaries",
      chunks: [.chromaticities(ICCFile.d65 + [0.3, 0.3, 0.3, 0.3, 0.3, 0.3])], expected: nil),
    Numbers(
      testDescription: "an invalid iCCP is ignored",
      chunks: [PNGChunk("iCCP", Array("icc\0\0garbage".utf8)), .gamma(100_000)], expected: power(1)),
  ]

  @Test("a PNG has the same colours whether it is converted or keeps its profile", arguments: numbers, [8, 16])
  func byNumbers(_ numbers: Numbers, _ depth: Int) throws {
    let file = PNGFile(.rgb(depth: depth)) {
      $0.chunks = numbers.chunks
      $0.profile = numbers.profile
    }.encoded(Self.patches(Self.colors))
    let expected = Self.colors.map { numbers.expected?($0) ?? $0 }
    for side in [160, 320] {
      let converted = try render(file, Self.asked(side, .srgb))
      #expect(ICCFile.embedded(in: converted.image.bytes) == nil)
      let middles = Self.middles(converted.pixels, Self.colors.count)
      #expect(Self.isClose(middles, expected, 2), "\(middles) for \(expected)")
      for format in [OutputFormat.jpeg, .png] {
        let kept = try render(file, Self.asked(side, .preserve, format))
        let pixels = Self.middles(kept.pixels, Self.colors.count)
        #expect(Self.isClose(pixels, Self.colors, format == .jpeg ? 5 : 1), "the pixels stay")
        let profile = ICCFile.embedded(in: kept.image.bytes)
        #expect((profile != nil) == (numbers.expected != nil))
        if let profile {
          // Compared with the original pixels: JPEG's own error in a dark pixel is not the profile's.
          let seen = Self.colors.compactMap { ICCFile.sRGB(of: $0, in: profile) }
          #expect(Self.isClose(seen, expected, 2), "\(seen) for \(expected)")
        }
      }
    }
  }

  @Test("a gray PNG with its own gamma gets a gray profile", arguments: [8, 16])
  func grayByNumbers(_ depth: Int) throws {
    let asIs = Self.grays.map { [UInt8](repeating: $0[0], count: 3) }
    let file = PNGFile(.gray(depth: depth)) { $0.chunks = [.gamma(100_000)] }.encoded(Self.patches(asIs))
    let expected = asIs.map { ReferenceColor.sRGB($0, ReferenceColor.same) { $0 } }
    let converted = try render(file, Self.asked(128, .srgb))
    #expect(converted.channels == 1 && Self.isClose(Self.middles(converted.pixels, 8), expected, 2))
    for format in [OutputFormat.jpeg, .png] {
      let kept = try render(file, Self.asked(128, .preserve, format))
      let profile = try #require(ICCFile.embedded(in: kept.image.bytes))
      #expect(kept.channels == 1 && Self.isClose(Self.middles(kept.pixels, 8), asIs, 2))
      #expect(Self.isClose(Self.grays.compactMap { ICCFile.sRGB(of: $0, in: profile) }, expected, 2))
    }
  }

  @Test(
    "dark grays of linear light become sRGB exactly, where a table of a few points would be too coarse",
    arguments: [PNGFile.Kind.gray(depth: 8), .gray(depth: 16), .grayAlpha(depth: 8), .grayAlpha(depth: 16)])
  func darkGrays(_ kind: PNGFile.Kind) throws {
    let samples: [[UInt8]] = [1, 2, 3, 4, 6, 9, 14, 20].map { [$0, $0, $0] }
    let hasAlpha = kind == .grayAlpha(depth: 8) || kind == .grayAlpha(depth: 16)
    let expected = samples.map { ReferenceColor.sRGB($0, ReferenceColor.same) { $0 } }
    for file in [
      PNGFile(kind) { $0.chunks = [.gamma(100_000)] }, PNGFile(kind) { $0.profile = ICCFile.gray(exponent: 1) },
    ] {
      let bytes = file.encoded(Self.patches(samples, alpha: hasAlpha ? 200 : nil))
      let (_, pixels, _) = try render(bytes, Self.asked(256, .srgb))
      let middles = Self.middles(pixels, samples.count)
      #expect(Self.isClose(middles, expected, 1), "\(middles) for \(expected)")
      #expect(!hasAlpha || pixels[0, 0].last == 200)
    }
  }

  @Test("colours of 16 bits at the edge of sRGB are as exact as those of 8", arguments: [false, true])
  func edgeOfSRGB(_ hasAlpha: Bool) throws {
    let colors: [[UInt8]] = [30, 90, 150, 210].map { [130, 230, $0] }
    let expected = colors.map(Self.power(2.199_218_75, ReferenceColor.adobe))
    let kinds: [PNGFile.Kind] =
      hasAlpha ? [.rgba(depth: 8), .rgba(depth: 16)] : [.rgb(depth: 8), .rgb(depth: 16)]
    for kind in kinds {
      let file = PNGFile(kind) { $0.profile = ICCFile.adobeRGB }.encoded(
        Self.patches(colors, alpha: hasAlpha ? 200 : nil))
      let (_, pixels, _) = try render(file, Self.asked(128, .srgb))
      let middles = Self.middles(pixels, colors.count)
      #expect(Self.isClose(middles, expected, 4), "\(kind): \(middles) for \(expected)")
      #expect(!hasAlpha || pixels[0, 0].last == 200)
    }
  }

  /// White of 203 cd/m², which is brighter than the middle and darker than what is brighter.
  @Test("a PNG of high dynamic range becomes sRGB", arguments: [(16, 0.5806), (18, 0.75)], ColorSpace.allCases)
  func hdr(_ transfer: (number: UInt8, white: Double), _ colorSpace: ColorSpace) throws {
    let white = UInt8((transfer.white * 255).rounded())
    let colors = [[white, white, white], [0, 0, 0], [255, 255, 255]].map { $0.map { UInt8($0) } }
    let file = PNGFile(.rgb(depth: 8)) { $0.chunks = [PNGChunk("cICP", [9, transfer.number, 0, 1])] }
      .encoded(Self.patches(colors))
    for format in [OutputFormat.jpeg, .png] {
      let rendered = try render(file, Self.asked(160, colorSpace, format))
      #expect(ICCFile.embedded(in: rendered.image.bytes) == nil)
      let middles = Self.middles(rendered.pixels, colors.count)
      #expect(Self.isClose(middles, [[228, 228, 228], [0, 0, 0], [255, 255, 255]], 4), "\(middles)")
    }
  }

  @Test("a generated profile does not contain the current date")
  func deterministic() throws {
    let file = PNGFile(.rgb(depth: 8)) { $0.chunks = [.gamma(100_000)] }.encoded(Self.patches(Self.colors))
    let profile = try #require(ICCFile.embedded(in: try render(file, Self.asked(160, .preserve)).image.bytes))
    #expect(Array(profile[24..<36]) == [0x07, 0xD0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0])
  }

  @Test(
    "Adobe RGB is recognised by the EXIF interoperability index",
    arguments: [("R03", 65_535, true), ("R03", 1, false), ("R98", 1, false), ("R98", 65_535, false)], [false, true])
  func adobe(_ camera: (index: String, colorSpace: Int, isAdobe: Bool), _ isBigEndian: Bool) throws {
    let file = JPEGFile {
      $0.quality = 100
      $0.sampling = (1, 1)
      $0.exif = EXIFBlock {
        $0.isBigEndian = isBigEndian
        $0.interoperabilityIndex = camera.index
        $0.colorSpace = camera.colorSpace
      }
    }.encoded(Self.patches(Self.colors))
    let expected = camera.isAdobe ? Self.colors.map(Self.power(2.199_218_75, ReferenceColor.adobe)) : Self.colors
    let converted = try render(file, Self.asked(160, .srgb))
    #expect(Self.isClose(Self.middles(converted.pixels, Self.colors.count), expected, 5))
    let kept = try render(file, Self.asked(160, .preserve, .jpeg))
    #expect((ICCFile.embedded(in: kept.image.bytes) != nil) == camera.isAdobe)
  }
}
