import CLCMS2

/// Conversions of linear light between primaries, as three rows of three. All light is relative to the white of
/// profiles.
enum ColorMatrix {
  /// The matrix from light of `colorants` to light of `others`: in both, the columns are the XYZ of red, green and
  /// blue.
  static func from(_ colorants: [Double], to others: [Double]) throws(ProfileError) -> [Double] {
    let inverse = try inverse(others)
    var product = [Double](repeating: 0, count: 9)
    for row in 0..<3 {
      for column in 0..<3 {
        for k in 0..<3 { product[row * 3 + column] += inverse[row * 3 + k] * colorants[k * 3 + column] }
      }
    }
    return product
  }

  private static func inverse(_ m: [Double]) throws(ProfileError) -> [Double] {
    func minor(_ a: Int, _ b: Int, _ c: Int, _ d: Int) -> Double { m[a] * m[d] - m[b] * m[c] }
    let adjugate = [
      minor(4, 5, 7, 8), minor(2, 1, 8, 7), minor(1, 2, 4, 5), minor(5, 3, 8, 6), minor(0, 2, 6, 8),
      minor(2, 0, 5, 3), minor(3, 4, 6, 7), minor(1, 0, 7, 6), minor(0, 1, 3, 4),
    ]
    let determinant = m[0] * adjugate[0] + m[1] * adjugate[3] + m[2] * adjugate[6]
    guard abs(determinant) > 1e-6 else { throw ProfileError(reason: "unusable primaries") }
    return adjugate.map { $0 / determinant }
  }
}

extension ICCProfile {
  /// XYZ of red, green and blue in the columns (ICC.1 §9.2.44 and others); `nil` if the profile has none.
  var colorants: [Double]? {
    let tags = [cmsSigRedColorantTag, cmsSigGreenColorantTag, cmsSigBlueColorantTag]
    let columns = tags.compactMap { cmsReadTag(handle, $0)?.load(as: cmsCIEXYZ.self) }
    guard columns.count == 3 else { return nil }
    return columns.map(\.X) + columns.map(\.Y) + columns.map(\.Z)
  }
}
