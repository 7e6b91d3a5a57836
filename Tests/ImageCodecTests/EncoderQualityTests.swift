import ImageCodec
import PhotoModel
import Testing

@Suite("The settings of each codec for a quality")
struct EncoderQualityTests {
  /// One setting for each quality of 1...100.
  private func settings(_ format: OutputFormat, isHDR: Bool = false) -> [Double] {
    (1...100).map {
      WorkerEncoding(
        format, size: PixelSize(width: 100, height: 100), channels: 3, quality: $0, profileBytes: 0,
        isHDR: isHDR
      ).setting
    }
  }

  @Test(
    "a higher quality is a better setting, in the codec's range",
    arguments: [
      (OutputFormat.webp, 0.0...100.0, true),
      // cq-level.
      (.avif, 0.0...63.0, false),
      // JxlEncoderSetFrameDistance in libjxl 0.7; 0 is lossless, which no quality asks for.
      (.jxl, 0.01...15.0, false),
    ])
  func order(_ format: OutputFormat, _ range: ClosedRange<Double>, _ risesWithQuality: Bool) {
    let settings = settings(format)
    #expect(settings.allSatisfy(range.contains))
    for (low, high) in zip(settings, settings.dropFirst()) {
      #expect(risesWithQuality ? low <= high : low >= high, "\(format) \(low), \(high)")
    }
    // From one end to the other, the setting changes with nearly every step of the quality.
    #expect(Set(settings).count > 60, "\(format)")
  }

  static let fits: [(format: OutputFormat, width: Int, height: Int, quality: Int, rows: Int)] = [
    (.webp, 8216, 5477, 82, 5477), (.avif, 4900, 3266, 82, 3266), (.avif, 8064, 6048, 82, 1280),
    // Chroma of full size: because of the quality, and because a grid must be even without.
    (.avif, 6000, 4000, 95, 704), (.avif, 6001, 4000, 82, 704), (.jxl, 2400, 1800, 82, 1800),
    (.jxl, 6000, 4000, 82, 384),
    (.jxl, 12_000, 1800, 82, 256),
  ]

  @Test("large pictures can be encoded in 500 MiB, whole or in strips", arguments: fits)
  func prices(_ format: OutputFormat, _ width: Int, _ height: Int, _ quality: Int, _ rows: Int) {
    let size = PixelSize(width: width, height: height)
    let encoding = WorkerEncoding(format, size: size, channels: 3, quality: quality, profileBytes: 0)
    #expect(encoding.stripRows == rows && encoding.stripCount == (height + rows - 1) / rows)
    #expect(encoding.peakBytes < 500 << 20, "\(encoding.peakBytes)")
    #expect(encoding.workerBytes < 384 << 20 && encoding.hasFullChroma == (rows == 704))
  }

  @Test("high dynamic range multiplies AV1's quantizer step by 0.58, and does not change JPEG XL's distance")
  func hdr() {
    let (standard, high) = (settings(.avif), settings(.avif, isHDR: true))
    // The step of an index is about the index plus 8, and a level is four indices.
    for (low, fine) in zip(standard, high) where fine > 1 {
      #expect(abs((fine * 4 + 8) / (low * 4 + 8) - 0.58) < 1e-9)
    }
    #expect(high.allSatisfy { (1.0...63.0).contains($0) } && high.last == 1)
    #expect(settings(.jxl, isHDR: true) == settings(.jxl))
  }
}
