import Foundation
import ImageCodec
import ImageRender
import PhotoFixtures
import PhotoModel
import Testing

/// Colours by hand: the standards' formulas, in double precision, without Little CMS.
private enum Hand {
  /// IEC 61966-2-1.
  static func light(_ sample: Double) -> Double {
    sample <= 0.04045 ? sample / 12.92 : pow((sample + 0.055) / 1.055, 2.4)
  }

  static func sample(_ light: Double) -> UInt8 {
    let v = min(max(light, 0), 1)
    return UInt8(((v <= 0.0031308 ? v * 12.92 : 1.055 * pow(v, 1 / 2.4) - 0.055) * 255).rounded())
  }

  /// Linear Display P3 to linear sRGB, from the primaries of both (CSS Color 4 §10.7, its matrices multiplied).
  static let p3: [[Double]] = [
    [1.2249401763, -0.2249401763, 0], [-0.0420569547, 1.0420569547, 0], [-0.0196375546, -0.0786360456, 1.0982736002],
  ]
  /// Linear Adobe RGB to linear sRGB.
  static let adobe: [[Double]] = [
    [1.3983557440, -0.3983557440, 0], [0, 1, 0], [0, -0.0429289893, 1.0429289893],
  ]
  static let same: [[Double]] = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]

  static func sRGB(_ pixel: [UInt8], _ matrix: [[Double]], _ light: (Double) -> Double) -> [UInt8] {
    let linear = pixel.map { light(Double($0) / 255) }
    return matrix.map { row in sample(zip(row, linear).reduce(0) { $0 + $1.0 * $1.1 }) }
  }

  /// L*a*b* to sRGB by way of XYZ at D50 and Bradford's adaptation to D65 (CSS Color 4 §18).
  static func sRGB(lightness: Double, a: Double, b: Double) -> [UInt8] {
    let fy = (lightness + 16) / 116
    func inverse(_ f: Double) -> Double { f > 6.0 / 29 ? f * f * f : (116 * f - 16) / 903.2962962963 }
    let x = 0.9642956764 * inverse(fy + a / 500)
    let y = inverse(fy)
    let z = 0.8251046025 * inverse(fy - b / 200)
    return [
      3.1341358529 * x - 1.6173924597 * y - 0.4906336797 * z, -0.9787954765 * x + 1.9162543774 * y + 0.0334428560 * z,
      0.0719553879 * x - 0.2289768264 * y + 1.4053861263 * z,
    ].map(sample)
  }
}

@Suite("Colours")
struct ColorTests {
  /// Flat patches side by side, 32 pixels each: in the middle of one, no filter and no chroma sampling shows.
  private static func patches(_ colors: [[UInt8]], alpha: UInt8? = nil) -> Pixels {
    var picture = Pixels(
      width: colors.count * 32, height: 32, channels: (colors.first?.count ?? 3) + (alpha == nil ? 0 : 1))
    picture.bytes = (0..<32).flatMap { _ in
      colors.flatMap { color in (0..<32).flatMap { _ in color + (alpha.map { [$0] } ?? []) } }
    }
    return picture
  }

  private static func middles(_ pixels: Pixels, _ count: Int) -> [[UInt8]] {
    let side = pixels.width / count
    return (0..<count).map { Array(pixels[$0 * side + side / 2, side / 2].prefix(3)) }
  }

  private static func isClose(_ a: [[UInt8]], _ b: [[UInt8]], _ tolerance: Int) -> Bool {
    zip(a, b).allSatisfy { zip($0, $1).allSatisfy { abs(Int($0) - Int($1)) <= tolerance } } && a.count == b.count
  }

  /// Saturated and not, in and out of sRGB's reach.
  private static let colors: [[UInt8]] = [
    [255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 255, 255], [0, 0, 0], [200, 100, 50], [60, 140, 90], [40, 50, 160],
    [128, 128, 128], [250, 220, 210],
  ]

  private static func asked(_ side: Int, _ colorSpace: ColorSpace, _ format: OutputFormat = .png) -> ImageRequest {
    ImageRequest(
      targetSize: .size(PixelSize(width: side, height: side)), format: format, quality: 100, colorSpace: colorSpace)
  }

  private static func jpeg(_ colors: [[UInt8]], _ profile: [UInt8]?) -> [UInt8] {
    JPEGFile {
      $0.quality = 100
      $0.sampling = (1, 1)
      $0.profile = profile
      if colors.first?.count == 1 { $0.color = .gray }
    }.encoded(patches(colors))
  }

  // MARK: Profiles

