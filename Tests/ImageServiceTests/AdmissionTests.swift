import Foundation
import ImageCodec
import ImageService
import LibraryFolder
import Logging
import OriginalStore
import PhotoFixtures
import PhotoModel
import Synchronization
import Testing

/// Memory is the gate here: as long as the test holds all of it, every render waits.
@Suite("Admission")
struct AdmissionTests {
  private final class Gate: Sendable {
    let budget = MemoryBudget(capacityBytes: 64 << 20)
    private let held = Mutex<MemoryBudget.Reservation?>(nil)

    init() {
      _ = budget.reserve(budget.capacityBytes) { [self] reservation in held.withLock { $0 = reservation } }
    }

    func open() { held.withLock { $0.take() }?.release() }
  }

  private let folder: String
  private let asset: Asset
  private let store: OriginalStore

  init() throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "photod-service-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let bytes = JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 64, height: 48))
    try Data(bytes).write(to: URL(filePath: folder + "/a.jpg"))
    let library = try LibraryFolder(path: folder)
    let original = OriginalFile(path: Array("a.jpg".utf8), identity: try library.open(Array("a.jpg".utf8)).identity)
    store = OriginalStore(folder: library)
    let epoch = Timestamp(milliseconds: 0)
    asset = Asset(
      localIdentifier: LocalIdentifier("a"), contentVersion: ContentVersion("v"), revision: "1", mediaType: .image,
      uniformTypeIdentifier: "public.jpeg", pixelSize: PixelSize(width: 64, height: 48), orientation: .topLeft,
      hasAlpha: false, creationDate: epoch, creationDateSource: .file, modificationDate: epoch, location: nil,
      cameraMake: nil, cameraModel: nil, isFavorite: false, isHidden: false, original: original)
  }

  private func manager(_ gate: Gate, maximumWaiting: Int) -> ImageManager {
    ImageManager(
      store: store, queue: WorkQueue(label: "test", workers: 1, limit: .max, qos: .default),
      maximumWaiting: maximumWaiting, cache: FrameCache(capacityBytes: 0), budget: gate.budget, limits: CodecLimits(),
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
  }

  private static func name(_ delivery: ImageDelivery) -> String {
    switch delivery {
    case .degraded: "degraded"
    case .final: "final"
    case .failed(let error): "\(error)"
    }
  }

  @Test("as many wait for memory as may; the next one is refused at once, and they are answered when there is room")
  func limit() async throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let gate = Gate()
    let manager = manager(gate, maximumWaiting: 3)
    let (deliveries, continuation) = AsyncStream.makeStream(of: String.self)
    var names = deliveries.makeAsyncIterator()
    for i in 0..<3 {
      _ = manager.requestImage(for: asset, ImageRequest(), requestID: "\(i)") { continuation.yield(Self.name($0)) }
    }
    _ = manager.requestImage(for: asset, ImageRequest(), requestID: "late") {
      continuation.yield("late " + Self.name($0))
    }
    #expect(await names.next() == "late queueFull")
    gate.open()
    for _ in 0..<3 { #expect(await names.next() == "final") }
    // The line is empty again.
    _ = manager.requestImage(for: asset, ImageRequest(), requestID: "4") { continuation.yield(Self.name($0)) }
    #expect(await names.next() == "final")
  }

  @Test("a task that nobody waits for any more renders nothing when its turn comes")
  func cancelled() async throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let gate = Gate()
    let (deliveries, continuation) = AsyncStream.makeStream(of: String.self)
    var names = deliveries.makeAsyncIterator()
    let task = manager(gate, maximumWaiting: 3).requestImage(for: asset, ImageRequest(), requestID: "1") {
      continuation.yield(Self.name($0))
    }
    task.cancel()
    gate.open()
    #expect(await names.next() == "cancelled")
  }
}
