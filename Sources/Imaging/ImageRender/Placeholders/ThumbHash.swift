// ThumbHash, Evan Wallace's placeholder format (https://evanw.github.io/thumbhash, "Details"): a picture's lowest
// frequencies in about 25 bytes.
//
// Luminance (L), yellow against blue (P), red against green (Q) and, where there is any, alpha (A) each become a few
// terms of a cosine transform: the constant term, a scale, and the other terms relative to that scale. Only the lower
// half of the frequencies is kept.
//
//     bits 0-5 L, 6-11 P, 12-17 Q, 18-22 scale of L, 23 has alpha                                   3 bytes
//     bits 0-2 terms of L along the shorter side, 3-8 scale of P, 9-14 scale of Q, 15 is landscape  2 bytes
//     bits 0-3 A, 4-7 scale of A                                                                    1 byte, with alpha
//     4 bits a term: L, P, Q, A
//
// The arithmetic is in the order of the author's own implementation in JavaScript, so that the bytes are the same.

import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

package enum ThumbHash {
  /// Maximum side of the input picture; a larger one would add no information.
  package static let maximumSide = 100

  /// The hash of a picture: 25 bytes at most.
  ///
  /// - Parameters:
  ///   - rgba: sRGB and alpha, not premultiplied: pixel (x, y) at `(y * size.width + x) * 4`.
  ///   - size: at most `maximumSide` a side, at least one pixel.
  package static func encode(rgba: [UInt8], size: PixelSize) -> [UInt8] {
    precondition(size.width >= 1 && size.height >= 1 && max(size.width, size.height) <= maximumSide)
    precondition(rgba.count == size.pixelCount * 4)
    let picture = Channels(rgba, pixelCount: size.pixelCount)
    let transform = CosineTransform(size)
    let isLandscape = size.width > size.height
    let longer = picture.hasAlpha ? 5 : 7
    func terms(along side: Int) -> Int {
      max(1, rounded(Double(longer * side) / Double(max(size.width, size.height))))
    }
    let (across, down) = (terms(along: size.width), terms(along: size.height))
    let l = transform.terms(of: picture.l, across: max(3, across), down: max(3, down))
    let p = transform.terms(of: picture.p, across: 3, down: 3)
    let q = transform.terms(of: picture.q, across: 3, down: 3)
    let a = picture.hasAlpha ? transform.terms(of: picture.a, across: 5, down: 5) : nil

    var head = rounded(63 * l.constant, below: 64) | rounded(31.5 + 31.5 * p.constant, below: 64) << 6
    head |= rounded(31.5 + 31.5 * q.constant, below: 64) << 12 | rounded(31 * l.scale, below: 32) << 18
    head |= (a == nil ? 0 : 1) << 23
    let shape = (isLandscape ? down : across) | rounded(63 * p.scale, below: 64) << 3
    let rest = shape | rounded(63 * q.scale, below: 64) << 9 | (isLandscape ? 1 : 0) << 15
    var hash = [head & 255, head >> 8 & 255, head >> 16, rest & 255, rest >> 8]
    if let a { hash.append(rounded(15 * a.constant, below: 16) | rounded(15 * a.scale, below: 16) << 4) }
    let varying = l.varying + p.varying + q.varying + (a?.varying ?? [])
    for (i, term) in varying.enumerated() {
      let nibble = rounded(15 * term, below: 16)
      if i % 2 == 0 { hash.append(nibble) } else { hash[hash.count - 1] |= nibble << 4 }
    }
    return hash.map(UInt8.init)
  }

  /// Rounds to the nearest integer, halves away from zero.
  private static func rounded(_ value: Double) -> Int { Int(value.rounded(.toNearestOrAwayFromZero)) }

  /// Rounds to 0..<limit. Sums may exceed their range by a last bit.
  private static func rounded(_ value: Double, below limit: Int) -> Int { min(max(rounded(value), 0), limit - 1) }
}

/// A picture over its own average colour, as luminance, two differences of colours, and alpha. L and A are 0...1, P and
/// Q -1...1.
private struct Channels {
  var l: [Double]
  var p: [Double]
  var q: [Double]
  var a: [Double]
  let hasAlpha: Bool

  init(_ rgba: [UInt8], pixelCount: Int) {
    var average = SIMD3<Double>.zero
    var alphaSum = 0.0
    func color(_ i: Int) -> SIMD3<Double> { [Double(rgba[i]), Double(rgba[i + 1]), Double(rgba[i + 2])] }
    for i in stride(from: 0, to: pixelCount * 4, by: 4) {
      let alpha = Double(rgba[i + 3]) / 255
      average += alpha / 255 * color(i)
      alphaSum += alpha
    }
    if alphaSum > 0 { average /= alphaSum }
    hasAlpha = alphaSum < Double(pixelCount)
    l = [Double](repeating: 0, count: pixelCount)
    p = l
    q = l
    a = hasAlpha ? l : []
    for i in 0..<pixelCount {
      let alpha = Double(rgba[i * 4 + 3]) / 255
      let rgb = average * (1 - alpha) + alpha / 255 * color(i * 4)
      l[i] = (rgb.x + rgb.y + rgb.z) / 3
      p[i] = (rgb.x + rgb.y) / 2 - rgb.z
      q[i] = rgb.x - rgb.y
      if hasAlpha { a[i] = alpha }
    }
  }
}

/// The terms of one channel that are stored.
private struct Terms {
  /// The mean.
  var constant = 0.0
  /// The largest magnitude of the other terms.
  var scale = 0.0
  /// The other terms relative to the scale: 0 is -scale, 1 is +scale; all 0 if there are none.
  var varying: [Double] = []
}

/// The cosines for pictures of one size.
private struct CosineTransform {
  /// More than any channel has.
  private typealias Row = SIMD8<Double>

  private let size: PixelSize
  /// Term k at column x: `across[x][k]`.
  private let across: [Row]
  private let down: [Row]

  init(_ size: PixelSize) {
    self.size = size
    func cosines(_ length: Int) -> [Row] {
      (0..<length).map { i in
        var row = Row.zero
        for k in 0..<Row.scalarCount { row[k] = cos(Double.pi / Double(length) * Double(k) * (Double(i) + 0.5)) }
        return row
      }
    }
    across = cosines(size.width)
    down = size.height == size.width ? across : cosines(size.height)
  }

  /// The lower half of the frequencies of `nx` by `ny` terms, in rows of rising frequency.
  func terms(of channel: [Double], across nx: Int, down ny: Int) -> Terms {
    var sums = [Row](repeating: .zero, count: ny)
    for y in 0..<size.height {
      var row = Row.zero
      for x in 0..<size.width { row += across[x] * channel[y * size.width + x] }
      for cy in 0..<ny { sums[cy] += row * down[y][cy] }
    }
    var terms = Terms()
    for cy in 0..<ny {
      for cx in 0..<nx where cx * ny < nx * (ny - cy) {
        let term = sums[cy][cx] / Double(size.pixelCount)
        if cx == 0 && cy == 0 {
          terms.constant = term
        } else {
          terms.varying.append(term)
          terms.scale = max(terms.scale, abs(term))
        }
      }
    }
    if terms.scale > 0 {
      for i in terms.varying.indices { terms.varying[i] = 0.5 + 0.5 / terms.scale * terms.varying[i] }
    }
    return terms
  }
}