  @Test(
    "an embedded profile goes with the pixels, byte for byte, and the pixels stay",
    arguments: [OutputFormat.jpeg, .png])
  func preserved(_ format: OutputFormat) throws {
    let large = ICCFile.padded(ICCFile.displayP3, by: 150_000)
    for profile in [
      ICCFile.displayP3, ICCFile.sRGB, ICCFile.rgb(ICCFile.adobePrimaries, exponent: 1.8, version: 2.1), large,
    ] {
      for (kind, file) in [
        ("JPEG", Self.jpeg(Self.colors, profile)),
        ("PNG", PNGFile(.rgb(depth: 8)) { $0.profile = profile }.encoded(Self.patches(Self.colors))),
        ("16 bits", PNGFile(.rgb(depth: 16)) { $0.profile = profile }.encoded(Self.patches(Self.colors))),
        ("alpha", PNGFile(.rgba(depth: 8)) { $0.profile = profile }.encoded(Self.patches(Self.colors, alpha: 255))),
      ] {
        for side in [160, 320] {
          let (image, pixels, _) = try render(file, Self.asked(side, .preserve, format))
          #expect(ICCFile.embedded(in: image.bytes) == profile, "\(kind)")
          #expect(Self.isClose(Self.middles(pixels, Self.colors.count), Self.colors, 3), "\(kind) \(side)")
          #expect(image.profileWarning == nil)
        }
      }
    }
  }

  struct Conversion: CustomTestStringConvertible {
    let testDescription: String
    let profile: [UInt8]
    let expected: [[UInt8]]
    /// JPEG on the way in or out costs its own rounding, and in linear light one step is thirteen of sRGB's darkest.
    var jpegTolerance = 5
  }

  static let conversions = [
    Conversion(
      testDescription: "Display P3", profile: ICCFile.displayP3,
      expected: colors.map { Hand.sRGB($0, Hand.p3, Hand.light) }),
    Conversion(
      testDescription: "Display P3 in version 2", profile: ICCFile.rgb(ICCFile.displayP3Primaries, version: 2.1),
      expected: colors.map { Hand.sRGB($0, Hand.p3, Hand.light) }),
    Conversion(
      testDescription: "Adobe RGB", profile: ICCFile.adobeRGB,
      expected: colors.map { Hand.sRGB($0, Hand.adobe) { pow($0, 2.199_218_75) } }),
    Conversion(
      testDescription: "linear light", profile: ICCFile.rgb(ICCFile.sRGBPrimaries, exponent: 1),
      expected: colors.map { Hand.sRGB($0, Hand.same) { $0 } }, jpegTolerance: 14),
    Conversion(testDescription: "sRGB", profile: ICCFile.sRGB, expected: colors),
    Conversion(
      testDescription: "sRGB in version 2", profile: ICCFile.rgb(ICCFile.sRGBPrimaries, version: 2.1), expected: colors),
  ]

  @Test(
    "colorSpace=srgb converts, and the output carries no profile", arguments: conversions, [OutputFormat.jpeg, .png])
  func converted(_ conversion: Conversion, _ format: OutputFormat) throws {
    let patches = Self.patches(Self.colors)
    for (kind, file) in [
      ("JPEG", Self.jpeg(Self.colors, conversion.profile)),
      ("PNG", PNGFile(.rgb(depth: 8)) { $0.profile = conversion.profile }.encoded(patches)),
      ("16 bits", PNGFile(.rgb(depth: 16)) { $0.profile = conversion.profile }.encoded(patches)),
      (
        "alpha",
        PNGFile(.rgba(depth: 8)) { $0.profile = conversion.profile }.encoded(Self.patches(Self.colors, alpha: 255))
      ),
    ] {
      for side in [160, 320] {
        let (image, pixels, _) = try render(file, Self.asked(side, .srgb, format))
        #expect(ICCFile.embedded(in: image.bytes) == nil)
        let middles = Self.middles(pixels, Self.colors.count)
        let tolerance = kind == "JPEG" || format == .jpeg ? conversion.jpegTolerance : 2
        #expect(Self.isClose(middles, conversion.expected, tolerance), "\(kind) \(side): \(middles)")
      }
    }
  }

