import ImageCodec
import ImageService
import PhotoModel
import Telemetry
import Testing

@Suite("What the image manager counts")
struct ImageMetricsTests {
  private static func frame(_ source: ImageResult.Source, isDegraded: Bool) -> ImageFrame {
    ImageFrame(
      bytes: [], format: .jpeg,
      result: ImageResult(requestID: "", isDegraded: isDegraded, size: PixelSize(width: 1, height: 1), source: source),
      timings: StageTimings())
  }

  @Test(
    "each delivery is counted once, under its own name",
    arguments: [
      (.degraded(frame(.embedded, isDegraded: true)), "frames_total{kind=\"degraded\",source=\"embedded\"}"),
      (.final(frame(.original, isDegraded: false)), "frames_total{kind=\"final\",source=\"original\"}"),
      // fastFormat's only frame may be degraded.
      (.final(frame(.disk, isDegraded: true)), "frames_total{kind=\"degraded\",source=\"disk\"}"),
      (.final(frame(.memory, isDegraded: false)), "frames_total{kind=\"final\",source=\"memory\"}"),
      (.final(frame(.derivative, isDegraded: false)), "frames_total{kind=\"final\",source=\"derivative\"}"),
      (.failed(.cancelled), "cancelled_total"), (.failed(.codec(.stopped)), "cancelled_total"),
      (.failed(.originalMissing), "failures_total{reason=\"original-missing\"}"),
      (.failed(.originalChanged), "failures_total{reason=\"original-changed\"}"),
      (.failed(.queueFull), "failures_total{reason=\"overloaded\"}"),
      (.failed(.overBudget(needed: 2, budget: 1)), "failures_total{reason=\"image-too-large\"}"),
      (.failed(.codec(.limitExceeded("a", limit: 1, found: 2))), "failures_total{reason=\"image-too-large\"}"),
      (.failed(.codec(.unsupported("a"))), "failures_total{reason=\"format-unsupported\"}"),
      (.failed(.codec(.truncated(offset: 0))), "failures_total{reason=\"image-unreadable\"}"),
      (.failed(.codec(.encodingFailed("a"))), "failures_total{reason=\"encoding-failed\"}"),
      (.failed(.codec(.outOfMemory)), "failures_total{reason=\"original-unreadable\"}"),
      (.failed(.failed("a")), "failures_total{reason=\"original-unreadable\"}"),
    ] as [(ImageDelivery, String)])
  func deliveries(_ delivery: ImageDelivery, _ series: String) {
    let registry = MetricsRegistry()
    ImageMetrics(registry).delivered(delivery)
    let lines = String(decoding: registry.exposition(), as: UTF8.self).split(separator: "\n")
    #expect(lines.filter { !$0.hasPrefix("#") && !$0.hasSuffix(" 0") } == ["photod_image_\(series) 1"])
  }
}
