import PhotoModel

/// `quality` means the same visible quality for every lossy format: that of libjpeg-turbo with its own tables and 4:2:0
/// at this number. This table has the settings with which the other codecs reach it.
///
/// The row of 82 comes from SSIMULACRA2 of three photographs at 800 px; the other rows are estimates around it.
/// `scripts/bench formats` measures what each row gives, for many photographs and sizes.
enum EncoderQuality {
  /// At one quality: the scale of Robidoux's table in a JPEG, WebP's quality, the quantizer of AV1 (cq-level, less is
  /// better), the distance of JPEG XL.
  private struct Row {
    let quality, jpeg, webp, avif, jxl: Double
  }

  private static let rows: [Row] = [
    Row(quality: 1, jpeg: 1, webp: 0, avif: 63, jxl: 15),
    Row(quality: 30, jpeg: 33, webp: 30, avif: 45, jxl: 5),
    Row(quality: 50, jpeg: 53, webp: 50, avif: 35, jxl: 3.2),
    Row(quality: 70, jpeg: 73, webp: 73, avif: 24, jxl: 2.2),
    Row(quality: 82, jpeg: 84, webp: 85, avif: 16, jxl: 1.6),
    Row(quality: 90, jpeg: 91, webp: 93, avif: 9, jxl: 1),
    Row(quality: 100, jpeg: 100, webp: 100, avif: 1, jxl: 0.1),
  ]

  /// - Parameter quality: 1...100.
  static func setting(_ format: OutputFormat, _ quality: Int) -> Double {
    let quality = Double(min(max(quality, 1), 100))
    let upper = rows.firstIndex { $0.quality >= quality } ?? rows.count - 1
    let (low, high) = (rows[max(0, upper - 1)], rows[upper])
    let share = high.quality > low.quality ? (quality - low.quality) / (high.quality - low.quality) : 1
    func between(_ low: Double, _ high: Double) -> Double { low + (high - low) * share }
    return switch format {
    case .webp: between(low.webp, high.webp)
    case .avif: between(low.avif, high.avif)
    case .jxl: between(low.jxl, high.jxl)
    case .jpeg: between(low.jpeg, high.jpeg)
    case .png: quality
    }
  }

  /// The scale of Robidoux's table.
  static func tunedJPEG(_ quality: Int) -> Int { Int(setting(.jpeg, quality).rounded()) }
}