  @Test("what is sRGB already, or all but, is not touched: the file is the same as without a profile")
  func identity() throws {
    // A conversion would change this one's colours, if only by a step.
    let allBut = ICCFile.rgb([0.6394, 0.33, 0.30, 0.60, 0.15, 0.06])
    let steps = Self.colors.compactMap { color in
      ICCFile.sRGB(of: color, in: allBut).map { zip($0, color).map { abs(Int($0) - Int($1)) }.max() ?? 0 }
    }
    #expect(steps.max() == 1)
    let plain = try render(Self.jpeg(Self.colors, nil), Self.asked(160, .preserve, .jpeg)).image.bytes
    for profile in [ICCFile.sRGB, ICCFile.rgb(ICCFile.sRGBPrimaries, version: 2.1), allBut] {
      #expect(try render(Self.jpeg(Self.colors, profile), Self.asked(160, .srgb, .jpeg)).image.bytes == plain)
    }
    #expect(try render(Self.jpeg(Self.colors, nil), Self.asked(160, .srgb, .jpeg)).image.bytes == plain)
    #expect(try render(Self.jpeg(Self.colors, ICCFile.displayP3), Self.asked(160, .srgb, .jpeg)).image.bytes != plain)
  }

  @Test(
    "alpha stays what it is when colours are converted",
    arguments: [PNGFile.Kind.rgba(depth: 8), .rgba(depth: 16), .grayAlpha(depth: 8), .grayAlpha(depth: 16)])
  func alpha(_ kind: PNGFile.Kind) throws {
    let isGray = kind == .grayAlpha(depth: 8) || kind == .grayAlpha(depth: 16)
    let colors = isGray ? Self.grays.map { [$0[0], $0[0], $0[0]] } : Self.colors
    let file = PNGFile(kind) { $0.profile = isGray ? ICCFile.gray(exponent: 1.4) : ICCFile.displayP3 }.encoded(
      Self.patches(colors, alpha: 100))
    let expected = colors.map(isGray ? Self.power(1.4) : Self.p3)
    for side in [colors.count * 16, colors.count * 32] {
      let (_, pixels, channels) = try render(file, Self.asked(side, .srgb))
      #expect(channels == (isGray ? 2 : 4))
      #expect(stride(from: 3, to: pixels.bytes.count, by: 4).allSatisfy { pixels.bytes[$0] == 100 })
      #expect(Self.isClose(Self.middles(pixels, colors.count), expected, 3))
    }
  }

  @Test("every orientation is converted and turned", arguments: 1...8)
  func turned(_ orientation: Int) throws {
    let card = Pixels.orientationCard(width: 160, height: 120)
    var expected = card
    for i in 0..<card.width * card.height {
      let pixel = Hand.sRGB(Array(card.bytes[i * 3..<i * 3 + 3]), Hand.p3, Hand.light)
      expected.bytes.replaceSubrange(i * 3..<i * 3 + 3, with: pixel)
    }
    let file = JPEGFile {
      $0.quality = 100
      $0.sampling = (1, 1)
      $0.profile = ICCFile.displayP3
      $0.exif = EXIFBlock { $0.orientation = orientation }
    }.encoded(card.stored(orientation: orientation))
    let (_, pixels, _) = try render(file, Self.asked(80, .srgb))
    #expect(try #require(pixels.channels(3).meanDifference(from: expected.averaged(width: 80, height: 60))) < 3)
  }

  private static let grays: [[UInt8]] = [0, 30, 60, 100, 128, 180, 220, 255].map { [$0] }

  @Test("gray with a gray profile: kept, or given sRGB's curve; gray it stays", arguments: [8, 16])
  func gray(_ depth: Int) throws {
    let profile = ICCFile.gray(exponent: 1.4)
    let expected = Self.grays.map { [UInt8](repeating: Hand.sample(pow(Double($0[0]) / 255, 1.4)), count: 3) }
    let asIs = Self.grays.map { [UInt8](repeating: $0[0], count: 3) }
    let rgb = Self.patches(asIs)
    let files =
      depth == 8
      ? [Self.jpeg(Self.grays, profile), PNGFile(.gray(depth: 8)) { $0.profile = profile }.encoded(rgb)]
      : [PNGFile(.gray(depth: 16)) { $0.profile = profile }.encoded(rgb)]
    for file in files {
      for format in OutputFormat.allCases {
        let kept = try render(file, Self.asked(128, .preserve, format))
        #expect(ICCFile.embedded(in: kept.image.bytes) == profile && kept.channels == 1)
        #expect(Self.isClose(Self.middles(kept.pixels, 8), asIs, 2))
        let converted = try render(file, Self.asked(128, .srgb, format))
        #expect(ICCFile.embedded(in: converted.image.bytes) == nil && converted.channels == 1)
        #expect(Self.isClose(Self.middles(converted.pixels, 8), expected, 2))
      }
    }
  }

  // MARK: Inks

  /// Cyan, magenta, yellow and black, 255 for none, as Adobe stores them.
  private static let inks: [[UInt8]] = [
    [255, 255, 255, 255], [0, 255, 255, 255], [255, 0, 255, 255], [255, 255, 0, 255], [255, 255, 255, 0],
  ]

