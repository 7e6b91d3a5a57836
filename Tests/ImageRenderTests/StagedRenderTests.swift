import Dispatch
import ImageCodec
import MediaMetadata
import PhotoFixtures
import PhotoModel
import Testing

@testable import ImageRender

/// Renders whose tones and encoder have threads of their own.
@Suite("Rendering in stages")
struct StagedRenderTests {
  /// Starts stages, and knows when all of them have ended.
  private struct Threads {
    let running = DispatchGroup()

    var start: StageStarter {
      { [running] work in DispatchQueue(label: "test.stage").async(group: running, execute: work) }
    }

    /// Waits a moment, because a thread is no longer needed a little before it returns.
    var haveEnded: Bool { running.wait(timeout: .now() + 20) == .success }
    var areRunning: Bool { running.wait(timeout: .now()) == .timedOut }
  }

  private final class RefusingEncoder: RowEncoder {
    private var rows = 0
    let last: Int
    let warnings: CodecWarnings? = nil

    init(last: Int) { self.last = last }

    func write(_ rows: UnsafeRawPointer, strideBytes: Int, count: Int) throws(CodecError) {
      self.rows += count
      if self.rows > last { throw .outOfMemory }
    }

    func finish() -> [UInt8] { [] }
  }

  private static let file = JPEGFile { $0.quality = 95 }.encoded(
    Scene(seed: 7, grain: 6).pixels(width: 400, height: 300))

  private static func renderer(
    _ operations: [AdjustmentOperation], height: Int, _ stages: StageStarter?, stop: StopFlag = StopFlag()
  ) throws -> Renderer {
    let source = MemoryByteSource(file)
    let header = try ImageHeader.read(from: source, limits: CodecLimits())
    let request = ImageRequest(targetSize: .size(PixelSize(width: 400, height: height)), format: .png)
    let plan = RenderPlanner().plan(header, header.sized(request, Adjustments(operations)))
    return try Renderer(plan, source: source, stages: stages, limits: CodecLimits(), stop: stop)
  }

  private static let lists: [[AdjustmentOperation]] = [
    [.tone(.exposure, 0.5)], [.straighten(degrees: 5)], [.straighten(degrees: -9), .tone(.sharpness, 0.8)],
    [.rotate(quarterTurns: 1), .tone(.noiseReduction, 1), .tone(.saturation, -0.5), .vignette(amount: 1, radius: 0)],
  ]

  /// Heights of a single row, of a whole block, and of more blocks than the ring has.
  @Test("gives the same bytes as on one thread", arguments: lists, [1, 16, 131])
  func sameBytes(_ operations: [AdjustmentOperation], _ height: Int) throws {
    let plain = try Self.renderer(operations, height: height, nil).render()
    let threads = Threads()
    let staged = try Self.renderer(operations, height: height, threads.start).render()
    #expect(staged.bytes == plain.bytes && staged.size == plain.size)
    #expect(threads.haveEnded)
  }

  @Test("ends its threads when a stopped render is released")
  func stopped() throws {
    let (threads, stop) = (Threads(), StopFlag())
    var renderer: Renderer? = try Self.renderer([.tone(.exposure, 0.5)], height: 300, threads.start, stop: stop)
    #expect(threads.areRunning)
    stop.raise()
    #expect(throws: CodecError.stopped) { try renderer?.render() }
    renderer = nil
    #expect(threads.haveEnded)
  }

  @Test("reports a failure of the encoder, at the next block or at the end", arguments: [0, 20, 299])
  func failure(last: Int) throws {
    let threads = Threads()
    do {
      let staged = StagedEncoder(RefusingEncoder(last: last), rowBytes: 12, start: threads.start)
      let row = [UInt8](repeating: 1, count: 12)
      #expect(throws: CodecError.outOfMemory) {
        for _ in 0..<300 { try row.withUnsafeBytes { try staged.write($0.baseAddress!, strideBytes: 12, count: 1) } }
        _ = try staged.finish()
      }
    }
    #expect(threads.haveEnded)
  }
}
