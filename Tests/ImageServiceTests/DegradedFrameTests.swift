import ImageService
import Logging
import PhotoFixtures
import PhotoModel
import Synchronization
import Testing

/// Sources of degraded frames, and log lines about files with faults.
@Suite("Degraded frames and warnings")
struct DegradedFrameTests {
  /// Records log lines: message and fields.
  private final class Lines: Sendable {
    private let lines = Mutex<[(message: String, fields: [String: String])]>([])

    var all: [(message: String, fields: [String: String])] { lines.withLock { $0 } }

    func add(_ message: String, _ fields: [String: String]) { lines.withLock { $0.append((message, fields)) } }
  }

  private struct Handler: LogHandler {
    let lines: Lines
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      lines.add(event.message.description, (event.metadata ?? [:]).mapValues(\.description))
    }
  }

  /// All deliveries of one request for a file with these bytes, and the log.
  private func deliveries(
    _ bytes: [UInt8], _ deliveryMode: DeliveryMode, target: Int = 600, budget: Int = 64 << 20
  ) async throws -> (deliveries: [ImageDelivery], lines: Lines) {
    let lines = Lines()
    let harness = ImageManagerHarness {
      $0.memoryBytes = budget
      $0.logger = Logger(label: "test") { _ in Handler(lines: lines) }
    }
    var request = ImageRequest(targetSize: .size(PixelSize(width: target, height: target)), format: .jpeg)
    request.deliveryMode = deliveryMode
    return (await harness.deliveries(harness.originals.add(bytes), request), lines)
  }

  private static let scene = Scene(seed: 3).pixels(width: 1000, height: 750)
  private static let thumbnail = DemoLibrary.thumbnail(of: scene)

  private static func photograph(_ thumbnail: [UInt8]?) -> [UInt8] {
    JPEGFile { $0.exif = EXIFBlock { $0.thumbnail = thumbnail } }.encoded(scene)
  }

  private func frames(_ deliveries: [ImageDelivery]) -> [ImageFrame] {
    deliveries.compactMap {
      switch $0 {
      case .degraded(let frame), .final(let frame): frame
      case .progress, .failed: nil
      }
    }
  }

  @Test("a preview that fits better than the thumbnail is the degraded frame, followed by the final frame")
  func preview() async throws {
    let preview = JPEGFile { _ in }.encoded(Self.scene.averaged(width: 800, height: 600))
    let file = MultiPictureFile(previews: [(type: 0x01_0001, bytes: preview)]).encoded(Self.photograph(Self.thumbnail))
    let frames = frames(try await deliveries(file, .opportunistic).deliveries)
    #expect(frames.map(\.result.isDegraded) == [true, false])
    #expect(frames.map(\.result.source) == [.embedded, .original])
    #expect(frames.map(\.result.size.width) == [600, 600])
    let fast = self.frames(try await deliveries(file, .fastFormat, target: 800).deliveries)
    #expect(fast.map(\.bytes) == [preview], "as it is")
  }

  @Test("memory for a preview's frame is reserved, and a preview that can't fit is refused with the limit's name")
  func reservation() async throws {
    let preview = JPEGFile { _ in }.encoded(Self.scene.averaged(width: 800, height: 600))
    let file = MultiPictureFile(previews: [(type: 0x01_0001, bytes: preview)]).encoded(Self.photograph(nil))
    guard case .failed(.overBudget)? = try await deliveries(file, .fastFormat, budget: 1 << 20).deliveries.last else {
      Issue.record("not refused")
      return
    }
  }

  @Test("a damaged thumbnail is not shown: the degraded frame is made from the original")
  func damagedThumbnail() async throws {
    let file = Self.photograph(Array(Self.thumbnail.dropLast(Self.thumbnail.count / 3)))
    let (deliveries, lines) = try await deliveries(file, .fastFormat)
    #expect(frames(deliveries).map(\.result.source) == [.original])
    #expect(lines.all.contains { $0.message == "thumbnail not used" && $0.fields["reason"]?.isEmpty == false })
  }

  @Test("warnings of C libraries are log fields: library, number, first text")
  func warnings() async throws {
    var broken = Self.photograph(nil)
    for i in stride(from: broken.count / 2, to: broken.count - 4, by: 999) {
      broken.replaceSubrange(i..<i + 2, with: [0xFF, 0xD3])
    }
    let (deliveries, lines) = try await deliveries(broken, .highQualityFormat)
    #expect(frames(deliveries).count == 1)
    let line = try #require(lines.all.first { $0.message == "codec warning" })
    #expect(line.fields["library"] == "libjpeg" && line.fields["asset"] == "a")
    #expect((line.fields["warnings"].flatMap { Int($0) } ?? 0) > 0 && line.fields["first"]?.isEmpty == false)
  }
}