  private static func jpeg(inks: [[UInt8]], _ profile: [UInt8]?, _ change: (inout JPEGFile) -> Void = { _ in })
    -> [UInt8]
  {
    JPEGFile {
      $0.color = .cmyk
      $0.quality = 100
      $0.sampling = (1, 1)
      $0.profile = profile
      change(&$0)
    }.encoded(patches(inks))
  }

  @Test("CMYK is converted through its profile, whatever is asked", arguments: ColorSpace.allCases)
  func inks(_ colorSpace: ColorSpace) throws {
    let (c, m, y) = (ICCFile.inks[0], ICCFile.inks[1], ICCFile.inks[2])
    let expected =
      [[UInt8](repeating: 255, count: 3)] + [c, m, y].map { Hand.sRGB(lightness: $0.0, a: $0.1, b: $0.2) }
      + [Hand.sRGB(lightness: ICCFile.blackInk, a: 0, b: 0)]
    for (name, change) in [
      ("CMYK", { (_: inout JPEGFile) in }), ("YCCK", { $0.color = .ycck }),
      ("without Adobe's marker", { $0.hasAdobeMarker = false }), ("progressive", { $0.isProgressive = true }),
    ] {
      for side in [80, 160] {
        for format in OutputFormat.allCases {
          let (image, pixels, channels) = try render(
            Self.jpeg(inks: Self.inks, ICCFile.cmyk, change), Self.asked(side, colorSpace, format))
          #expect(channels == 3 && image.profileWarning == nil)
          #expect(ICCFile.embedded(in: image.bytes) == nil)
          let middles = Self.middles(pixels, Self.inks.count)
          #expect(Self.isClose(middles, expected, 5), "\(name) \(side): \(middles) for \(expected)")
        }
      }
    }
  }

  @Test("CMYK without a profile, or with one that is no good, is light less ink less black")
  func plainInks() throws {
    let expected: [[UInt8]] = [[255, 255, 255], [0, 255, 255], [255, 0, 255], [255, 255, 0], [0, 0, 0]]
    for (profile, isBad) in [(nil, false), (ICCFile.displayP3, true), (Array("no profile".utf8), true)] {
      let (image, pixels, _) = try render(Self.jpeg(inks: Self.inks, profile), Self.asked(80, .preserve))
      #expect(Self.isClose(Self.middles(pixels, 5), expected, 4))
      #expect((image.profileWarning != nil) == isBad)
      #expect(ICCFile.embedded(in: image.bytes) == nil)
    }
  }

  @Test("inks are resampled as colours are", arguments: [(60, 40), (97, 65), (150, 100), (300, 200)])
  func resampledInks(_ width: Int, _ height: Int) throws {
    let scene = Scene(seed: 5, grain: 8).pixels(width: 300, height: 200)
    let pictures = try [JPEGFile.Color.rgb, .cmyk].map { color in
      try render(JPEGFile { $0.color = color }.encoded(scene), request(width, height)).pixels
    }
    let difference = zip(pictures[0].bytes, pictures[1].bytes).map { abs(Int($0) - Int($1)) }.max()
    #expect(pictures[0].width == width && (difference ?? 255) <= 1)
  }

  // MARK: Profiles that are no good

  struct BadProfile: CustomTestStringConvertible {
    let testDescription: String
    let profile: [UInt8]
    var isGray = false
  }

  private static func changed(_ profile: [UInt8], at offset: Int, _ bytes: [UInt8]) -> [UInt8] {
    var profile = profile
    profile.replaceSubrange(offset..<offset + bytes.count, with: bytes)
    return profile
  }

  static let badProfiles = [
    BadProfile(testDescription: "text", profile: Array("this is no profile at all, however long one reads it".utf8)),
    BadProfile(testDescription: "cut off in its tags", profile: Array(ICCFile.displayP3.prefix(200))),
    BadProfile(
      testDescription: "a header and nothing else", profile: Array(ICCFile.displayP3.prefix(128)) + [0, 0, 0, 0]),
    BadProfile(
      testDescription: "more tags than there can be",
      profile: changed(ICCFile.displayP3, at: 128, [255, 255, 255, 255])),
    BadProfile(
      testDescription: "a link between devices", profile: changed(ICCFile.displayP3, at: 12, Array("link".utf8))),
    BadProfile(testDescription: "gray beside RGB", profile: ICCFile.gray(exponent: 2.2)),
    BadProfile(testDescription: "CMYK beside RGB", profile: ICCFile.cmyk),
    BadProfile(testDescription: "RGB beside gray", profile: ICCFile.displayP3, isGray: true),
    BadProfile(testDescription: "CMYK beside gray", profile: ICCFile.cmyk, isGray: true),
  ]

