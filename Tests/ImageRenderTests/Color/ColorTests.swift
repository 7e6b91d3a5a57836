import Foundation
import ImageCodec
import ImageRender
import PhotoFixtures
import PhotoModel
import Testing

@Suite("Colours")
struct ColorTests {
  /// Flat patches side by side, 32 pixels each: filters and chroma sampling do not reach the middle of a patch.
  static func patches(_ colors: [[UInt8]], alpha: UInt8? = nil) -> Pixels {
    var picture = Pixels(
      width: colors.count * 32, height: 32, channels: (colors.first?.count ?? 3) + (alpha == nil ? 0 : 1))
    picture.bytes = (0..<32).flatMap { _ in
      colors.flatMap { color in (0..<32).flatMap { _ in color + (alpha.map { [$0] } ?? []) } }
    }
    return picture
  }

  static func middles(_ pixels: Pixels, _ count: Int) -> [[UInt8]] {
    let side = pixels.width / count
    return (0..<count).map { Array(pixels[$0 * side + side / 2, side / 2].prefix(3)) }
  }

  static func isClose(_ a: [[UInt8]], _ b: [[UInt8]], _ tolerance: Int) -> Bool {
    zip(a, b).allSatisfy { zip($0, $1).allSatisfy { abs(Int($0) - Int($1)) <= tolerance } } && a.count == b.count
  }

  /// Saturated and unsaturated colours, inside and outside sRGB.
  static let colors: [[UInt8]] = [
    [255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 255, 255], [0, 0, 0], [200, 100, 50], [60, 140, 90], [40, 50, 160],
    [128, 128, 128], [250, 220, 210],
  ]

  static func asked(_ side: Int, _ colorSpace: ColorSpace, _ format: OutputFormat = .png) -> ImageRequest {
    ImageRequest(
      targetSize: .size(PixelSize(width: side, height: side)), format: format, quality: 100, colorSpace: colorSpace)
  }

  static func jpeg(_ colors: [[UInt8]], _ profile: [UInt8]?) -> [UInt8] {
    JPEGFile {
      $0.quality = 100
      $0.sampling = (1, 1)
      $0.profile = profile
      if colors.first?.count == 1 { $0.color = .gray }
    }.encoded(patches(colors))
  }

  @Test(
    "an embedded profile is copied byte for byte and the pixels keep their values",
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
    /// JPEG adds its own rounding, and in linear light one step equals thirteen of sRGB's darkest steps.
    var jpegTolerance = 5
  }

  static let conversions = [
    Conversion(
      testDescription: "Display P3", profile: ICCFile.displayP3,
      expected: colors.map { ReferenceColor.sRGB($0, ReferenceColor.p3, ReferenceColor.light) }),
    Conversion(
      testDescription: "Display P3 in version 2", profile: ICCFile.rgb(ICCFile.displayP3Primaries, version: 2.1),
      expected: colors.map { ReferenceColor.sRGB($0, ReferenceColor.p3, ReferenceColor.light) }),
    Conversion(
      testDescription: "Adobe RGB", profile: ICCFile.adobeRGB,
      expected: colors.map { ReferenceColor.sRGB($0, ReferenceColor.adobe) { pow($0, 2.199_218_75) } }),
    Conversion(
      testDescription: "linear light", profile: ICCFile.rgb(ICCFile.sRGBPrimaries, exponent: 1),
      expected: colors.map { ReferenceColor.sRGB($0, ReferenceColor.same) { $0 } }, jpegTolerance: 14),
    Conversion(testDescription: "sRGB", profile: ICCFile.sRGB, expected: colors),
    Conversion(
      testDescription: "sRGB in version 2", profile: ICCFile.rgb(ICCFile.sRGBPrimaries, version: 2.1), expected: colors),
  ]

  @Test(
    "colorSpace=srgb converts the pixels and embeds no profile", arguments: conversions, [OutputFormat.jpeg, .png])
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

  @Test("a picture that is sRGB, or nearly, gives the same file as without a profile")
  func identity() throws {
    // A conversion would change this picture's colours, if only by one step.
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
    "converting colours keeps alpha",
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

  @Test("converted pictures are upright in every orientation", arguments: 1...8)
  func turned(_ orientation: Int) throws {
    let card = Pixels.orientationCard(width: 160, height: 120)
    var expected = card
    for i in 0..<card.width * card.height {
      let pixel = ReferenceColor.sRGB(Array(card.bytes[i * 3..<i * 3 + 3]), ReferenceColor.p3, ReferenceColor.light)
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

  static let grays: [[UInt8]] = [0, 30, 60, 100, 128, 180, 220, 255].map { [$0] }

  @Test("a gray picture stays gray: with its profile, or converted to sRGB's curve", arguments: [8, 16])
  func gray(_ depth: Int) throws {
    let profile = ICCFile.gray(exponent: 1.4)
    let expected = Self.grays.map { [UInt8](repeating: ReferenceColor.sample(pow(Double($0[0]) / 255, 1.4)), count: 3) }
    let asIs = Self.grays.map { [UInt8](repeating: $0[0], count: 3) }
    let rgb = Self.patches(asIs)
    let files =
      depth == 8
      ? [Self.jpeg(Self.grays, profile), PNGFile(.gray(depth: 8)) { $0.profile = profile }.encoded(rgb)]
      : [PNGFile(.gray(depth: 16)) { $0.profile = profile }.encoded(rgb)]
    for file in files {
      for format in [OutputFormat.jpeg, .png] {
        let kept = try render(file, Self.asked(128, .preserve, format))
        #expect(ICCFile.embedded(in: kept.image.bytes) == profile && kept.channels == 1)
        #expect(Self.isClose(Self.middles(kept.pixels, 8), asIs, 2))
        let converted = try render(file, Self.asked(128, .srgb, format))
        #expect(ICCFile.embedded(in: converted.image.bytes) == nil && converted.channels == 1)
        #expect(Self.isClose(Self.middles(converted.pixels, 8), expected, 2))
      }
    }
  }
}
