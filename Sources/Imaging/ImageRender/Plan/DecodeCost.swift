import ImageCodec
import PhotoModel

/// The cost of decoding and resampling pictures, as a share of decoding the whole original at full size. Encoding is
/// left out: it costs the same with and without sharing.
///
/// For a JPEG at full size, entropy decoding takes 0.6 and must process every row down to the last shown row (in a
/// progressive file, the whole file in every scan). The rest is proportional to the decoded part of the picture and to
/// the DCT scale itself, not to its square: 1/8 costs 0.65, and a fifth by a fifth from the middle at full size costs
/// 0.4. Resampling reads every decoded pixel whatever the output size: 0.2 for a whole picture at full size.
/// `scripts/bench shared` shows the effect.
struct DecodeCost {
  private static let entropy = 0.6
  private static let pixels = 0.4
  private static let resampling = 0.2

  private let header: ImageHeader

  init(_ header: ImageHeader) {
    self.header = header
  }

  /// The cost of all pictures together.
  ///
  /// - Parameters:
  ///   - regions: the region that each picture shows, in pixels of the stored picture; at least one.
  ///   - eighths: the DCT scale.
  func total(_ regions: [PixelRegion], eighths: Int, inPlanes: Bool) -> Double {
    let (width, height) = (Double(header.storedSize.width), Double(header.storedSize.height))
    let bottom = (regions.map { $0.y + $0.height }.max() ?? 0) / height
    let top = (regions.map(\.y).min() ?? 0) / height
    let left = (regions.map(\.x).min() ?? 0) / width
    let right = (regions.map { $0.x + $0.width }.max() ?? 0) / width
    let scale = Double(eighths) / 8
    let resampled = regions.reduce(0) { $0 + $1.width * $1.height } / (width * height)
    let resampling = Self.resampling * scale * scale * resampled
    let rowsRead = header.isBuffered ? 1 : bottom
    switch header.format {
    // A PNG decode can skip only the rows below the region.
    case .png: return rowsRead + resampling
    // Only tiles inside the region are decoded, at full size.
    case .heic, .avif, .video: return (right - left) * (bottom - top) + resampling
    case .webp, .jxl, .raw: return 1 + resampling
    // The rows above a region are decoded too; of a BMP only the region's rows are read.
    case .gif: return rowsRead + resampling
    case .bmp: return (header.isBuffered ? 1 : bottom - top) + resampling
    // Strips and tiles outside of a region are not decoded; within one strip, only rows that are not compressed are
    // skipped.
    case .tiff:
      guard case .tiff(let page) = header.coded else { break }
      let across = page.isTiled ? right - left : 1
      return across * (page.canSkipRows ? bottom - top : bottom) + resampling
    case .jpeg: break
    }
    // Planes are decoded from the top and in full width.
    let decoded = inPlanes ? bottom : (right - left) * (bottom - top)
    return Self.entropy * rowsRead + Self.pixels * scale * decoded + resampling
  }
}