  @Test("a profile that is no good is ignored, and the log learns why", arguments: badProfiles, ColorSpace.allCases)
  func ignored(_ bad: BadProfile, _ colorSpace: ColorSpace) throws {
    let colors = bad.isGray ? Self.grays : Self.colors
    let plain = try render(Self.jpeg(colors, nil), Self.asked(160, colorSpace, .jpeg)).image
    let image = try render(Self.jpeg(colors, bad.profile), Self.asked(160, colorSpace, .jpeg)).image
    #expect(image.bytes == plain.bytes)
    #expect(image.profileWarning?.isEmpty == false && plain.profileWarning == nil)
    let rgb = Self.patches(bad.isGray ? Self.grays.map { [$0[0], $0[0], $0[0]] } : Self.colors)
    let compressed = PNGFile(bad.isGray ? .gray(depth: 8) : .rgb(depth: 8)) {
      $0.chunks = [PNGChunk("iCCP", Array("bad\0\0".utf8) + PNGChunks.stored(bad.profile))]
    }.encoded(rgb)
    let png = try render(compressed, Self.asked(160, colorSpace)).image
    #expect(png.profileWarning?.isEmpty == false && ICCFile.embedded(in: png.bytes) == nil)
  }

  @Test(
    "an iCCP chunk that is no zlib stream is ignored", arguments: [[], Array("icc\0\0garbage".utf8), Array("icc".utf8)])
  func damagedChunk(_ content: [UInt8]) throws {
    let file = PNGFile(.rgb(depth: 8)) { $0.chunks = [PNGChunk("iCCP", content)] }.encoded(Self.patches(Self.colors))
    let (image, pixels, _) = try render(file, Self.asked(320, .srgb))
    #expect(image.profileWarning != nil)
    #expect(Self.middles(pixels, Self.colors.count) == Self.colors)
  }

  @Test("a profile in several parts is put together in the order of their numbers")
  func parts() throws {
    let profile = ICCFile.padded(ICCFile.displayP3, by: 2000)
    let thirds = [profile[..<900], profile[900..<1700], profile[1700...]]
    func file(_ parts: [JPEGSegment]) -> [UInt8] {
      JPEGFile {
        $0.leadingSegments = parts
        $0.exif = EXIFBlock { $0.make = "x" }
      }.encoded(Self.patches(Self.colors))
    }
    let three = (0..<3).map { JPEGSegment.profilePart(thirds[$0], $0 + 1, of: 3) }
    for order in [[0, 1, 2], [2, 0, 1], [1, 2, 0]] {
      let image = try render(file(order.map { three[$0] }), Self.asked(160, .preserve, .jpeg)).image
      #expect(ICCFile.embedded(in: image.bytes) == profile)
    }
    for (name, parts) in [
      ("one missing", [three[0], three[2]]), ("one twice", three + [three[1]]),
      ("two counts", [three[0], three[1], JPEGSegment.profilePart(thirds[2], 3, of: 4)]),
      ("a number beyond the count", [three[0], three[1], JPEGSegment.profilePart(thirds[2], 4, of: 3)]),
      ("the number 0", [JPEGSegment.profilePart(profile, 0, of: 0)]),
    ] {
      let image = try render(file(parts), Self.asked(160, .preserve, .jpeg)).image
      #expect(ICCFile.embedded(in: image.bytes) == nil && image.profileWarning != nil, "\(name)")
    }
  }

