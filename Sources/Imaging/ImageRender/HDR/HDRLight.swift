// How the samples of a picture become light for a frame of high dynamic range:
//
//     sample -> curve -> light of the picture's primaries -> gain, if there is a map -> BT.2020 -> cd/m² -> PQ
//
// The white of a picture of standard range is at 203 cd/m² (ITU-R BT.2408). PQ samples state their light in cd/m². HLG
// is converted as for a display of 1,000 cd/m².

import ImageCodec
import PhotoModel

/// The light of a picture's samples.
struct HDRLight: Sendable {
  /// The meaning of light 1 after the curve.
  enum Scale: Sendable, Hashable {
    /// The white of a picture of standard range.
    case white
    /// 10,000 cd/m².
    case absolute
    /// The brightest light of an HLG scene.
    case scene
  }

  /// For red, green and blue: light of samples 0...65535. Gray has the same three times.
  let curves: [InterpolationTable]
  /// From light of the picture's primaries to light of BT.2020's: three rows.
  let matrix: [Float]
  let scale: Scale
  /// Whether the light after the curve is in the primaries that the picture was stored with. Gains for red, green and
  /// blue apply only to those.
  let hasOwnPrimaries: Bool
  /// The gains of a frame whose picture has a gain map.
  var gains: GainField?

  /// The factor from light in ``scale`` to shares of 10,000 cd/m²; for a scene, without its system gamma.
  var unit: Float {
    switch scale {
    case .white: Float(BT2100.white / BT2100.pqPeak)
    case .absolute: 1
    case .scene: Float(BT2100.hlgPeak / BT2100.pqPeak)
    }
  }

  /// - Parameter curves: for each colour channel, or one for all; light 0...1 of samples 0...1.
  private init(_ curves: [(Double) -> Double], _ matrix: [Double], _ scale: Scale, hasOwnPrimaries: Bool) {
    let tables = curves.map { InterpolationTable($0) }
    self.curves = tables.count == 3 ? tables : Array(repeating: tables[0], count: 3)
    self.matrix = matrix.map { Float($0) }
    self.scale = scale
    self.hasOwnPrimaries = hasOwnPrimaries
  }

  // MARK: Sources

  /// How a picture's rows become light; they are converted first if only a table describes their colours. Never fails:
  /// an unusable profile is ignored, with a warning.
  ///
  /// - Parameters:
  ///   - isCoded: whether the samples themselves have high dynamic range.
  ///   - rows: of the plan, before the conversion.
  static func outputColor(
    of color: SourceColor, isCoded: Bool, _ rows: RowFormat, _ transforms: ColorTransforms
  ) -> OutputColor {
    var output = OutputColor(warning: color.warning)
    do throws(ProfileError) {
      if isCoded, let calibration = color.calibration {
        output.hdrLight = try HDRLight(coded: calibration)
      } else if let bytes = color.profile {
        let profile = try ICCProfile(bytes, for: rows.model, LCMSContext())
        output.hdrLight = try HDRLight(profile)
        if output.hdrLight == nil {
          output = transforms.outputColor(of: color, rows, as: .srgb)
          output.profile = nil
          output.hdrLight = try sRGB(hasOwnPrimaries: false)
        }
      } else if let calibration = color.calibration {
        output.hdrLight = try HDRLight(ICCProfile(calibration, for: rows.model, LCMSContext()))
      }
    } catch {
      output = OutputColor(warning: color.warning ?? error.reason)
    }
    if output.hdrLight == nil { output.hdrLight = plain }
    return output
  }

  /// For pictures without a description of their colours.
  private static let plain: HDRLight = {
    do throws(ProfileError) {
      return try sRGB(hasOwnPrimaries: true)
    } catch {
      preconditionFailure("sRGB can't be described: \(error.reason)")
    }
  }()

  private static func sRGB(hasOwnPrimaries: Bool) throws(ProfileError) -> HDRLight {
    HDRLight(
      [ToneFunctions.decode], try matrix(colorants(.bt709)), .white, hasOwnPrimaries: hasOwnPrimaries)
  }

  /// A picture in PQ or HLG.
  private init(coded calibration: ColorCalibration) throws(ProfileError) {
    let isHLG = calibration.transfer == .hybridLogGamma
    let curve: (Double) -> Double =
      isHLG ? { BT2100.sceneLight(hlg: $0) } : { BT2100.luminance(pq: $0) / BT2100.pqPeak }
    self.init(
      [curve], try Self.matrix(Self.colorants(calibration.primaries)), isHLG ? .scene : .absolute, hasOwnPrimaries: true
    )
  }

  /// `nil` for a profile that has tables of colours, even if it also has curves and primaries.
  private init?(_ profile: ICCProfile) throws(ProfileError) {
    // ICC.1 §8.10: a table precedes curves and primaries, and serves intents that have none.
    guard !profile.hasTables else { return nil }
    let curves = LinearLight.curves(profile)
    guard !curves.isEmpty else { return nil }
    if curves.count == 1 {
      self.init(curves, [1, 0, 0, 0, 1, 0, 0, 0, 1], .white, hasOwnPrimaries: true)
      return
    }
    guard let colorants = profile.colorants else { return nil }
    self.init(curves, try Self.matrix(colorants), .white, hasOwnPrimaries: true)
  }

  // MARK: Primaries

  private static func colorants(_ primaries: ColorCalibration.Primaries) throws(ProfileError) -> [Double] {
    let profile = try ICCProfile(ColorCalibration(transfer: .power(1), primaries: primaries), for: .rgb, LCMSContext())
    guard let colorants = profile.colorants else { throw ProfileError(reason: "unusable primaries") }
    return colorants
  }

  /// From light of these colorants to light of BT.2020. Both are relative to the white of profiles.
  private static func matrix(_ colorants: [Double]) throws(ProfileError) -> [Double] {
    try ColorMatrix.from(colorants, to: self.colorants(.bt2020))
  }
}
