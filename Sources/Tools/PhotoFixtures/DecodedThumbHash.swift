#if canImport(Glibc)
  import Glibc
#endif

/// Decodes a ThumbHash by the description of the format (https://evanw.github.io/thumbhash, "Details"). What that
/// leaves open (how much of each term is shown) follows the author's own decoder.
package struct DecodedThumbHash {
  /// Terms of one channel: `values[i]` belongs to `frequencies[i]`.
  private struct Channel {
    var constant: Double
    var frequencies: [(x: Int, y: Int)] = []
    var values: [Double] = []
  }

  package let hasAlpha: Bool
  /// The approximate ratio of width to height.
  package let aspectRatio: Double
  private var l, p, q, a: Channel

  /// `nil` if the hash is too short.
  package init?(_ hash: [UInt8]) {
    guard hash.count >= 6 else { return nil }
    let head = Int(hash[0]) | Int(hash[1]) << 8 | Int(hash[2]) << 16
    let rest = Int(hash[3]) | Int(hash[4]) << 8
    hasAlpha = head >> 23 == 1
    let isLandscape = rest >> 15 == 1
    let longer = hasAlpha ? 5 : 7
    let shorter = rest & 7
    aspectRatio = isLandscape ? Double(longer) / Double(shorter) : Double(shorter) / Double(longer)
    l = Channel(constant: Double(head & 63) / 63)
    p = Channel(constant: Double(head >> 6 & 63) / 31.5 - 1)
    q = Channel(constant: Double(head >> 12 & 63) / 31.5 - 1)
    a = Channel(constant: hasAlpha ? Double(hash[5] & 15) / 15 : 1)
    var nibbles = hash[(hasAlpha ? 6 : 5)...].flatMap { [Double($0 & 15), Double($0 >> 4)] }[...]
    func read(_ channel: inout Channel, _ nx: Int, _ ny: Int, scale: Double) -> Bool {
      for y in 0..<ny {
        for x in 0..<nx where (x, y) != (0, 0) && x * ny + y * nx < nx * ny {
          guard let nibble = nibbles.popFirst() else { return false }
          channel.frequencies.append((x, y))
          channel.values.append((nibble / 7.5 - 1) * scale)
        }
      }
      return true
    }
    let (lx, ly) = isLandscape ? (longer, max(3, shorter)) : (max(3, shorter), longer)
    // Coarse quantisation dulls colours; the decoder compensates for it.
    guard read(&l, lx, ly, scale: Double(head >> 18 & 31) / 31),
      read(&p, 3, 3, scale: Double(rest >> 3 & 63) / 63 * 1.25),
      read(&q, 3, 3, scale: Double(rest >> 9 & 63) / 63 * 1.25)
    else { return nil }
    if hasAlpha, !read(&a, 5, 5, scale: Double(hash[5] >> 4) / 15) { return nil }
  }

  /// The mean: red, green, blue, alpha.
  package var average: [UInt8] { Self.rgba(l.constant, p.constant, q.constant, a.constant) }

  /// RGBA at any size.
  package func pixels(width: Int, height: Int) -> Pixels {
    var out = Pixels(width: width, height: height, channels: 4)
    func value(_ channel: Channel, _ x: Int, _ y: Int) -> Double {
      zip(channel.frequencies, channel.values).reduce(channel.constant) { sum, term in
        let across = cos(Double.pi / Double(width) * (Double(x) + 0.5) * Double(term.0.x))
        let down = cos(Double.pi / Double(height) * (Double(y) + 0.5) * Double(term.0.y))
        return sum + 2 * term.1 * across * down
      }
    }
    for y in 0..<height {
      for x in 0..<width {
        let start = (y * width + x) * 4
        out.bytes.replaceSubrange(
          start..<start + 4, with: Self.rgba(value(l, x, y), value(p, x, y), value(q, x, y), value(a, x, y)))
      }
    }
    return out
  }

  private static func rgba(_ l: Double, _ p: Double, _ q: Double, _ a: Double) -> [UInt8] {
    let blue = l - 2.0 / 3 * p
    let red = (3 * l - blue + q) / 2
    return [red, red - q, blue, a].map { UInt8((min(max($0, 0), 1) * 255).rounded()) }
  }
}

extension Pixels {
  /// The mean of each channel; colours are weighted by alpha.
  package var average: [Double] {
    var sums = [Double](repeating: 0, count: channels)
    var weights = 0.0
    for i in stride(from: 0, to: bytes.count, by: channels) {
      let weight = channels == 4 ? Double(bytes[i + 3]) / 255 : 1
      for c in 0..<min(3, channels) { sums[c] += weight * Double(bytes[i + c]) }
      if channels == 4 { sums[3] += Double(bytes[i + 3]) }
      weights += weight
    }
    for c in 0..<min(3, channels) { sums[c] /= max(weights, 1e-9) }
    if channels == 4 { sums[3] /= Double(bytes.count / channels) }
    return sums
  }
}
