import ImageCodec
import PhotoModel

/// What pictures cost to decode and to resample, in shares of a decode of the whole original at its full size. Encoding is
/// left out: it is the same, alone or not.
///
/// Of a JPEG at full size, entropy decoding takes 0.6 and has to go through every row down to the last that is shown (of a
/// progressive file through all of it, in every scan); the rest is spent on the pixels that are made, in proportion to the
/// DCT scale: so 1/8 costs 0.65, and a fifth by a fifth from the middle 0.4. Resampling takes in every pixel that was decoded,
/// whatever it makes of them: 0.2 for a whole picture at full size. `scripts/bench shared` shows what comes of it.
struct DecodeCost {
  private static let entropy = 0.6
  private static let pixels = 0.4
  private static let resampling = 0.2

  private let header: ImageHeader

  init(_ header: ImageHeader) {
    self.header = header
  }

  /// What the pictures cost together.
  ///
  /// - Parameters:
  ///   - regions: what each shows, in pixels of the stored picture; at least one.
  ///   - eighths: the DCT scale.
  func callAsFunction(_ regions: [PixelRegion], eighths: Int, inPlanes: Bool) -> Double {
    let (width, height) = (Double(header.storedSize.width), Double(header.storedSize.height))
    let bottom = (regions.map { $0.y + $0.height }.max() ?? 0) / height
    let top = (regions.map(\.y).min() ?? 0) / height
    let left = (regions.map(\.x).min() ?? 0) / width
    let right = (regions.map { $0.x + $0.width }.max() ?? 0) / width
    let scale = Double(eighths) / 8
    let resampled = regions.reduce(0) { $0 + $1.width * $1.height } / (width * height)
    let resampling = Self.resampling * scale * scale * resampled
    let rowsRead = header.isBuffered ? 1 : bottom
    // Nothing in a PNG is passed over but what lies below; planes are made from the top, and whole.
    if header.format == .png { return rowsRead + resampling }
    let made = inPlanes ? bottom : (right - left) * (bottom - top)
    return Self.entropy * rowsRead + Self.pixels * scale * made + resampling
  }
}
