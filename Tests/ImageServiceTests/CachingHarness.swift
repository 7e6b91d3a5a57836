import ImageService
import Logging
import PhotoFixtures
import PhotoModel
import Synchronization
import Telemetry

#if canImport(Glibc)
  import Glibc
#endif

/// A library that a test may change: a list of assets, each with one small picture.
final class EditableLibrary: AssetSource {
  private struct State {
    var assets: [LocalIdentifier: Asset] = [:]
    var generation: UInt64 = 1
    /// The touched assets, by the generation of the change.
    var history: [(generation: UInt64, name: LocalIdentifier)] = []
    var lookups = 0
    /// How many assets were looked up, by name or by position.
    var lookedUp = 0
    /// How many of the next lookups by position fail.
    var failures = 0

    mutating func touch(_ name: LocalIdentifier) {
      generation += 1
      history.append((generation, name))
    }
  }

  private let state: Mutex<State>
  private let interruption = Mutex<(@Sendable () -> Void)?>(nil)
  let names: [LocalIdentifier]

  init(_ count: Int, _ originals: InMemoryOriginals) {
    let picture = JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 24, height: 16))
    var state = State()
    names = (0..<count).map { LocalIdentifier("p\($0)") }
    for name in names { state.assets[name] = originals.add(picture, named: name.rawValue) }
    self.state = Mutex(state)
  }

  var generation: UInt64 { state.withLock { $0.generation } }
  /// How often assets were looked up by name.
  var lookups: Int { state.withLock { $0.lookups } }
  /// How many assets were looked up, by name or by position.
  var lookedUp: Int { state.withLock { $0.lookedUp } }

  subscript(_ index: Int) -> Asset? { state.withLock { $0.assets[names[index]] } }

  /// Replaces the picture by a different file that shows the same.
  func edit(_ index: Int) {
    state.withLock { state in
      guard var asset = state.assets[names[index]] else { return }
      state.touch(names[index])
      asset.contentVersion = ContentVersion("v\(state.generation)-\(index)")
      state.assets[names[index]] = asset
    }
  }

  func delete(_ index: Int) {
    state.withLock { state in
      state.assets[names[index]] = nil
      state.touch(names[index])
    }
  }

  func restore(_ index: Int, from asset: Asset) {
    state.withLock { state in
      state.assets[names[index]] = asset
      state.touch(names[index])
    }
  }

  func asset(_ identifier: LocalIdentifier, for principal: Principal) -> Asset? {
    state.withLock { $0.assets[identifier] }
  }

  func assets(named identifiers: [LocalIdentifier], for principal: Principal) -> [Asset?] {
    let assets = state.withLock { state in
      state.lookups += 1
      state.lookedUp += identifiers.count
      return identifiers.map { state.assets[$0] }
    }
    interruption.withLock { $0.take() }?()
    return assets
  }

  /// Calls a closure after the next lookup, before the caller has its result.
  func afterLookup(_ work: @escaping @Sendable () -> Void) { interruption.withLock { $0 = work } }

  /// Records a change that touches no asset.
  func change() { state.withLock { $0.generation += 1 } }

  /// Forgets the history before the latest eight changes.
  func touchedAssets(since changeToken: ChangeToken?, for principal: Principal) -> TouchedIdentifiers {
    state.withLock { state in
      let since = changeToken.map { UInt64($0.number) }
      let touched = since.map { since in state.history.filter { $0.generation > since }.map(\.name) }
      return TouchedIdentifiers(
        changeToken: ChangeToken(Int64(state.generation)),
        identifiers: touched.flatMap { $0.count > 8 ? nil : Set($0) })
    }
  }

  /// A list with assets at some of its positions.
  func assets(at rows: [Int]) throws(AssetSourceError) -> [Asset?] {
    let assets = state.withLock { state -> [Asset?]? in
      if state.failures > 0 {
        state.failures -= 1
        return nil
      }
      state.lookedUp += rows.count
      return rows.map { state.assets[names[$0]] }
    }
    guard let assets else { throw .catalogueFailed("busy") }
    return assets
  }

  /// How many lookups by position will fail.
  var failures: Int { state.withLock { $0.failures } }

  func failNextLookups(_ count: Int) { state.withLock { $0.failures = count } }

  func assets(after cursor: PageCursor?, limit: Int) -> AssetPage {
    AssetPage(assets: [], nextCursor: nil, changeToken: ChangeToken(1))
  }

  func scanState(for principal: Principal) -> ScanState {
    ScanState(isFirstScanComplete: true, indexedCount: names.count)
  }
}

