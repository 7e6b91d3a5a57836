/// A projective map of the plane: (x, y) to (X / W, Y / W), where (X, Y, W) is the matrix times (x, y, 1). A multiple
/// of the matrix is the same map.
package struct Homography: Sendable, Hashable {
  /// Nine numbers, row after row.
  package let matrix: [Double]

  package static let identity = Homography([1, 0, 0, 0, 1, 0, 0, 0, 1])

  /// - Parameter matrix: nine numbers, row after row.
  package init(_ matrix: [Double]) {
    precondition(matrix.count == 9)
    self.matrix = matrix
  }

  /// The map of a unit square onto a rectangle.
  package init(ontoX x: Double, y: Double, width: Double, height: Double) {
    self.init([width, 0, x, 0, height, y, 0, 0, 1])
  }

  /// The point, and the divisor W: a point is in front of the picture's plane where it is positive.
  package func point(_ x: Double, _ y: Double) -> (x: Double, y: Double, divisor: Double) {
    let divisor = matrix[6] * x + matrix[7] * y + matrix[8]
    return (
      (matrix[0] * x + matrix[1] * y + matrix[2]) / divisor, (matrix[3] * x + matrix[4] * y + matrix[5]) / divisor,
      divisor
    )
  }

  /// The map that first applies `other`, then this one.
  package func after(_ other: Homography) -> Homography {
    let (left, right) = (balanced, other.balanced)
    var product = [Double](repeating: 0, count: 9)
    for row in 0..<3 {
      for column in 0..<3 {
        for k in 0..<3 { product[row * 3 + column] += left[row * 3 + k] * right[k * 3 + column] }
      }
    }
    return Homography(product)
  }

  /// The map back; only for a matrix with an inverse.
  package var inverse: Homography {
    let m = balanced
    func minor(_ a: Int, _ b: Int, _ c: Int, _ d: Int) -> Double { m[a] * m[b] - m[c] * m[d] }
    let adjugate: [Double] = [
      minor(4, 8, 5, 7), minor(2, 7, 1, 8), minor(1, 5, 2, 4), minor(5, 6, 3, 8), minor(0, 8, 2, 6),
      minor(2, 3, 0, 5), minor(3, 7, 4, 6), minor(1, 6, 0, 7), minor(0, 4, 1, 3),
    ]
    let determinant = m[0] * adjugate[0] + m[1] * adjugate[3] + m[2] * adjugate[6]
    return Homography(adjugate.map { $0 / determinant })
  }

  /// The numbers of the same map, so that products of many of them neither overflow nor vanish. Ordinary numbers are
  /// unchanged; others are scaled by a power of two, which rounds none of them.
  private var balanced: [Double] {
    let largest = matrix.map(\.magnitude).max() ?? 0
    if !largest.isNormal || Self.ordinaryMagnitudes.contains(largest) { return matrix }
    let scale = Double(sign: .plus, exponent: -largest.exponent, significand: 1)
    return matrix.map { $0 * scale }
  }

  /// The range for the largest number of a matrix. The numbers of a product then still fit into a `Float`.
  private static let ordinaryMagnitudes: ClosedRange<Double> = 0x1p-32...0x1p32

  /// The corners of the unit square: top left, top right, bottom right, bottom left.
  package var corners: [(x: Double, y: Double, divisor: Double)] {
    [point(0, 0), point(1, 0), point(1, 1), point(0, 1)]
  }

  /// The smallest rectangle that contains the unit square's image. A projective map keeps lines straight, so the
  /// corners decide.
  package var bounds: PixelRegion {
    let corners = corners
    let (left, top) = (corners.map(\.x).min() ?? 0, corners.map(\.y).min() ?? 0)
    return PixelRegion(
      x: left, y: top, width: (corners.map(\.x).max() ?? 0) - left, height: (corners.map(\.y).max() ?? 0) - top)
  }
}
