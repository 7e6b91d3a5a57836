import ImageCodec
import ImageRender
import ImageService
import Logging
import PhotoFixtures
import PhotoModel
import Primitives
import Synchronization
import Telemetry

/// An image manager with everything that a test controls around it: originals in memory that count their readers and
/// can be blocked, a render lane that can be blocked by taking its memory, and a manual clock.
final class ImageManagerHarness: Sendable {
  /// Settings that a test may change before the manager is made.
  struct Setting {
    var memoryBytes = 64 << 20
    var cacheBytes = 0
    var pinnedBytes = 0
    var workers = 1
    var quickWorkers = 1
    var limits = ImageManager.Limits()
    var waitingJobs = 1024
    var earlyRenders = 4
    var minimumTiledPixels = 1_000_000_000
    var logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    var codec = CodecLimits()
    var store = FrameStore(nil)
    /// Decodes formats whose decoder runs in a process of its own.
    var decoder: (any CodedPictureDecoder)?
    /// Where originals are opened, if not in memory.
    var originals: OriginalStore?
  }

  let originals = InMemoryOriginals()
  let budget: ByteBudget
  let cache: FrameCache
  let renderLane: RenderLane
  let manager: ImageManager
  let clock = Clock()
  let metrics = MetricsRegistry()
  private let store: FrameStore
  private let held = Mutex<ByteBudget.Reservation?>(nil)

  init(_ change: (inout Setting) -> Void = { _ in }) {
    var setting = Setting()
    change(&setting)
    budget = ByteBudget(capacityBytes: setting.memoryBytes)
    cache = FrameCache(capacityBytes: setting.cacheBytes, pinnedCapacityBytes: setting.pinnedBytes)
    store = setting.store
    renderLane = RenderLane(label: "test.render", workers: setting.workers, budget: budget)
    let clock = clock
    let pipeline = ImagePipeline(
      originals: setting.originals ?? originals.store, memory: cache, store: setting.store,
      quickLane: WorkQueue(label: "test.quick", workers: setting.quickWorkers, limit: .max, qos: .default),
      renderLane: renderLane, budget: budget, maximumWaitingJobs: setting.waitingJobs,
      maximumEarlyRenders: setting.earlyRenders, minimumTiledPixels: setting.minimumTiledPixels, limits: setting.codec,
      workers: setting.decoder, metrics: ImageMetrics(metrics), logger: setting.logger, now: { clock.now })
    manager = ImageManager(pipeline, limits: setting.limits)
  }

  /// Takes all memory, so no render begins.
  func blockRenderLane() { held.withLock { $0 = budget.tryReserve(budget.capacityBytes) } }
  func unblockRenderLane() { held.withLock { $0.take() }?.release() }

  /// Starts a request under the ID `name`.
  func request(
    _ asset: Asset, _ request: ImageRequest = ImageRequest(), named name: String = "r", caller: String = "me",
    priority: ImagePriority = .normal, bypassesCaches: Bool = false,
    _ deliver: @escaping @Sendable (ImageDelivery) -> Void
  ) -> ImageTask {
    var context = ImageManager.RequestContext(requestID: name, caller: caller)
    context.priority = priority
    context.bypassesCaches = bypassesCaches
    return manager.requestImage(ResolvedRequest(request, for: asset), context, deliver: deliver)
  }

  /// Requests a frame and returns all deliveries.
  func deliveries(_ asset: Asset, _ request: ImageRequest = ImageRequest(), bypassesCaches: Bool = false) async
    -> [ImageDelivery]
  {
    let (stream, continuation) = AsyncStream.makeStream(of: ImageDelivery.self)
    _ = self.request(asset, request, bypassesCaches: bypassesCaches) { delivery in
      continuation.yield(delivery)
      if case .degraded = delivery { return }
      continuation.finish()
    }
    return await stream.reduce(into: []) { $0.append($1) }
  }

  /// A manual clock.
  final class Clock: Sendable {
    private struct Hook {
      let isDue: @Sendable () -> Bool
      let body: @Sendable () -> Void
    }

    private let time = Mutex(ContinuousClock.now)
    private let hook = Mutex<Hook?>(nil)

