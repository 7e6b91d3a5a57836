import CLCMS2

/// A conversion to sRGB by Little CMS: relative colorimetric with black point compensation. This is the usual
/// conversion for photographs, and exact for the profiles of screens and cameras.
final class ICCTransform: RowTransform, @unchecked Sendable {
  // Because: made without the one-pixel cache, which is the only state that a transform changes during use.
  private let handle: cmsHTRANSFORM
  private let context: LCMSContext
  let source: RowFormat

  /// Reads everything it needs from the profile, which may be released afterwards.
  init(_ profile: ICCProfile, _ source: RowFormat) throws(ProfileError) {
    let context = profile.context
    let sRGB = try ICCProfile.sRGB(source.model, context)
    let output = RowFormat(
      model: source.model == .gray ? .gray : .rgb, hasAlpha: source.hasAlpha, bitsPerChannel: source.outputBits)
    // For 16 bits, Little CMS would make a table of colours, which is exact to about 8; for gray one of 33 points, too
    // few for dark samples.
    let exactness = source.outputBits == 16 || source.model == .gray ? cmsFLAGS_NOOPTIMIZE : 0
    let flags = cmsFLAGS_NOCACHE | cmsFLAGS_BLACKPOINTCOMPENSATION | cmsFLAGS_COPY_ALPHA | exactness
    guard
      let handle = cmsCreateTransformTHR(
        context.pointer, profile.handle, source.littleCMS, sRGB.handle, output.littleCMS,
        cmsUInt32Number(INTENT_RELATIVE_COLORIMETRIC), cmsUInt32Number(flags))
    else { throw context.error("a profile that can't be used") }
    self.handle = handle
    self.context = context
    self.source = source
  }

  deinit { cmsDeleteTransform(handle) }

  func convert(_ from: UnsafeRawPointer, to: UnsafeMutableRawPointer, pixels: Int) {
    cmsDoTransform(handle, from, to, cmsUInt32Number(pixels))
  }

  /// Whether no colour changes by more than one step of 8 bits: the profile is then equivalent to sRGB. Some 700
  /// colours are tested.
  var isIdentity: Bool {
    let count = source.model == .gray ? 256 : 9 * 9 * 9
    guard source.model != .cmyk else { return false }
    let colors = source.colorChannels
    for i in 0..<count {
      let sample: [Int] = source.model == .gray ? [i] : [i % 9, i / 9 % 9, i / 81].map { min($0 * 32, 255) }
      let isClose = withUnsafeTemporaryAllocation(of: UInt16.self, capacity: 4) { pixel in
        withUnsafeTemporaryAllocation(of: UInt16.self, capacity: 4) { result in
          pixel.initialize(repeating: 0xFFFF)
          result.initialize(repeating: 0xFFFF)
          for c in 0..<colors {
            if source.bitsPerChannel == 16 {
              pixel[c] = UInt16(sample[c] * 257)
            } else {
              UnsafeMutableRawBufferPointer(pixel)[c] = UInt8(sample[c])
            }
          }
          guard let from = pixel.baseAddress, let to = result.baseAddress else { return false }
          convert(from, to: to, pixels: 1)
          return (0..<colors).allSatisfy { c in
            let found =
              source.outputBits == 16
              ? Double(result[c]) / 257 : Double(UnsafeRawBufferPointer(result)[c])
            return abs(found - Double(sample[c])) <= 1
          }
        }
      }
      if !isClose { return false }
    }
    return true
  }
}

extension RowFormat {
  /// The format in Little CMS's encoding (lcms2.h, "Pixel types"), whose macros are not visible in Swift.
  fileprivate var littleCMS: cmsUInt32Number {
    let (space, isInverted): (Int32, Bool) =
      switch model {
      case .gray: (PT_GRAY, false)
      case .rgb: (PT_RGB, false)
      case .cmyk: (PT_CMYK, true)
      }
    return cmsUInt32Number(space) << 16 | (isInverted ? 1 << 13 : 0) | (hasAlpha ? 1 << 7 : 0)
      | cmsUInt32Number(colorChannels) << 3 | cmsUInt32Number(bitsPerChannel / 8)
  }
}
