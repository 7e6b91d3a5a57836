import ImageService
import PhotoFixtures
import PhotoModel
import Telemetry
import Testing

/// What the manager counts of what it does, as a scrape shows it.
@Suite("Metrics of the image manager")
struct ImageMetricsTests {
  private static let picture = JPEGFile { _ in }.encoded(Scene(seed: 2).pixels(width: 400, height: 300))

  private func value(_ series: String, _ studio: Studio) -> Double? {
    String(decoding: studio.metrics.exposition(), as: UTF8.self).split(separator: "\n")
      .first { $0.hasPrefix(series + " ") }.flatMap { Double($0.dropFirst(series.count + 1)) }
  }

  @Test("jobs, those who joined them, frames by their source, stages, cancellations and failures are counted")
  func counts() async throws {
    let studio = Studio { $0.cacheBytes = 1 << 20 }
    let asset = studio.originals.add(Self.picture)
    studio.shutRenderLane()
    let journal = Journal()
    let tasks = (0..<3).map { i in studio.request(asset, named: "\(i)") { _ in journal.note("over") } }
    studio.manager.cancel(tasks[1])
    studio.openRenderLane()
    _ = await journal.lines(3)
    _ = await studio.deliveries(asset)
    var gone = asset
    gone.contentVersion = ContentVersion("other")
    gone.original.path = Array("gone".utf8)
    _ = await studio.deliveries(gone)
    let expected: [(String, Double)] = [
      ("photod_image_jobs_total", 2), ("photod_image_coalesced_total", 2), ("photod_image_cancelled_total", 1),
      (#"photod_image_frames_total{kind="final",source="original"}"#, 1),
      (#"photod_image_frames_total{kind="final",source="memory"}"#, 1),
      (#"photod_image_failures_total{reason="original-missing"}"#, 1),
      (#"photod_image_stage_seconds_count{stage="decode"}"#, 1),
      (#"photod_image_stage_seconds_count{stage="encode"}"#, 1),
    ]
    for (series, count) in expected { #expect(value(series, studio) == count, "\(series)") }
  }

  @Test("frames that came out of another one's decode are counted")
  func shared() async throws {
    let studio = Studio()
    let asset = studio.originals.add(Self.picture)
    studio.shutRenderLane()
    let journal = Journal()
    for side in [100, 150, 200] {
      let request = ImageRequest(targetSize: .size(PixelSize(width: side, height: side)))
      _ = studio.request(asset, request, named: "\(side)") { _ in journal.note("over") }
    }
    await studio.untilQueued(3)
    studio.openRenderLane()
    _ = await journal.lines(3)
    #expect(value("photod_image_shared_decodes_total", studio) == 2)
  }
}
