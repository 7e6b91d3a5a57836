import Foundation
import ImageCodec
import ImageRender
import PhotoFixtures
import PhotoModel
import Testing

/// CMYK and YCCK pictures.
extension ColorTests {
  /// Cyan, magenta, yellow and black; 255 for no ink, as Adobe stores them.
  static let inks: [[UInt8]] = [
    [255, 255, 255, 255], [0, 255, 255, 255], [255, 0, 255, 255], [255, 255, 0, 255], [255, 255, 255, 0],
  ]

  static func jpeg(inks: [[UInt8]], _ profile: [UInt8]?, _ change: (inout JPEGFile) -> Void = { _ in })
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

  @Test("CMYK is always converted, through its profile", arguments: ColorSpace.allCases)
  func inks(_ colorSpace: ColorSpace) throws {
    let (c, m, y) = (ICCFile.inks[0], ICCFile.inks[1], ICCFile.inks[2])
    let expected =
      [[UInt8](repeating: 255, count: 3)] + [c, m, y].map { ReferenceColor.sRGB(lightness: $0.0, a: $0.1, b: $0.2) }
      + [ReferenceColor.sRGB(lightness: ICCFile.blackInk, a: 0, b: 0)]
    for (name, change) in [
      ("CMYK", { (_: inout JPEGFile) in }), ("YCCK", { $0.color = .ycck }),
      ("without Adobe's marker", { $0.hasAdobeMarker = false }), ("progressive", { $0.isProgressive = true }),
    ] {
      for side in [80, 160] {
        for format in [OutputFormat.jpeg, .png] {
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

  @Test("CMYK without a usable profile is computed as light minus ink minus black")
  func plainInks() throws {
    let expected: [[UInt8]] = [[255, 255, 255], [0, 255, 255], [255, 0, 255], [255, 255, 0], [0, 0, 0]]
    for (profile, isBad) in [(nil, false), (ICCFile.displayP3, true), (Array("no profile".utf8), true)] {
      let (image, pixels, _) = try render(Self.jpeg(inks: Self.inks, profile), Self.asked(80, .preserve))
      #expect(Self.isClose(Self.middles(pixels, 5), expected, 4))
      #expect((image.profileWarning != nil) == isBad)
      #expect(ICCFile.embedded(in: image.bytes) == nil)
    }
  }

  @Test("CMYK is resampled like RGB", arguments: [(60, 40), (97, 65), (150, 100), (300, 200)])
  func resampledInks(_ width: Int, _ height: Int) throws {
    let scene = Scene(seed: 5, grain: 8).pixels(width: 300, height: 200)
    let pictures = try [JPEGFile.Color.rgb, .cmyk].map { color in
      try render(JPEGFile { $0.color = color }.encoded(scene), request(width, height)).pixels
    }
    let difference = zip(pictures[0].bytes, pictures[1].bytes).map { abs(Int($0) - Int($1)) }.max()
    #expect(pictures[0].width == width && (difference ?? 255) <= 1)
  }
}
