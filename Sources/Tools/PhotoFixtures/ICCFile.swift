import CPhotoFixtures

#if canImport(Glibc)
  import Glibc
#endif

/// ICC profiles that Little CMS generates from numbers.
package enum ICCFile {
  package static let d65 = [0.3127, 0.3290]
  package static let sRGBPrimaries = [0.64, 0.33, 0.30, 0.60, 0.15, 0.06]
  package static let displayP3Primaries = [0.680, 0.320, 0.265, 0.690, 0.150, 0.060]
  package static let adobePrimaries = [0.64, 0.33, 0.21, 0.71, 0.15, 0.06]

  package static let displayP3 = rgb(displayP3Primaries)
  package static let sRGB = rgb(sRGBPrimaries)
  package static let adobeRGB = rgb(adobePrimaries, exponent: 2.199_218_75)

  /// - Parameters:
  ///   - primaries: x and y of red, green and blue; white is D65.
  ///   - exponent: the exponent of the curve; 0 means the curve of sRGB.
  package static func rgb(_ primaries: [Double], exponent: Double = 0, version: Double = 4.3) -> [UInt8] {
    bytes { fixture_rgb_profile(d65, primaries, exponent, version, &$0) }
  }

  /// A profile of sRGB's primaries that has a table for one intent beside a curve of another exponent.
  package static func table(exponent: Double, besideCurve other: Double) -> [UInt8] {
    bytes { fixture_table_profile(d65, sRGBPrimaries, other, exponent, &$0) }
  }

  package static func gray(exponent: Double) -> [UInt8] { bytes { fixture_gray_profile(exponent, &$0) } }

  /// L*a*b* of the inks of ``cmyk``.
  package static let inks = [(60.0, -28.0, -30.0), (52.0, 50.0, -5.0), (90.0, -5.0, 60.0)]
  package static let blackInk = 12.0

  package static let cmyk = bytes { fixture_cmyk_profile(inks.flatMap { [$0.0, $0.1, $0.2] } + [blackInk], &$0) }

  /// The profile extended by `count` bytes that no tag refers to.
  package static func padded(_ profile: [UInt8], by count: Int) -> [UInt8] {
    var longer = profile + (0..<count).map { UInt8(truncatingIfNeeded: $0 * 7) }
    for i in 0..<4 { longer[i] = UInt8(truncatingIfNeeded: longer.count >> (24 - 8 * i)) }
    return longer
  }

  /// The profile in a JPEG or a PNG.
  package static func embedded(in file: [UInt8]) -> [UInt8]? {
    var length = 0
    guard let memory = fixture_profile_in(file, file.count, &length) else { return nil }
    defer { free(memory) }
    return Array(UnsafeBufferPointer(start: memory, count: length))
  }

  /// Converts one pixel from a profile to sRGB; one channel is gray.
  package static func sRGB(of pixel: [UInt8], in profile: [UInt8]) -> [UInt8]? {
    var rgb: [UInt8] = [0, 0, 0]
    return fixture_to_srgb(profile, profile.count, Int32(pixel.count), pixel, &rgb, 1) ? rgb : nil
  }

  private static func bytes(_ make: (inout Int) -> UnsafeMutablePointer<UInt8>?) -> [UInt8] {
    var length = 0
    guard let memory = make(&length) else { fatalError("Little CMS refused to make a profile") }
    defer { free(memory) }
    return Array(UnsafeBufferPointer(start: memory, count: length))
  }
}