  @Test("a profile beyond its limit is refused by name, before it is inflated")
  func limit() throws {
    let profile = ICCFile.padded(ICCFile.displayP3, by: 60_000)
    let limits = CodecLimits(profileBytes: 50_000)
    let jpeg = Self.jpeg(Self.colors, profile)
    let png = PNGFile(.rgb(depth: 8)) { $0.profile = profile }.encoded(Self.patches(Self.colors))
    // Inflating stops at the first byte too many.
    for (file, found) in [(jpeg, profile.count), (png, 50_001)] {
      let source = MemoryByteSource(file)
      let header = try ImageHeader.read(from: source, limits: limits)
      #expect(throws: CodecError.limitExceeded("the size of the colour profile", limit: 50_000, found: found)) {
        _ = try Renderer(
          RenderPlanner().plan(header, request(50, 50)), source: source, limits: limits, stop: StopFlag())
      }
    }
  }

  // MARK: Colours by numbers

  struct Numbers: CustomTestStringConvertible {
    let testDescription: String
    let chunks: [PNGChunk]
    var profile: [UInt8]?
    /// What the picture looks like in sRGB; `nil`: it is taken for sRGB as it is.
    let expected: (@Sendable ([UInt8]) -> [UInt8])?
  }

  private static func power(_ exponent: Double, _ matrix: [[Double]] = Hand.same) -> @Sendable ([UInt8]) -> [UInt8] {
    { Hand.sRGB($0, matrix) { pow($0, exponent) } }
  }

  private static let p3: @Sendable ([UInt8]) -> [UInt8] = { Hand.sRGB($0, Hand.p3, Hand.light) }

  private static func damaged(_ chunk: PNGChunk) -> PNGChunk {
    var chunk = chunk
    chunk.isDamaged = true
    return chunk
  }

  static let numbers = [
    Numbers(testDescription: "nothing", chunks: [], expected: nil),
    Numbers(testDescription: "sRGB", chunks: [PNGChunk("sRGB", [0])], expected: nil),
    Numbers(
      testDescription: "sRGB outranks gAMA", chunks: [.gamma(100_000), PNGChunk("sRGB", [0])], expected: nil),
    Numbers(testDescription: "gAMA as sRGB has it", chunks: [.gamma(45_455)], expected: nil),
    Numbers(
      testDescription: "gAMA and cHRM as sRGB has them",
      chunks: [.gamma(45_455), .chromaticities(ICCFile.d65 + ICCFile.sRGBPrimaries)], expected: nil),
    Numbers(testDescription: "linear light", chunks: [.gamma(100_000)], expected: power(1)),
    Numbers(testDescription: "an old Macintosh", chunks: [.gamma(55_556)], expected: power(1.8)),
    Numbers(
      testDescription: "Display P3's primaries",
      chunks: [.chromaticities(ICCFile.d65 + ICCFile.displayP3Primaries)], expected: p3),
    Numbers(
      testDescription: "Adobe RGB by numbers",
      chunks: [.chromaticities(ICCFile.d65 + ICCFile.adobePrimaries), .gamma(45_470)],
      expected: power(2.199_218_75, Hand.adobe)),
    Numbers(
      testDescription: "iCCP outranks sRGB and gAMA", chunks: [PNGChunk("sRGB", [0]), .gamma(100_000)],
      profile: ICCFile.displayP3, expected: p3),
    Numbers(
      testDescription: "cICP outranks iCCP", chunks: [PNGChunk("cICP", [12, 13, 0, 1])], profile: ICCFile.adobeRGB,
      expected: p3),
    Numbers(
      testDescription: "cICP of a video is not understood: the next in rank counts",
      chunks: [PNGChunk("cICP", [9, 16, 0, 1])], profile: ICCFile.displayP3, expected: p3),
    Numbers(
      testDescription: "cICP that is sRGB", chunks: [PNGChunk("cICP", [1, 13, 0, 1]), .gamma(100_000)], expected: nil),
    Numbers(testDescription: "a damaged gAMA", chunks: [damaged(.gamma(100_000))], expected: nil),
    Numbers(testDescription: "an impossible gAMA", chunks: [.gamma(0)], expected: nil),
    Numbers(
      testDescription: "impossible chromaticities", chunks: [.chromaticities([0, 0, 0, 0, 0, 0, 0, 0])], expected: nil),
    Numbers(
      testDescription: "three primaries that are one",
      chunks: [.chromaticities(ICCFile.d65 + [0.3, 0.3, 0.3, 0.3, 0.3, 0.3])], expected: nil),
    Numbers(
      testDescription: "iCCP that is none: the next in rank counts",
      chunks: [PNGChunk("iCCP", Array("icc\0\0garbage".utf8)), .gamma(100_000)], expected: power(1)),
  ]

  @Test("the colours of a PNG: the same to the eye, converted or not", arguments: numbers, [8, 16])
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
      for format in OutputFormat.allCases {
        let kept = try render(file, Self.asked(side, .preserve, format))
        let pixels = Self.middles(kept.pixels, Self.colors.count)
        #expect(Self.isClose(pixels, Self.colors, format == .jpeg ? 5 : 1), "the pixels stay")
        let profile = ICCFile.embedded(in: kept.image.bytes)
        #expect((profile != nil) == (numbers.expected != nil))
        if let profile {
          // Of the pixels as they were: what JPEG does to a dark one is no business of the profile's.
          let seen = Self.colors.compactMap { ICCFile.sRGB(of: $0, in: profile) }
          #expect(Self.isClose(seen, expected, 2), "\(seen) for \(expected)")
        }
      }
    }
  }

  @Test("a gray PNG with a gamma of its own gets a gray profile", arguments: [8, 16])
  func grayByNumbers(_ depth: Int) throws {
    let asIs = Self.grays.map { [UInt8](repeating: $0[0], count: 3) }
    let file = PNGFile(.gray(depth: depth)) { $0.chunks = [.gamma(100_000)] }.encoded(Self.patches(asIs))
    let expected = asIs.map { Hand.sRGB($0, Hand.same) { $0 } }
    let converted = try render(file, Self.asked(128, .srgb))
    #expect(converted.channels == 1 && Self.isClose(Self.middles(converted.pixels, 8), expected, 2))
    for format in OutputFormat.allCases {
      let kept = try render(file, Self.asked(128, .preserve, format))
      let profile = try #require(ICCFile.embedded(in: kept.image.bytes))
      #expect(kept.channels == 1 && Self.isClose(Self.middles(kept.pixels, 8), asIs, 2))
      #expect(Self.isClose(Self.grays.compactMap { ICCFile.sRGB(of: $0, in: profile) }, expected, 2))
    }
  }

  @Test("a profile that is made is the same at any time: its date is not the clock's")
  func deterministic() throws {
    let file = PNGFile(.rgb(depth: 8)) { $0.chunks = [.gamma(100_000)] }.encoded(Self.patches(Self.colors))
    let profile = try #require(ICCFile.embedded(in: try render(file, Self.asked(160, .preserve)).image.bytes))
    #expect(Array(profile[24..<36]) == [0x07, 0xD0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0])
  }

  @Test(
    "a camera's Adobe RGB is known by EXIF's interoperability index",
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
    let expected = camera.isAdobe ? Self.colors.map(Self.power(2.199_218_75, Hand.adobe)) : Self.colors
    let converted = try render(file, Self.asked(160, .srgb))
    #expect(Self.isClose(Self.middles(converted.pixels, Self.colors.count), expected, 5))
    let kept = try render(file, Self.asked(160, .preserve, .jpeg))
    #expect((ICCFile.embedded(in: kept.image.bytes) != nil) == camera.isAdobe)
  }

  // MARK: Frames before the final one

  @Test("a degraded frame has the colours of the final one", arguments: [false, true])
  func degraded(_ isProgressive: Bool) throws {
    let colors = Self.colors.map { color in (0..<8).map { _ in color } }.flatMap { $0 }
    let file = JPEGFile {
      $0.quality = 100
      $0.sampling = (1, 1)
      $0.isProgressive = isProgressive
      $0.profile = ICCFile.displayP3
    }.encoded(Self.patches(colors))
    let source = MemoryByteSource(file)
    let header = try ImageHeader.read(from: source, limits: CodecLimits())
    for colorSpace in ColorSpace.allCases {
      let plan = try #require(RenderPlanner().degradedPlan(header, Self.asked(2560, colorSpace)))
      let image = try #require(
        try Renderer(plan, source: source, limits: CodecLimits(), stop: StopFlag()).resume())
      let pixels = try #require(Pixels.decoded(image.bytes)).pixels
      #expect(ICCFile.embedded(in: image.bytes) == (colorSpace == .preserve ? ICCFile.displayP3 : nil))
      let expected = colorSpace == .preserve ? Self.colors : Self.colors.map(Self.p3)
      let middles = (0..<Self.colors.count).map {
        Array(pixels[pixels.width * (2 * $0 + 1) / (2 * Self.colors.count), pixels.height / 2].prefix(3))
      }
      #expect(Self.isClose(middles, expected, 6), "\(middles)")
    }
  }

  struct Thumbnail: CustomTestStringConvertible {
    let testDescription: String
    let pictureProfile: [UInt8]?
    let thumbnailProfile: [UInt8]?
    let colorSpace: ColorSpace
    /// The picture's bytes are those of the thumbnail, with this profile beside them; `nil`: they are others.
    let sentWith: [[UInt8]]?
    var isConverted = false
  }

  static let thumbnails = [
    Thumbnail(
      testDescription: "no profile", pictureProfile: nil, thumbnailProfile: nil, colorSpace: .preserve, sentWith: []),
    Thumbnail(
      testDescription: "no profile, sRGB asked for", pictureProfile: nil, thumbnailProfile: nil, colorSpace: .srgb,
      sentWith: []),
    Thumbnail(
      testDescription: "the picture's profile is put in", pictureProfile: ICCFile.displayP3, thumbnailProfile: nil,
      colorSpace: .preserve, sentWith: [ICCFile.displayP3]),
    Thumbnail(
      testDescription: "colours that disagree are not sent", pictureProfile: ICCFile.displayP3, thumbnailProfile: nil,
      colorSpace: .srgb, sentWith: nil, isConverted: true),
    Thumbnail(
      testDescription: "sRGB is sRGB", pictureProfile: ICCFile.sRGB, thumbnailProfile: nil, colorSpace: .srgb,
      sentWith: []),
    Thumbnail(
      testDescription: "its own profile stays", pictureProfile: ICCFile.adobeRGB, thumbnailProfile: ICCFile.displayP3,
      colorSpace: .preserve, sentWith: [ICCFile.displayP3]),
    Thumbnail(
      testDescription: "its own profile counts", pictureProfile: ICCFile.adobeRGB, thumbnailProfile: ICCFile.displayP3,
      colorSpace: .srgb, sentWith: nil, isConverted: true),
    Thumbnail(
      testDescription: "its own profile, which is sRGB, is left out", pictureProfile: nil,
      thumbnailProfile: ICCFile.sRGB,
      colorSpace: .srgb, sentWith: nil),
  ]

  @Test("a thumbnail's bytes are sent only where their colours are those asked for", arguments: thumbnails)
  func thumbnail(_ thumbnail: Thumbnail) throws {
    // Not the primaries: clipped to sRGB they are what they were.
    let colors = Array(Self.colors.suffix(5))
    // Of another quality than what is made anew, so that the two can be told apart.
    func patches(_ profile: [UInt8]?, _ exif: EXIFBlock?) -> [UInt8] {
      JPEGFile {
        $0.quality = 93
        $0.sampling = (1, 1)
        $0.profile = profile
        $0.exif = exif
      }.encoded(Self.patches(colors))
    }
    let small = patches(thumbnail.thumbnailProfile, nil)
    let file = patches(thumbnail.pictureProfile, EXIFBlock { $0.thumbnail = small })
    let source = MemoryByteSource(file)
    let limits = CodecLimits()
    let header = try ImageHeader.read(from: source, limits: limits)
    let request = ImageRequest(
      targetSize: .size(PixelSize(width: 160, height: 160)), quality: 100, colorSpace: thumbnail.colorSpace)
    let embedded = try #require(EmbeddedThumbnail.best(for: request, of: header, in: source, limits: limits))
    let image = try #require(
      try embedded.render(for: request, of: header, in: source, limits: limits, stop: StopFlag()))
    let scan = try #require(small.firstRange(of: [0xFF, 0xDB]))
    let isSent = image.bytes.suffix(small.count - scan.lowerBound) == small[scan.lowerBound...]
    #expect(isSent == (thumbnail.sentWith != nil))
    #expect(ICCFile.embedded(in: image.bytes) == thumbnail.sentWith?.first)
    let expected = thumbnail.isConverted ? colors.map(Self.p3) : colors
    let pixels = try #require(Pixels.decoded(image.bytes)).pixels
    #expect(Self.isClose(Self.middles(pixels, 5), expected, 6))
  }

  @Test("a transform that was made before gives the same picture; one that does not fit is not kept")
  func kept() throws {
    let file = Self.jpeg(Self.colors, ICCFile.displayP3)
    let source = MemoryByteSource(file)
    let header = try ImageHeader.read(from: source, limits: CodecLimits())
    let plan = RenderPlanner().plan(header, Self.asked(160, .srgb, .jpeg))
    let other = PNGFile(.rgb(depth: 8)) { $0.profile = ICCFile.adobeRGB }.encoded(Self.patches(Self.colors))
    for capacity in [0, 200_000, 1 << 20] {
      let transforms = ColorTransforms(capacityBytes: capacity)
      func bytes() throws -> [UInt8]? {
        try Renderer(plan, source: source, transforms: transforms, limits: CodecLimits(), stop: StopFlag()).resume()?
          .bytes
      }
      let first = try bytes()
      #expect(try bytes() == first)
      let otherHeader = try ImageHeader.read(from: MemoryByteSource(other), limits: CodecLimits())
      _ = try Renderer(
        RenderPlanner().plan(otherHeader, Self.asked(160, .srgb, .jpeg)), source: MemoryByteSource(other),
        transforms: transforms, limits: CodecLimits(), stop: StopFlag()
      ).resume()
      #expect(try bytes() == first)
      #expect(transforms.bytesInUse <= capacity)
    }
  }
}

extension RenderedImage {
  /// Why an embedded profile was ignored.
  fileprivate var profileWarning: String? { warnings.first { $0.library == "lcms2" }?.first }
}