    var now: ContinuousClock.Instant {
      let due = hook.withLock { hook -> Hook? in
        guard let waiting = hook, waiting.isDue() else { return nil }
        hook = nil
        return waiting
      }
      due?.body()
      return time.withLock { $0 }
    }

    /// Calls `body` once, on the thread that reads the time first while `isDue` holds.
    func atFirstRead(when isDue: @escaping @Sendable () -> Bool, _ body: @escaping @Sendable () -> Void) {
      hook.withLock { $0 = Hook(isDue: isDue, body: body) }
    }

    func advance(by duration: Duration) { time.withLock { $0 += duration } }
  }
}

/// Originals in memory, by name.
final class InMemoryOriginals: Sendable {
  private struct State {
    var files: [[UInt8]: [UInt8]] = [:]
    var opened = 0
    var bytesRead = 0
    var isStopped = false
  }

  private let state = Mutex(State())
  private let gate = Gate()
  private let openGate = Gate()

  /// How often an original was opened, and how many bytes were read in total.
  var opened: Int { state.withLock { $0.opened } }
  var bytesRead: Int { state.withLock { $0.bytesRead } }

  /// Blocks or releases reads beyond the header.
  func blockReaders() { gate.shut() }
  func resumeReaders() { gate.open() }
  /// Returns when a reader is blocked.
  func waitUntilReaderBlocks() async { await gate.waitUntilBlocked() }

  /// The same for the opening of originals.
  func blockOpening() { openGate.shut() }
  func resumeOpening() { openGate.open() }
  func waitUntilOpeningBlocks() async { await openGate.waitUntilBlocked() }

  /// Adds an original and returns its asset.
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
      localIdentifier: LocalIdentifier(name), contentVersion: ContentVersion("v-\(name)"), revision: ChangeToken(1),
      mediaType: .image, uniformTypeIdentifier: "public.jpeg", pixelSize: header.requestedSize,
      orientation: header.orientation, hasAlpha: header.hasAlpha, creationDate: time, creationDateSource: .file,
      modificationDate: time, location: nil, cameraMake: nil, cameraModel: nil, isFavorite: false, isHidden: false,
      original: OriginalFile(
        path: path, identity: FileIdentity(inode: UInt64(number), size: Int64(bytes.count), modified: 1),
        embeddedThumbnail: header.embeddedThumbnail))
  }

  var store: OriginalStore {
    OriginalStore { [self] original throws(OriginalStoreError) in
      let bytes = state.withLock { state in
        state.opened += 1
        return state.files[original.path]
      }
      openGate.pass()
      guard let bytes else { throw .notFound }
      return Source(bytes, self)
    }
  }

  private final class Source: ByteSource {
    private let bytes: MemoryByteSource
    private let originals: InMemoryOriginals

    init(_ bytes: [UInt8], _ originals: InMemoryOriginals) {
      self.bytes = MemoryByteSource(bytes)
      self.originals = originals
    }

    var size: Int64 { bytes.size }
    var canReturnNotYet: Bool { false }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> ByteRead {
      if offset >= 65_536 { originals.gate.pass() }
      let read = bytes.read(into: buffer, at: offset)
      if case .bytes(let count) = read { originals.state.withLock { $0.bytesRead += count } }
      return read
    }
  }
}

extension ImageManagerHarness {
  /// Returns when every render has ended, which is shortly after its frame was delivered.
  func untilIdle() async throws {
    try await eventually("the end of all renders") { renderLane.runningCount == 0 }
  }

  /// The value of a metric, as a scrape shows it.
  func metric(_ series: String) -> Double? {
    String(decoding: metrics.exposition(), as: UTF8.self).split(separator: "\n")
      .first { $0.hasPrefix(series + " ") }.flatMap { Double($0.dropFirst(series.count + 1)) }
  }

  /// Returns when `count` renders are waiting: their first steps run on another thread.
  func untilQueued(_ count: Int) async throws {
    try await eventually("\(count) waiting renders") {
      renderLane.waitingCounts.interactive + renderLane.waitingCounts.background >= count
    }
  }

  func derivativeWork(_ library: any AssetSource) -> DerivativeBackgroundWork {
    DerivativeBackgroundWork(
      library: library, originals: originals.store, store: store, limits: CodecLimits(),
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
  }
}
