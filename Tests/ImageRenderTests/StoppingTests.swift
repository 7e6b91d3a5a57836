import ImageCodec
import MediaMetadata
import PhotoFixtures
import PhotoModel
import Testing

@testable import ImageRender

/// A raised stop flag ends a render after a bounded amount of further work, at any point. `scripts/bench cancel`
/// measures the time; these tests count the work after the flag.
@Suite("Stopping a render")
struct StoppingTests {
  struct Case: CustomTestStringConvertible {
    let testDescription: String
    let file: [UInt8]
    let request: ImageRequest
    var canReturnNotYet = false
  }

  private static let scene = Scene(seed: 14, grain: 8).pixels(width: 640, height: 480)
  private static let turned = EXIFBlock { $0.orientation = 6 }
  private static let bottom = UnitRect(x: 0.5, y: 0.9, width: 0.5, height: 0.1)

  static let cases = [
    Case(testDescription: "baseline", file: JPEGFile { _ in }.encoded(scene), request: request(100, 100)),
    Case(
      testDescription: "baseline, from a source that can wait", file: JPEGFile { _ in }.encoded(scene),
      request: request(100, 100), canReturnNotYet: true),
    Case(
      testDescription: "baseline, turned", file: JPEGFile { $0.exif = turned }.encoded(scene),
      request: request(400, 400)),
    Case(
      testDescription: "baseline, most rows skipped", file: JPEGFile { _ in }.encoded(scene),
      request: request(40, 40, crop: bottom)),
    Case(
      testDescription: "progressive", file: JPEGFile { $0.isProgressive = true }.encoded(scene),
      request: request(100, 100)),
    Case(
      testDescription: "planes", file: JPEGFile { _ in }.encoded(scene), request: request(100, 100, .aspectFit, .jpeg)),
    Case(
      testDescription: "planes, turned", file: JPEGFile { $0.exif = turned }.encoded(scene),
      request: request(400, 400, .aspectFit, .jpeg)),
    Case(
      testDescription: "planes, progressive", file: JPEGFile { $0.isProgressive = true }.encoded(scene),
      request: request(100, 100, .aspectFit, .jpeg)),
    Case(testDescription: "PNG", file: PNGFile(.rgb(depth: 8)).encoded(scene), request: request(100, 100)),
    Case(
      testDescription: "PNG, most rows skipped", file: PNGFile(.rgb(depth: 8)).encoded(scene),
      request: request(40, 40, crop: bottom)),
    Case(
      testDescription: "PNG, interlaced", file: PNGFile(.rgb(depth: 8)) { $0.isInterlaced = true }.encoded(scene),
      request: request(100, 100)),
  ]

  @Test("a raised flag stops reading almost at once, at any position", arguments: cases)
  func reads(_ one: Case) throws {
    let limits = CodecLimits()
    let header = try ImageHeader.read(from: MemoryByteSource(one.file), limits: limits)
    let plan = RenderPlanner().plan(header, one.request)
    let all = one.file.count / 512
    for gate in [1, all / 4, all / 2, all * 3 / 4] {
      let stop = StopFlag()
      let source = GatedSource(one.file, raising: [stop], atRead: gate, canReturnNotYet: one.canReturnNotYet)
      #expect(throws: CodecError.stopped, "raised at read \(gate) of \(all)") {
        let renderer = try Renderer(plan, source: source, limits: limits, stop: stop)
        _ = try renderer.render()
      }
      // libjpeg checks the flag at each MCU row and at each further read; libpng at each row.
      #expect(source.readsAfterwards <= 8, "raised at read \(gate) of \(all)")
    }
  }

  @Test("the first scan of a progressive file can be stopped")
  func firstScan() throws {
    let file = JPEGFile { $0.isProgressive = true }.encoded(Self.scene)
    let header = try ImageHeader.read(from: MemoryByteSource(file), limits: CodecLimits())
    let plan = try #require(RenderPlanner().degradedPlan(header, header.sized(request(400, 400))))
    let stop = StopFlag()
    let source = GatedSource(file, raising: [stop], atRead: 4)
    #expect(throws: CodecError.stopped) {
      _ = try Renderer(plan, source: source, limits: CodecLimits(), stop: stop).render()
    }
    #expect(source.readsAfterwards <= 8)
  }

  /// Counts rows, and raises the flag at one of them.
  private final class GatedEncoder: RowEncoder {
    private let stop: StopFlag
    private let gate: Int
    private(set) var rows = 0
    let warnings: CodecWarnings? = nil

    init(raising stop: StopFlag, atRow gate: Int) {
      self.stop = stop
      self.gate = gate
    }

    func write(_ rows: UnsafeRawPointer, strideBytes: Int, count: Int) {
      self.rows += count
      if self.rows == gate { stop.raise() }
    }

    func finish() -> [UInt8] { [] }
  }

  @Test(
    "rotation and encoding stop at the next row", arguments: [Orientation.topLeft, .rightTop, .bottomRight])
  func writing(_ orientation: Orientation) {
    let stop = StopFlag()
    let encoder = GatedEncoder(raising: stop, atRow: 7)
    let size = PixelSize(width: 30, height: 20)
    let writer = RowWriter(
      storedSize: size, channels: 3, transform: nil, orientation: orientation, encoder: encoder, stop: stop)
    #expect(throws: CodecError.stopped) {
      for _ in 0..<size.height where !writer.rowArrived() { break }
      _ = try writer.finish()
    }
    #expect(encoder.rows == 7)
  }

  @Test("rendering in planes stops at the next row of MCUs", arguments: [Orientation.topLeft, .rightTop, .bottomRight])
  func writingPlanes(_ orientation: Orientation) throws {
    let stop = StopFlag()
    let sizes = [PixelSize(width: 64, height: 48)] + Array(repeating: PixelSize(width: 32, height: 24), count: 2)
    let encoder = try JPEGEncoder(
      size: orientation.apply(to: sizes[0]), channels: 3, quality: 80, profile: nil, isPlanar: true)
    let writer = PlaneWriter(sizes: sizes, chromaStep: 2, orientation: orientation, encoder: encoder, stop: stop)
    func put(_ rows: Range<Int>) {
      for (plane, size) in sizes.enumerated() {
        writer.withRowSpace(forRows: rows.count * size.height / 48, ofPlane: plane) { _ in }
      }
      while writer.writeGroup() {}
    }
    put(0..<16)
    #expect(writer.failure == nil)
    stop.raise()
    put(16..<32)
    #expect(throws: CodecError.stopped) { try writer.finish() }
  }
}