/// All assets of a library, in the order of their names.
struct RowSource: PreheatSource {
  let library: EditableLibrary
  var name = "all"

  var version: String { "" }
  var count: Int { library.names.count }
  var isAvailable: Bool { true }
  var isCurrent: Bool { true }
  func assets(at positions: [Int]) throws(AssetSourceError) -> [Asset?] { try library.assets(at: positions) }
  func changes(visible: Range<Int>, known: [Int], mayReadAll: Bool) -> PreheatListChange { .unchanged(self) }
}

/// A list of a library's assets that may change. Finds the new place of a window in the plainest way.
final class ChangingList: Sendable {
  private struct State {
    var rows: [Int]
    var version = 1
    var isAvailable = true
    var readings = 0
  }

  private let state: Mutex<State>
  let library: EditableLibrary
  let isLong: Bool

  /// - Parameter isLong: a change can be resolved only by reading the whole list.
  init(_ library: EditableLibrary, _ rows: [Int], isLong: Bool = false) {
    self.library = library
    self.isLong = isLong
    state = Mutex(State(rows: rows))
  }

  var source: Source {
    state.withLock { Source(list: self, rows: $0.rows, number: $0.version) }
  }

  var rows: [Int] { state.withLock { $0.rows } }
  var readings: Int { state.withLock { $0.readings } }

  func change(_ change: (inout [Int]) -> Void) {
    state.withLock { state in
      change(&state.rows)
      state.version += 1
    }
    library.change()
  }

  func end() { state.withLock { $0.isAvailable = false } }

  struct Source: PreheatSource {
    let list: ChangingList
    let rows: [Int]
    let number: Int

    var name: String { "live" }
    var version: String { "\(number)" }
    var count: Int { rows.count }
    var isAvailable: Bool { list.state.withLock { $0.isAvailable } }
    var isCurrent: Bool { list.state.withLock { $0.version } == number }

    func assets(at positions: [Int]) throws(AssetSourceError) -> [Asset?] {
      try list.library.assets(at: positions.map { rows[$0] })
    }

    func changes(visible: Range<Int>, known: [Int], mayReadAll: Bool) -> PreheatListChange {
      let now = list.source
      if now.number == number { return .unchanged(now) }
      if list.isLong {
        if !mayReadAll { return .needsFullRead }
        list.state.withLock { $0.readings += 1 }
      }
      var start = visible.lowerBound
      if let first = rows[visible].first(where: now.rows.contains) { start = now.rows.firstIndex(of: first) ?? 0 }
      start = max(0, min(start, now.count - visible.count))
      var moved: [Int: Int] = [:]
      for position in known { moved[position] = now.rows.firstIndex(of: rows[position]) }
      return .changed(now, visible: start..<min(now.count, start + visible.count), moved: moved)
    }
  }
}

/// An image manager with caching managers, with a manual clock and manual timers.
final class CachingHarness: Sendable {
  static let owner = Principal.local

  let images: ImageManagerHarness
  let library: EditableLibrary
  let managers: CachingManagerRegistry
  let upgrades: EncodingUpgrades?
  let listedFormats = ListedFormats()
  private let lookups = WorkQueue(label: "test.lookup", workers: 1, limit: .max, qos: .default)
  private let fetches = WorkQueue(label: "test.fetch", workers: 1, limit: .max, qos: .default)
  private let timerList = TimerList()

