import PhotoModel

/// `quality` means the same visible quality for every lossy format: that of libjpeg-turbo with its own tables at this
/// number, with 4:2:0 up to 90 and full colour resolution above. This table has the settings with which the other
/// codecs reach it.
///
/// Measured by `scripts/bench formats` with SSIMULACRA2 of libjxl 0.11.2: at a row's settings the mean score of each
/// codec is that of the reference. The means are those of 162 frames: 38 photographs and 16 quarters of them, each at
/// 200, 400 and 800 px. Encoders: libjpeg-turbo 2.1.5, libwebp 1.2.4, libaom 3.6.0 and libjxl 0.7.0, with the efforts
/// of ``WorkerEncoding``.
enum EncoderQuality {
  /// At one quality: the scale of Robidoux's table, which JPEGs have up to quality 90; WebP's quality; the quantizer of
  /// AV1 (cq-level, less is better); the distance of JPEG XL.
  private struct Row {
    let quality, jpeg, webp, avif, jxl: Double
  }

  /// Beside each row the standard errors of its settings, in their order; – where the codec's scale ends before the
  /// reference's score: WebP and JPEG XL are never as bad as a JPEG of 10, and WebP has no full colour resolution. The
  /// first and the last row are the ends of the scales.
  private static let rows: [Row] = [
    Row(quality: 1, jpeg: 1, webp: 0, avif: 63, jxl: 15),
    Row(quality: 10, jpeg: 10.6, webp: 0, avif: 55.4, jxl: 15),  // ± 0.2, –, 0.9, –
    Row(quality: 20, jpeg: 21.7, webp: 11.4, avif: 43.8, jxl: 12),  // ± 0.1, 1.7, 0.5, 0.7
    Row(quality: 40, jpeg: 43, webp: 41.5, avif: 33.9, jxl: 5.35),  // ± 0.5, 2.2, 0.3, 0.17
    Row(quality: 60, jpeg: 61.4, webp: 64.8, avif: 28.7, jxl: 3.34),  // ± 0.4, 1.5, 0.6, 0.09
    Row(quality: 75, jpeg: 74.8, webp: 80.5, avif: 21.8, jxl: 2.2),  // ± 0.4, 0.6, 0.4, 0.05
    Row(quality: 82, jpeg: 81.6, webp: 85.5, avif: 16.7, jxl: 1.72),  // ± 0.3, 0.6, 0.5, 0.04
    Row(quality: 90, jpeg: 90.1, webp: 92.2, avif: 9.5, jxl: 1.12),  // ± 0.2, 0.5, 0.5, 0.04
    Row(quality: 91, jpeg: 91, webp: 99.3, avif: 7.9, jxl: 0.69),  // ± –, 0.7, 0.4, 0.02
    Row(quality: 95, jpeg: 95, webp: 100, avif: 4.4, jxl: 0.4),  // ± –, –, 0.3, 0.01
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

  /// The scale of Robidoux's table, for qualities up to 90.
  static func tunedJPEG(_ quality: Int) -> Int { Int(setting(.jpeg, quality).rounded()) }
}
