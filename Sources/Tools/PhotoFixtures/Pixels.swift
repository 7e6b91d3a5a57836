import CPhotoFixtures

#if canImport(Glibc)
  import Glibc
#endif

/// A picture in memory: interleaved 8-bit channels, pixel (x, y) at `(y * width + x) * channels`.
package struct Pixels: Sendable, Equatable {
  package var width: Int
  package var height: Int
  package var channels: Int
  package var bytes: [UInt8]

  package init(width: Int, height: Int, channels: Int, bytes: [UInt8]? = nil) {
    self.width = width
    self.height = height
    self.channels = channels
    self.bytes = bytes ?? [UInt8](repeating: 0, count: width * height * channels)
  }

  package subscript(x: Int, y: Int) -> ArraySlice<UInt8> {
    let start = (y * width + x) * channels
    return bytes[start..<start + channels]
  }

  /// The picture whose pixel (x, y) is this one's pixel `map(x, y)`.
  package func mapped(width: Int, height: Int, _ map: (Int, Int) -> (Int, Int)) -> Pixels {
    var out = Pixels(width: width, height: height, channels: channels)
    for y in 0..<height {
      for x in 0..<width {
        let (fromX, fromY) = map(x, y)
        let to = (y * width + x) * channels
        out.bytes.replaceSubrange(to..<to + channels, with: self[fromX, fromY])
      }
    }
    return out
  }

  /// The rows as a camera that writes this EXIF orientation stores them.
  package func stored(orientation: Int) -> Pixels {
    let (w, h) = (width, height)
    switch orientation {
    case 2: return mapped(width: w, height: h) { (w - 1 - $0, $1) }
    case 3: return mapped(width: w, height: h) { (w - 1 - $0, h - 1 - $1) }
    case 4: return mapped(width: w, height: h) { ($0, h - 1 - $1) }
    case 5: return mapped(width: h, height: w) { ($1, $0) }
    case 6: return mapped(width: h, height: w) { (w - 1 - $1, $0) }
    case 7: return mapped(width: h, height: w) { (w - 1 - $1, h - 1 - $0) }
    case 8: return mapped(width: h, height: w) { ($1, h - 1 - $0) }
    default: return self
    }
  }

  /// A rectangle of the picture.
  package func cropped(x: Int, y: Int, width: Int, height: Int) -> Pixels {
    mapped(width: width, height: height) { (x + $0, y + $1) }
  }

  /// A plain area average at another size, in double precision: slow, and without any of photod's code.
  package func averaged(width: Int, height: Int) -> Pixels {
    var out = Pixels(width: width, height: height, channels: channels)
    let (sx, sy) = (Double(self.width) / Double(width), Double(self.height) / Double(height))
    for y in 0..<height {
      for x in 0..<width {
        var sums = [Double](repeating: 0, count: channels)
        var area = 0.0
        let (top, bottom) = (Double(y) * sy, Double(y + 1) * sy)
        let (left, right) = (Double(x) * sx, Double(x + 1) * sx)
        for fromY in Int(top)..<min(self.height, Int(bottom.rounded(.up))) {
          let rowShare = min(bottom, Double(fromY + 1)) - max(top, Double(fromY))
          for fromX in Int(left)..<min(self.width, Int(right.rounded(.up))) {
            let share = rowShare * (min(right, Double(fromX + 1)) - max(left, Double(fromX)))
            let start = (fromY * self.width + fromX) * channels
            for c in 0..<channels { sums[c] += share * Double(bytes[start + c]) }
            area += share
          }
        }
        for c in 0..<channels { out.bytes[(y * width + x) * channels + c] = UInt8((sums[c] / area).rounded()) }
      }
    }
    return out
  }

  /// The first `count` channels.
  package func channels(_ count: Int) -> Pixels {
    var out = Pixels(width: width, height: height, channels: count)
    for i in 0..<width * height {
      for c in 0..<count { out.bytes[i * count + c] = bytes[i * channels + c] }
    }
    return out
  }

  /// The mean of the absolute differences, 0...255; `nil` if the shapes differ.
  package func meanDifference(from other: Pixels) -> Double? {
    guard width == other.width, height == other.height, channels == other.channels else { return nil }
    let sum = zip(bytes, other.bytes).reduce(0) { $0 + abs(Int($1.0) - Int($1.1)) }
    return Double(sum) / Double(bytes.count)
  }

  /// Peak signal-to-noise ratio in dB; infinite for equal pictures, `nil` if the shapes differ.
  package func psnr(against other: Pixels) -> Double? {
    guard width == other.width, height == other.height, channels == other.channels else { return nil }
    let sum = zip(bytes, other.bytes).reduce(0) { $0 + (Int($1.0) - Int($1.1)) * (Int($1.0) - Int($1.1)) }
    return 10 * log10(255 * 255 / (Double(sum) / Double(bytes.count)))
  }

  /// Decodes a JPEG or PNG to RGBA with libjpeg or libpng directly; `nil` if they refuse it.
  package static func decoded(_ file: [UInt8]) -> (pixels: Pixels, fileChannels: Int)? {
    var (width, height, channels) = (UInt32(0), UInt32(0), Int32(0))
    guard let memory = fixture_decode(file, file.count, &width, &height, &channels) else { return nil }
    defer { free(memory) }
    let bytes = Array(UnsafeBufferPointer(start: memory, count: Int(width) * Int(height) * 4))
    return (Pixels(width: Int(width), height: Int(height), channels: 4, bytes: bytes), Int(channels))
  }
}
