import Dispatch

#if canImport(Glibc)
  import Glibc
#endif

/// An artificial landscape, generated from a seed: sky, sun, clouds, hills and a lake, with some grain. For a codec it
/// resembles a photograph: soft gradients, hard edges, texture and noise.
package struct Scene: Sendable {
  private let seed: UInt32
  private let horizon: Double
  private let sun: (x: Double, y: Double)
  private let warmth: Double
  private let grain: Double

  /// - Parameter grain: the strength of the noise, in 8-bit steps.
  package init(seed: Int, grain: Double = 6) {
    self.seed = UInt32(truncatingIfNeeded: seed) &* 0x9E37_79B9
    func unit(_ i: UInt32) -> Double { Self.hash(UInt32(truncatingIfNeeded: seed) &* 31 &+ i, 7) }
    horizon = 0.5 + 0.15 * unit(1)
    sun = (0.2 + 0.6 * unit(2), 0.12 + 0.25 * unit(3))
    warmth = unit(4)
    self.grain = grain
  }

  /// The picture at a size: 8-bit RGB. The scene's height is 1, whatever the size.
  package func pixels(width: Int, height: Int) -> Pixels {
    let channels = 3
    let ridges = (0..<width).map { x in
      SIMD4((0..<Self.ranges).map { ridge(of: $0, Double(x) / Double(height)) })
    }
    let bytes = [UInt8](unsafeUninitializedCapacity: width * height * channels) { buffer, filled in
      // Because each row is written by one thread.
      nonisolated(unsafe) let buffer = buffer
      DispatchQueue.concurrentPerform(iterations: height) { y in
        for x in 0..<width {
          let color = color(
            Double(x) / Double(height), Double(y) / Double(height), aspect: Double(width) / Double(height), ridges[x])
          let noise = (Self.hash(UInt32(x) ^ seed, UInt32(y)) - 0.5) * grain
          let i = (y * width + x) * channels
          buffer[i] = Self.byte(color.r * 255 + noise)
          buffer[i + 1] = Self.byte(color.g * 255 + noise * 0.8)
          buffer[i + 2] = Self.byte(color.b * 255 + noise)
        }
      }
      filled = width * height * channels
    }
    return Pixels(width: width, height: height, channels: channels, bytes: bytes)
  }

  private typealias Color = (r: Double, g: Double, b: Double)

  /// The ranges of hills, the farthest one first.
  private static let ranges = 4

  /// How near a range is, 0...1.
  private static func nearness(_ range: Int) -> Double { Double(range) / Double(ranges - 1) }

  /// - Parameter ridges: the ridges at `x`.
  private func color(_ x: Double, _ y: Double, aspect: Double, _ ridges: SIMD4<Double>) -> Color {
    let lake = horizon + 0.22
    guard y > lake else { return above(x, y, aspect: aspect) { y > ridges[$0] } }
    // The lake mirrors the sky, darker and with ripples.
    let depth = y - lake
    let ripple = (noise(x * 40, depth * 260) - 0.5) * 0.05 * (1 + depth * 6)
    let mirrored = above(x + ripple, lake - depth * 1.4 + ripple, aspect: aspect) {
      isBelowRidge(of: $0, x + ripple, lake - depth * 1.4 + ripple)
    }
    let shade = 0.82 - depth * 0.6
    return (mirrored.r * shade, mirrored.g * shade, mirrored.b * shade + 0.04)
  }

  /// The y coordinate of a range's ridge at `x`.
  private func ridge(of range: Int, _ x: Double) -> Double {
    let near = Self.nearness(range)
    let height = fractal(x * (1.6 + near * 2.5) + near * 17, 3.7 + near, octaves: 6)
    return horizon + near * 0.16 - 0.2 * (1 - near * 0.6) * height
  }

  /// Calculates the ridge only if its lowest and highest possible places don't decide.
  private func isBelowRidge(of range: Int, _ x: Double, _ y: Double) -> Bool {
    let near = Self.nearness(range)
    let lowest = horizon + near * 0.16
    if y > lowest { return true }
    if y < lowest - 0.2 * (1 - near * 0.6) { return false }
    return y > ridge(of: range, x)
  }

  /// Sky and ranges of hills; nearer ones are darker. The nearest has no haze, and hides what is behind it.
  private func above(_ x: Double, _ y: Double, aspect: Double, isBelowRidge: (Int) -> Bool) -> Color {
    if isBelowRidge(Self.ranges - 1) { return hill(Self.ranges - 1, x, y, behind: (0, 0, 0)) }
    var color = sky(x, y, aspect: aspect)
    for range in 0..<Self.ranges - 1 where isBelowRidge(range) { color = hill(range, x, y, behind: color) }
    return color
  }

  private func hill(_ range: Int, _ x: Double, _ y: Double, behind color: Color) -> Color {
    let near = Self.nearness(range)
    let texture = 0.75 + 0.5 * fractal(x * 30 + near * 5, y * 45, octaves: 3)
    let haze = (1 - near) * 0.55
    let green = (0.10 + 0.05 * warmth, 0.22 - 0.05 * near, 0.12)
    return (
      green.0 * texture * (1 - haze) + color.r * haze, green.1 * texture * (1 - haze) + color.g * haze,
      green.2 * texture * (1 - haze) + color.b * haze
    )
  }

  private func sky(_ x: Double, _ y: Double, aspect: Double) -> Color {
    let height = max(0, min(1, y / horizon))
    let (dx, dy) = (x - sun.x * aspect, y - sun.y)
    let glow = exp(-(dx * dx + dy * dy) * 16) * 0.4 + (dx * dx + dy * dy < 0.0016 ? 1 : 0)
    let cloud = max(0, fractal(x * 3, y * 7, octaves: 5) - 0.5) * 1.8 * (1 - height * 0.5)
    return (
      0.25 + 0.55 * height * (0.6 + 0.5 * warmth) + glow + cloud, 0.45 + 0.25 * height + glow * 0.85 + cloud,
      0.85 - 0.25 * height * warmth + glow * 0.5 + cloud
    )
  }

  private func fractal(_ x: Double, _ y: Double, octaves: Int) -> Double {
    var (sum, weight, total, scale) = (0.0, 0.5, 0.0, 1.0)
    for _ in 0..<octaves {
      sum += weight * noise(x * scale, y * scale)
      total += weight
      weight *= 0.5
      scale *= 2.03
    }
    return sum / total
  }

  /// Smoothed noise between the points of a grid, 0...1.
  private func noise(_ x: Double, _ y: Double) -> Double {
    let (fx, fy) = (x.rounded(.down), y.rounded(.down))
    let (tx, ty) = (x - fx, y - fy)
    let (sx, sy) = (tx * tx * (3 - 2 * tx), ty * ty * (3 - 2 * ty))
    let (ix, iy) = (UInt32(bitPattern: Int32(fx)) ^ seed, UInt32(bitPattern: Int32(fy)))
    let top = Self.hash(ix, iy) * (1 - sx) + Self.hash(UInt32(bitPattern: Int32(fx) + 1) ^ seed, iy) * sx
    let bottom = Self.hash(ix, iy &+ 1) * (1 - sx) + Self.hash(UInt32(bitPattern: Int32(fx) + 1) ^ seed, iy &+ 1) * sx
    return top * (1 - sy) + bottom * sy
  }

  /// A pseudo-random number in 0...1 that depends on both arguments.
  private static func hash(_ x: UInt32, _ y: UInt32) -> Double {
    var h = x &* 0x85EB_CA6B ^ (y &* 0xC2B2_AE35 &+ 0x27D4_EB2F)
    h = (h ^ h >> 15) &* 0x2C1B_3C6D
    h = (h ^ h >> 12) &* 0x297A_2D39
    return Double((h ^ h >> 15) >> 8) / Double(1 << 24)
  }

  private static func byte(_ value: Double) -> UInt8 { UInt8(min(max(value + 0.5, 0), 255)) }
}

extension Pixels {
  /// A test card with distinct corners: red top left, green top right, blue bottom left, white bottom right, and a dark
  /// bar along the top.
  package static func orientationCard(width: Int, height: Int) -> Pixels {
    var card = Pixels(width: width, height: height, channels: 3)
    for y in 0..<height {
      for x in 0..<width {
        let corner: [UInt8] =
          switch (x < width / 2, y < height / 2) {
          case (true, true): [220, 30, 30]
          case (false, true): [30, 200, 40]
          case (true, false): [30, 50, 220]
          case (false, false): [240, 240, 240]
          }
        let color = y < height / 8 ? corner.map { $0 / 3 } : corner
        card.bytes.replaceSubrange((y * width + x) * 3..<(y * width + x) * 3 + 3, with: color)
      }
    }
    return card
  }
}
