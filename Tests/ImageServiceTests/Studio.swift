import ImageCodec
import ImageService
import Logging
import OriginalStore
import PhotoFixtures
import PhotoModel
import Synchronization
import Telemetry

/// An image manager with everything around it that a test wants to hold in its hands: originals in memory that count their
/// readers and can be stopped in the middle, memory that opens and shuts the render lane, and a clock that stands still.
final class Studio: Sendable {
  /// What a test may change before the manager is made.
  struct Setting {
    var memoryBytes = 64 << 20
    var cacheBytes = 0
    var pinnedBytes = 0
    var workers = 1
    var limits = ImageManager.Limits()
    var logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    var codec = CodecLimits()
    var store = FrameStore(nil)
    /// Where originals are, if not in memory.
    var originals: OriginalStore?
  }

  let originals = Originals()
  let budget: MemoryBudget
  let cache: FrameCache
  let lane: RenderLane
  let manager: ImageManager
  let clock = Clock()
  let metrics = MetricsRegistry()
  private let store: FrameStore
  private let held = Mutex<MemoryBudget.Reservation?>(nil)

  init(_ change: (inout Setting) -> Void = { _ in }) {
    var setting = Setting()
    change(&setting)
    budget = MemoryBudget(capacityBytes: setting.memoryBytes)
    cache = FrameCache(capacityBytes: setting.cacheBytes, pinnedCapacityBytes: setting.pinnedBytes)
    store = setting.store
    lane = RenderLane(label: "test.render", workers: setting.workers, budget: budget)
    let steps = JobSteps(
      originals: setting.originals ?? originals.store, memory: cache, store: setting.store,
      quick: WorkQueue(label: "test.quick", workers: 1, limit: .max, qos: .default), lane: lane, budget: budget,
      limits: setting.codec, metrics: ImageMetrics(metrics), logger: setting.logger)
    let clock = clock
    manager = ImageManager(steps, limits: setting.limits) { clock.now }
  }

  /// Takes all memory: no render begins.
  func shutRenderLane() { held.withLock { $0 = budget.tryReserve(budget.capacityBytes) } }
  func openRenderLane() { held.withLock { $0.take() }?.release() }

  /// Asks, and tells what comes: one line a delivery, in `name`'s name.
  func request(
    _ asset: Asset, _ request: ImageRequest = ImageRequest(), named name: String = "r", owner: String = "me",
    priority: ImagePriority = .normal, fresh: Bool = false, _ deliver: @escaping @Sendable (ImageDelivery) -> Void
  ) -> ImageTask {
    var caller = ImageManager.Caller(requestID: name, owner: owner)
    caller.priority = priority
    caller.bypassesCaches = fresh
    return manager.requestImage(for: asset, request, caller, deliver: deliver)
  }

  /// Asks, and waits for the end.
  func deliveries(_ asset: Asset, _ request: ImageRequest = ImageRequest(), fresh: Bool = false) async
    -> [ImageDelivery]
  {
    let (stream, continuation) = AsyncStream.makeStream(of: ImageDelivery.self)
    _ = self.request(asset, request, fresh: fresh) { delivery in
      continuation.yield(delivery)
      if case .degraded = delivery { return }
      continuation.finish()
    }
    return await stream.reduce(into: []) { $0.append($1) }
  }

  /// A clock that goes when it is told to.
  final class Clock: Sendable {
    private let time = Mutex(ContinuousClock.now)

    var now: ContinuousClock.Instant { time.withLock { $0 } }
    func advance(by duration: Duration) { time.withLock { $0 += duration } }
  }
}

/// Originals in memory, by name.
final class Originals: Sendable {
  private struct State {
    var files: [[UInt8]: [UInt8]] = [:]
    var opened = 0
    var bytesRead = 0
    var isStopped = false
  }

  private let state = Mutex(State())
  private let gate = Gate()

  /// How often one was opened, and how much was read of all of them.
  var opened: Int { state.withLock { $0.opened } }
  var bytesRead: Int { state.withLock { $0.bytesRead } }

  /// Reading beyond the header waits, or goes on.
  func stop() { gate.shut() }
  func goOn() { gate.open() }
  /// Waits until a reader waits.
  func readerStopped() async { await gate.somebodyWaits() }

  /// An asset whose original these bytes are.
  func add(_ bytes: [UInt8], named name: String = "a") -> Asset {
    guard let header = try? ImageHeader.read(from: MemoryByteSource(bytes), limits: CodecLimits()) else {
      preconditionFailure("not a picture")
    }
    let path = Array(name.utf8)
    let number = state.withLock { state in
      state.files[path] = bytes
      return state.files.count
    }
    let time = Timestamp(milliseconds: 0)
    return Asset(
      localIdentifier: LocalIdentifier(name), contentVersion: ContentVersion("v-\(name)"), revision: "1",
      mediaType: .image, uniformTypeIdentifier: "public.jpeg", pixelSize: header.uprightSize,
      orientation: header.orientation, hasAlpha: header.hasAlpha, creationDate: time, creationDateSource: .file,
      modificationDate: time, location: nil, cameraMake: nil, cameraModel: nil, isFavorite: false, isHidden: false,
      original: OriginalFile(
        path: path, identity: FileIdentity(inode: UInt64(number), size: Int64(bytes.count), modified: 1)))
  }

  var store: OriginalStore {
    OriginalStore { [self] original throws(OriginalStoreError) in
      let bytes = state.withLock { state in
        state.opened += 1
        return state.files[original.path]
      }
      guard let bytes else { throw .notFound }
      return Source(bytes, self)
    }
  }

  private final class Source: ByteSource {
    private let bytes: MemoryByteSource
    private let originals: Originals

    init(_ bytes: [UInt8], _ originals: Originals) {
      self.bytes = MemoryByteSource(bytes)
      self.originals = originals
    }

    var size: Int64 { bytes.size }
    var mayWait: Bool { false }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> ByteRead {
      if offset >= 65_536 { originals.gate.pass() }
      let read = bytes.read(into: buffer, at: offset)
      if case .bytes(let count) = read { originals.state.withLock { $0.bytesRead += count } }
      return read
    }
  }
}

extension Studio {
  /// Returns when every render has ended, which is a moment after its frame was delivered.
  func untilIdle() async {
    while lane.runningCount > 0 { await Task.yield() }
  }

  /// Returns when so many renders stand in line: their first steps are done on another thread.
  func untilQueued(_ count: Int) async {
    while lane.depths.interactive + lane.depths.background < count { await Task.yield() }
  }

  func ladderWork(_ library: any AssetSource) -> LadderWork {
    LadderWork(
      library: library, originals: originals.store, store: store, limits: CodecLimits(),
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
  }
}