  /// - Parameter upgrades: the formats of smaller encodings, and the limits; `nil` for none.
  init(
    _ count: Int = 100, pinnedBytes: Int = 64 << 20,
    upgrades: (formats: Set<OutputFormat>, limits: EncodingUpgrades.Limits)? = nil,
    _ limits: CachingLimits = CachingLimits(),
    _ change: (inout ImageManagerHarness.Setting) -> Void = { _ in }
  ) {
    let images = ImageManagerHarness {
      $0.pinnedBytes = pinnedBytes
      change(&$0)
    }
    self.images = images
    library = EditableLibrary(count, images.originals)
    let clock = images.clock
    let timerList = timerList
    self.upgrades = upgrades.map { EncodingUpgrades(images.manager, formats: $0.formats, limits: $0.limits) }
    managers = CachingManagerRegistry(
      library: library, images: images.manager, cache: images.cache, upgrades: self.upgrades,
      listedFormats: listedFormats, lookups: lookups, fetches: fetches, limits: limits,
      metrics: CachingMetrics(images.metrics), maximumPreparations: 2,
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, now: { clock.now },
      schedule: { delay, work in timerList.add(clock.now + delay, work) })
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

  /// Advances the clock and runs the timers that are due.
  func advance(by duration: Duration) {
    managers.sync()
    let end = images.clock.now + duration
    while let timer = timerList.takeFirst(until: end) {
      images.clock.advance(by: max(.zero, images.clock.now.duration(to: timer.at)))
      timer.work()
      managers.sync()
    }
    images.clock.advance(by: max(.zero, images.clock.now.duration(to: end)))
  }

  /// Returns when no lookup or preparation is running or waiting.
  func untilQuiet() async throws {
    try await eventually("the end of lookups and preparations") { (0..<4).allSatisfy { _ in isQuiet() } }
  }

  /// One observation. It may miss a lookup that began and ended within it, whose result the next one waits for; a
  /// lookup leads to two others at most.
  private func isQuiet() -> Bool {
    // A lookup that runs twice moves from one queue to the other.
    guard lookups.depth == (0, 0) && fetches.depth == (0, 0) && lookups.depth == (0, 0) else { return false }
    managers.sync()
    return managers.counts.pending == 0 && lookups.depth == (0, 0) && fetches.depth == (0, 0)
  }

  /// Returns when no lookup is running or waiting; blocks.
  func untilLookedUp() {
    while lookups.depth != (0, 0) || fetches.depth != (0, 0) {
      managers.sync()
      usleep(50)
    }
    managers.sync()
  }

  static func options(_ side: Int = 12) -> PreheatOptions {
    PreheatOptions(ImageRequest(targetSize: .size(PixelSize(width: side, height: side))), format: nil)
  }

  @discardableResult
  func move(
    _ visible: Range<Int>, margin: Int = 5, _ options: PreheatOptions = options(), id: String = "default",
    over source: (any PreheatSource)? = nil, upgradeFormats: UpgradeFormats? = nil
  ) throws -> WindowStatus {
    let status = try managers.move(
      CachingManagerRegistry.WindowMove(
        visible: visible, margin: margin, options: options, upgradeFormats: upgradeFormats),
      over: source ?? RowSource(library: library), id: id, for: Self.owner)
    guard let status else { throw CachingManagerRegistry.CachingError.tooManyManagers(limit: 0) }
    return status
  }

  func start(_ indices: some Sequence<Int>, _ options: PreheatOptions = options(), id: String = "default") throws
    -> CachingManagerRegistry.StartResult?
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
        return images.cache.pinnedByteCount(of: ResolvedRequest(options.request(for: asset), for: asset).key) != nil
      })
  }

  /// Requests a frame as a client does, and waits for it.
  func ask(_ index: Int, side: Int = 12) async -> ImageResult.Source? {
    guard let asset = library[index] else { return nil }
    let request = Self.options(side).request(for: asset)
    for delivery in await images.deliveries(asset, request) {
      if case .final(let frame) = delivery { return frame.result.source }
    }
    return nil
  }
}
