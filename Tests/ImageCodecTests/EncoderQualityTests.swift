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

  @Test(
    "in 500 MiB, a WebP of 45 megapixels, an AVIF of 16 and a JPEG XL of 5 can be encoded",
    arguments: [(OutputFormat.webp, 8216, 5477, 1), (.avif, 4900, 3266, 20), (.jxl, 2738, 1826, 80)])
  func prices(_ format: OutputFormat, _ width: Int, _ height: Int, _ leastBytes: Int) {
    let size = PixelSize(width: width, height: height)
    let bytes = WorkerEncoding(format, size: size, channels: 3, quality: 82, profileBytes: 0).peakBytes
    #expect(bytes < 500 << 20 && bytes > leastBytes * size.pixelCount, "\(bytes)")
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
