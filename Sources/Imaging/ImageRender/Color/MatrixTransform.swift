/// A conversion of 16-bit RGB by the curves and the primaries of its profile. Little CMS would convert 16 bits by a
/// table of colours, which is wrong by up to 28 steps of 8 bits for colours at the edge of sRGB; without the table,
/// Little CMS takes ten times as long.
struct MatrixTransform: RowTransform {
  let source: RowFormat
  /// Light of samples, for red, green and blue.
  private let curves: [InterpolationTable]
  /// From light of the profile's primaries to light of sRGB's: three rows.
  private let matrix: [Float]

  /// `nil` for rows of other formats, for a profile with tables of colours, and for one whose black has light, which
  /// would need black point compensation.
  init?(_ profile: ICCProfile, _ source: RowFormat) throws(ProfileError) {
    guard source.model == .rgb, source.bitsPerChannel == 16, !profile.hasTables else { return nil }
    let curves = LinearLight.curves(profile)
    guard curves.count == 3, curves.allSatisfy({ $0(0) < 1e-6 }), let colorants = profile.colorants,
      let others = try ICCProfile.sRGB(.rgb, LCMSContext()).colorants
    else { return nil }
    self.source = source
    self.curves = curves.map { InterpolationTable($0) }
    matrix = try ColorMatrix.from(colorants, to: others).map { Float($0) }
  }

  func convert(_ from: UnsafeRawPointer, to: UnsafeMutableRawPointer, pixels: Int) {
    let samples = from.assumingMemoryBound(to: UInt16.self)
    if source.outputBits == 16 {
      convert(samples, to.assumingMemoryBound(to: UInt16.self), pixels)
    } else {
      convert(samples, to.assumingMemoryBound(to: UInt8.self), pixels)
    }
  }

  private func convert<Output: FixedWidthInteger>(
    _ samples: UnsafePointer<UInt16>, _ outputs: UnsafeMutablePointer<Output>, _ pixels: Int
  ) {
    let (channels, most) = (source.channels, Int(Output.max))
    let (reds, greens, blues) = (curves[0], curves[1], curves[2])
    let (rows, encoding) = (matrix, LinearLight.sRGB)
    let scale = Float(most) / 255
    for x in 0..<pixels {
      let at = x * channels
      let red = reds[Float(samples[at])]
      let green = greens[Float(samples[at + 1])]
      let blue = blues[Float(samples[at + 2])]
      for c in 0..<3 {
        let light = rows[3 * c] * red + rows[3 * c + 1] * green + rows[3 * c + 2] * blue
        let value = encoding.stored(light * 255, channel: 0)
        outputs[at + c] = Output(truncatingIfNeeded: Int(value * scale + 0.5))
      }
      if source.hasAlpha {
        outputs[at + 3] = Output(truncatingIfNeeded: (Int(samples[at + 3]) * most + 32767) / 65535)
      }
    }
  }
}
