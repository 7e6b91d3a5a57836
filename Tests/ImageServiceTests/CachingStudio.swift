import ImageService
import Logging
import PhotoFixtures
import PhotoModel
import Synchronization
import Telemetry

/// A library that a test may change: assets in a row, each of one small picture.
final class ChangingLibrary: AssetSource {
  private struct State {
    var assets: [LocalIdentifier: Asset] = [:]
    var generation: UInt64 = 1
    var lookups = 0
  }

  private let state: Mutex<State>
  let names: [LocalIdentifier]

  init(_ count: Int, _ originals: Originals) {
    let picture = JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 24, height: 16))
    var state = State()
    names = (0..<count).map { LocalIdentifier("p\($0)") }
    for name in names { state.assets[name] = originals.add(picture, named: name.rawValue) }
    self.state = Mutex(state)
  }

  var generation: UInt64 { state.withLock { $0.generation } }
  /// How often somebody asked for assets.
  var lookups: Int { state.withLock { $0.lookups } }

  subscript(_ index: Int) -> Asset? { state.withLock { $0.assets[names[index]] } }

  /// Another picture in its place, which shows the same.
  func edit(_ index: Int) {
    state.withLock { state in
      guard var asset = state.assets[names[index]] else { return }
      state.generation += 1
      asset.contentVersion = ContentVersion("v\(state.generation)-\(index)")
      state.assets[names[index]] = asset
    }
  }

  func delete(_ index: Int) {
    state.withLock { state in
      state.assets[names[index]] = nil
      state.generation += 1
    }
  }

  func restore(_ index: Int, from asset: Asset) {
    state.withLock { state in
      state.assets[names[index]] = asset
      state.generation += 1
    }
  }

  func asset(_ identifier: LocalIdentifier, for principal: Principal) -> Asset? {
    state.withLock { $0.assets[identifier] }
  }

  func assets(named identifiers: [LocalIdentifier], for principal: Principal) -> [Asset?] {
    state.withLock { state in
      state.lookups += 1
      return identifiers.map { state.assets[$0] }
    }
  }

  func assets(_ query: AssetQuery, for principal: Principal) -> AssetPage {
    AssetPage(assets: [], nextCursor: nil, changeToken: "1")
  }

  func assetCount(_ query: AssetQuery, for principal: Principal) -> Int { names.count }
  func scanState(for principal: Principal) -> ScanState {
    ScanState(isFirstScanComplete: true, indexedCount: names.count)
  }
}

/// All of a library, or a part, as a window's list.
struct RowSource: PreheatSource {
  let library: ChangingLibrary
  var name = "all"

  var count: Int { library.names.count }
  func assets(at positions: [Int]) -> [Asset?] { positions.map { library[$0] } }
  func refreshed() -> (any PreheatSource)? { self }
  func end() {}
}

/// A studio with caching managers whose clock and timers go when they are told to.
final class CachingStudio: Sendable {
  static let owner = Principal.local

  let studio: Studio
  let library: ChangingLibrary
  let managers: CachingManagers
  private let lookups = WorkQueue(label: "test.lookup", workers: 1, limit: .max, qos: .default)
  private let timerList = TimerList()

  init(
    _ count: Int = 100, pinnedBytes: Int = 64 << 20, _ limits: CachingLimits = CachingLimits(),
    _ change: (inout Studio.Setting) -> Void = { _ in }
  ) {
    let studio = Studio {
      $0.pinnedBytes = pinnedBytes
      change(&$0)
    }
    self.studio = studio
    library = ChangingLibrary(count, studio.originals)
    let clock = studio.clock
    let timerList = timerList
    managers = CachingManagers(
      library: library, images: studio.manager, cache: studio.cache, lookups: lookups, limits: limits,
      metrics: CachingMetrics(studio.metrics), width: 2,
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, now: { clock.now },
      later: { delay, work in timerList.add(clock.now + delay, work) })
  }

  private final class TimerList: Sendable {
    private let timers = Mutex<[(at: ContinuousClock.Instant, work: @Sendable () -> Void)]>([])

    func add(_ at: ContinuousClock.Instant, _ work: @escaping @Sendable () -> Void) {
      timers.withLock { $0.append((at, work)) }
    }

    func takeFirst(until end: ContinuousClock.Instant) -> (at: ContinuousClock.Instant, work: @Sendable () -> Void)? {
      timers.withLock { timers in
        guard let first = timers.indices.min(by: { timers[$0].at < timers[$1].at }), timers[first].at <= end else {
          return nil
        }
        return timers.remove(at: first)
      }
    }
  }

  /// Lets time pass, with the timers that fall due.
  func advance(by duration: Duration) {
    managers.sync()
    let end = studio.clock.now + duration
    while let timer = timerList.takeFirst(until: end) {
      studio.clock.advance(by: max(.zero, studio.clock.now.duration(to: timer.at)))
      timer.work()
      managers.sync()
    }
    studio.clock.advance(by: max(.zero, studio.clock.now.duration(to: end)))
  }

  /// Returns when nothing is looked up or prepared any more.
  func untilQuiet() async {
    while true {
      if lookups.depth == (0, 0) {
        managers.sync()
        if managers.depths.pending == 0 && lookups.depth == (0, 0) { return }
      }
      await Task.yield()
    }
  }

  static func options(_ side: Int = 12) -> PreheatOptions {
    PreheatOptions(ImageRequest(targetSize: .size(PixelSize(width: side, height: side))), format: nil)
  }

  @discardableResult
  func move(
    _ visible: Range<Int>, margin: Int = 5, _ options: PreheatOptions = options(), id: String = "default",
    owner: Principal = owner
  ) throws -> WindowStatus {
    let status = try managers.move(
      CachingManagers.Move(visible: visible, margin: margin, options: options), over: RowSource(library: library),
      id: id, for: owner)
    guard let status else { throw CachingManagers.Failure.tooManyManagers(limit: 0) }
    return status
  }

  func start(_ indices: some Sequence<Int>, _ options: PreheatOptions = options(), id: String = "default") throws
    -> CachingManagers.Started?
  {
    try managers.start(indices.map { library.names[$0] }, options, id: id, for: Self.owner)
  }

  func stop(_ indices: some Sequence<Int>, _ options: PreheatOptions = options(), id: String = "default") throws
    -> Int?
  {
    try managers.stop(indices.map { library.names[$0] }, options, id: id, for: Self.owner)?.stopped
  }

  /// The positions whose frames are pinned.
  func pinned(_ options: PreheatOptions = options()) -> Set<Int> {
    Set(
      library.names.indices.filter { index in
        guard let asset = library[index] else { return false }
        return studio.cache.pinnedBytes(RenditionKey(asset, options.request(for: asset))) != nil
      })
  }

  /// Asks for a frame as a client does, and waits for it.
  func ask(_ index: Int, side: Int = 12) async -> ImageResult.Source? {
    guard let asset = library[index] else { return nil }
    let request = Self.options(side).request(for: asset)
    for delivery in await studio.deliveries(asset, request) {
      if case .final(let frame) = delivery { return frame.result.source }
    }
    return nil
  }
}
