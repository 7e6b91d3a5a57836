import CLCMS2
import ImageCodec

/// A profile opened in Little CMS. Use it on one thread only.
final class ICCProfile {
  let context: LCMSContext
  let handle: cmsHPROFILE

  private init(_ handle: cmsHPROFILE?, _ context: LCMSContext, or otherwise: String) throws(ProfileError) {
    guard let handle else { throw context.error(otherwise) }
    self.handle = handle
    self.context = context
  }

  /// Opens a profile and checks that it can describe pixels of a model: it has their colour space, it is the profile of
  /// a device or a colour space (ICC.1 §7.2.5), and it has the tags that map their numbers to colours (§8.3 to §8.5).
  convenience init(_ bytes: [UInt8], for model: RowFormat.Model, _ context: LCMSContext) throws(ProfileError) {
    try self.init(
      cmsOpenProfileFromMemTHR(context.pointer, bytes, cmsUInt32Number(bytes.count)), context, or: "not an ICC profile")
    let space = cmsGetColorSpace(handle)
    guard space == model.signature else {
      throw ProfileError(reason: "a profile for \(Self.text(space.rawValue)) in a picture with \(model.name) pixels")
    }
    let kinds = [cmsSigInputClass, cmsSigDisplayClass, cmsSigOutputClass, cmsSigColorSpaceClass]
    guard kinds.contains(cmsGetDeviceClass(handle)) else {
      throw ProfileError(reason: "a profile of class \(Self.text(cmsGetDeviceClass(handle).rawValue))")
    }
    guard hasTables || cmsIsMatrixShaper(handle) != 0 else {
      throw ProfileError(reason: "a profile without tables or curves that define its colours")
    }
  }

  /// Whether the profile defines its colours by tables (AToB), for at least one intent.
  var hasTables: Bool { (0..<3).contains { cmsIsCLUT(handle, $0, cmsUInt32Number(LCMS_USED_AS_INPUT)) != 0 } }

  /// sRGB, or for gray only its curve.
  static func sRGB(_ model: RowFormat.Model, _ context: LCMSContext) throws(ProfileError) -> ICCProfile {
    if model != .gray {
      return try ICCProfile(cmsCreate_sRGBProfileTHR(context.pointer), context, or: "no sRGB profile")
    }
    return try ICCProfile(ColorCalibration(transfer: .sRGB, primaries: .bt709), for: .gray, context)
  }

  /// A profile equivalent to a calibration.
  convenience init(
    _ calibration: ColorCalibration, for model: RowFormat.Model, _ context: LCMSContext
  ) throws(ProfileError) {
    func xyY(_ point: ColorCalibration.Point) -> cmsCIExyY { cmsCIExyY(x: point.x, y: point.y, Y: 1) }
    let curve: OpaquePointer? =
      switch calibration.transfer {
      case .power(let exponent): cmsBuildGamma(context.pointer, exponent)
      // IEC 61966-2-1: ((v + 0.055) / 1.055)^2.4 from 0.04045 on, below it v / 12.92.
      case .sRGB: cmsBuildParametricToneCurve(context.pointer, 4, [2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045])
      case .perceptualQuantizer, .hybridLogGamma:
        HDRToneCurve.curve(calibration.transfer).flatMap {
          cmsBuildTabulatedToneCurve16(context.pointer, cmsUInt32Number($0.count), $0)
        }
      }
    guard let curve else { throw context.error("an unusable curve") }
    defer { cmsFreeToneCurve(curve) }
    let primaries = calibration.primaries
    var white = xyY(primaries.white)
    if model == .gray {
      try self.init(cmsCreateGrayProfileTHR(context.pointer, &white, curve), context, or: "an unusable gray profile")
    } else {
      var corners = cmsCIExyYTRIPLE(Red: xyY(primaries.red), Green: xyY(primaries.green), Blue: xyY(primaries.blue))
      let curves: [OpaquePointer?] = [curve, curve, curve]
      try self.init(
        cmsCreateRGBProfileTHR(context.pointer, &white, &corners, curves), context, or: "unusable primaries")
    }
    // The version that even very old readers support.
    cmsSetProfileVersion(handle, 2.1)
  }

  deinit { cmsCloseProfile(handle) }

  /// The profile as a file. Equal profiles give equal bytes, whenever they are encoded.
  func encoded() throws(ProfileError) -> [UInt8] {
    var count: cmsUInt32Number = 0
    guard cmsSaveProfileToMem(handle, nil, &count) != 0 else { throw context.error("can't be written") }
    var bytes = [UInt8](repeating: 0, count: Int(count))
    guard cmsSaveProfileToMem(handle, &bytes, &count) != 0 else { throw context.error("can't be written") }
    // ICC.1 §7.2.8: the date of creation, six numbers of 16 bits. Little CMS writes the current time, so replace it
    // with a constant.
    let date: [UInt8] = [0x07, 0xD0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0]
    bytes.replaceSubrange(24..<36, with: date)
    return bytes
  }

  private static func text(_ signature: UInt32) -> String {
    let bytes = (0..<4).map { UInt8(truncatingIfNeeded: signature >> (24 - 8 * $0)) }
    return String(decoding: bytes.map { (32..<127).contains($0) ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
  }
}

extension RowFormat.Model {
  fileprivate var signature: cmsColorSpaceSignature {
    switch self {
    case .gray: cmsSigGrayData
    case .rgb: cmsSigRgbData
    case .cmyk: cmsSigCmykData
    }
  }

  fileprivate var name: String {
    switch self {
    case .gray: "GRAY"
    case .rgb: "RGB"
    case .cmyk: "CMYK"
    }
  }
}
