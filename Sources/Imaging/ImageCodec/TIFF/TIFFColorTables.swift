import Foundation

/// Turns YCbCr of 8 bits into RGB (TIFF 6.0 §21).
struct TIFFYCbCrTables {
  private let across: Int
  private let down: Int
  var isSubsampled: Bool { across > 1 || down > 1 }
  /// The contribution of each code to a colour, in 65536ths. All are within ±8000, so that no sum overflows.
  private let luma: [Int32]
  private let red: [Int32]
  private let blue: [Int32]
  private let greenOfBlue: [Int32]
  private let greenOfRed: [Int32]

  init(_ chroma: TIFFYCbCr) {
    (across, down) = (chroma.across, chroma.down)
    func table(_ i: Int, range: Double, _ factor: Double) -> [Int32] {
      (0..<256).map { code in
        let value = (Double(code) - chroma.black[i]) * range / (chroma.white[i] - chroma.black[i]) * factor
        return Int32(max(-8000, min(8000, value)) * 65536)
      }
    }
    let (ofRed, ofBlue) = (2 - 2 * chroma.red, 2 - 2 * chroma.blue)
    luma = table(0, range: 255, 1)
    blue = table(1, range: 127, ofBlue)
    red = table(2, range: 127, ofRed)
    greenOfBlue = table(1, range: 127, -chroma.blue * ofBlue / chroma.green)
    greenOfRed = table(2, range: 127, -chroma.red * ofRed / chroma.green)
  }

  /// - Parameters:
  ///   - samples: the first luma and chroma samples of the row.
  ///   - step: from one sample to the next.
  func convert(
    _ samples: [UnsafeRawPointer], step: Int, _ columns: Range<Int>, into space: UnsafeMutableRawPointer
  ) {
    var pixels = space.assumingMemoryBound(to: UInt8.self)
    for x in columns {
      let place = x * step
      put(
        samples[0].load(fromByteOffset: place, as: UInt8.self), samples[1].load(fromByteOffset: place, as: UInt8.self),
        samples[2].load(fromByteOffset: place, as: UInt8.self), pixels)
      pixels += 3
    }
  }

  /// Converts subsampled chroma: each unit has its luma samples row by row, then the two chroma samples.
  ///
  /// - Parameter y: the row in the units.
  func convertUnits(_ units: UnsafeRawPointer, y: Int, _ columns: Range<Int>, into space: UnsafeMutableRawPointer) {
    let unitBytes = across * down + 2
    let samples = units.assumingMemoryBound(to: UInt8.self)
    var pixels = space.assumingMemoryBound(to: UInt8.self)
    for x in columns {
      let unit = samples + x / across * unitBytes
      put(unit[y * across + x % across], unit[unitBytes - 2], unit[unitBytes - 1], pixels)
      pixels += 3
    }
  }

  private func put(_ y: UInt8, _ cb: UInt8, _ cr: UInt8, _ pixel: UnsafeMutablePointer<UInt8>) {
    let luma = luma[Int(y)] + 32768
    pixel[0] = Self.clamped(luma + red[Int(cr)])
    pixel[1] = Self.clamped(luma + greenOfBlue[Int(cb)] + greenOfRed[Int(cr)])
    pixel[2] = Self.clamped(luma + blue[Int(cb)])
  }

  private static func clamped(_ value: Int32) -> UInt8 { UInt8(max(0, min(255, value >> 16))) }
}

/// Turns CIE L*a*b* of D50 into sRGB.
struct TIFFLabTables {
  private static let last = 16_383
  private let isOffset: Bool
  /// sRGB of light from 0 to 1 (IEC 61966-2-1).
  private let encoded: [UInt8]

  init(isOffset: Bool) {
    self.isOffset = isOffset
    encoded = (0...Self.last).map { i in
      let light = Double(i) / Double(Self.last)
      let value = light <= 0.003_130_8 ? light * 12.92 : 1.055 * pow(light, 1 / 2.4) - 0.055
      return UInt8((value * 255).rounded())
    }
  }

  /// §23: L* is 0...255, a* and b* are signed; with an offset they have 128 for 0.
  ///
  /// - Parameters:
  ///   - samples: the first ones of the row.
  ///   - step: from one pixel to the next.
  func convert8(
    _ samples: [UnsafeRawPointer], step: Int, _ columns: Range<Int>, into space: UnsafeMutableRawPointer
  ) {
    func chroma(_ sample: UInt8) -> Float { isOffset ? Float(sample) - 128 : Float(Int8(bitPattern: sample)) }
    var pixels = space.assumingMemoryBound(to: UInt8.self)
    for x in columns {
      let place = x * step
      put(
        Float(samples[0].load(fromByteOffset: place, as: UInt8.self)) * (100 / 255),
        chroma(samples[1].load(fromByteOffset: place, as: UInt8.self)),
        chroma(samples[2].load(fromByteOffset: place, as: UInt8.self)), pixels)
      pixels += 3
    }
  }

  /// The same with 16 bits: L* is 0...65535, or 65280 with an offset; a* and b* have 256 steps for each of 8 bits.
  func convert16(
    _ samples: [UnsafeRawPointer], step: Int, _ columns: Range<Int>, into space: UnsafeMutableRawPointer
  ) {
    func chroma(_ sample: UInt16) -> Float {
      isOffset ? Float(sample) / 256 - 128 : Float(Int16(bitPattern: sample)) / 256
    }
    var pixels = space.assumingMemoryBound(to: UInt8.self)
    for x in columns {
      let place = x * step * 2
      put(
        Float(samples[0].load(fromByteOffset: place, as: UInt16.self)) * (isOffset ? 100 / 65280 : 100 / 65535),
        chroma(samples[1].load(fromByteOffset: place, as: UInt16.self)),
        chroma(samples[2].load(fromByteOffset: place, as: UInt16.self)), pixels)
      pixels += 3
    }
  }

  private func put(_ lightness: Float, _ a: Float, _ b: Float, _ pixel: UnsafeMutablePointer<UInt8>) {
    func light(_ t: Float) -> Float { t > 6 / 29 ? t * t * t : (t - 4 / 29) * (108 / 841) }
    let y = (lightness + 16) / 116
    // D50, and the matrix to sRGB with Bradford's adaptation to D65 (ICC.1 annex E).
    let (ex, ey, ez) = (light(y + a / 500) * 0.9642, light(y), light(y - b / 200) * 0.8249)
    pixel[0] = encode(3.133_856 * ex - 1.616_867 * ey - 0.490_615 * ez)
    pixel[1] = encode(-0.978_768 * ex + 1.916_142 * ey + 0.033_454 * ez)
    pixel[2] = encode(0.071_945 * ex - 0.228_991 * ey + 1.405_243 * ez)
  }

  private func encode(_ light: Float) -> UInt8 {
    encoded[Int(max(0, min(1, light)) * Float(Self.last) + 0.5)]
  }
}
