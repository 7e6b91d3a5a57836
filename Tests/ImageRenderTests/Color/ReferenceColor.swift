import Foundation

/// Reference colours: the standards' formulas in double precision, without Little CMS.
enum ReferenceColor {
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
  /// Linear BT.2020 to linear sRGB (ITU-R BT.2087-0, annex 2).
  static let bt2020: [[Double]] = [
    [1.6604910021, -0.5876411388, -0.0728498633], [-0.1245504745, 1.1328998971, -0.0083494226],
    [-0.0181507634, -0.1005788980, 1.1187296614],
  ]
  /// Linear Adobe RGB to linear sRGB.
  static let adobe: [[Double]] = [
    [1.3983557440, -0.3983557440, 0], [0, 1, 0], [0, -0.0429289893, 1.0429289893],
  ]
  /// Linear ProPhoto RGB (ISO 22028-2) to linear sRGB, with Bradford's adaptation from D50 to D65.
  static let proPhoto: [[Double]] = [
    [2.0343675435, -0.7276344742, -0.3067330693], [-0.2288267982, 1.2317533962, -0.0029265980],
    [-0.0085584243, -0.1532682035, 1.1618266279],
  ]
  static let same: [[Double]] = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]

  static func sRGB(_ pixel: [UInt8], _ matrix: [[Double]], _ light: (Double) -> Double) -> [UInt8] {
    let linear = pixel.map { light(Double($0) / 255) }
    return matrix.map { row in sample(zip(row, linear).reduce(0) { $0 + $1.0 * $1.1 }) }
  }

  /// L*a*b* to sRGB through XYZ at D50 and Bradford's adaptation to D65 (CSS Color 4 §18).
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
