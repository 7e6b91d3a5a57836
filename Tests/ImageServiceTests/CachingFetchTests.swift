import ImageService
import PhotoModel
import Testing

/// How a caching manager has originals in the cloud downloaded: events in, effects out.
@Suite("Caching state: originals in the cloud")
struct CachingFetchTests {
  private static let options = CachingFixture.options

  private static func asset(_ index: Int, version: Int = 1) -> Asset { CachingFixture.asset(index, version: version) }

  private struct AssetList: PreheatSource {
    let name = "list"
    let version = "1"
    let count = 100
    let isAvailable = true
    let isCurrent = true

    func assets(at positions: [Int]) -> [Asset?] { positions.map { CachingFetchTests.asset($0) } }
    func changes(visible: Range<Int>, known: [Int], mayReadAll: Bool) -> PreheatListChange { .unchanged(self) }
  }

  /// A state, and shorthands for its events.
  private final class Harness {
    struct Fetch: Equatable {
      let id: CachingState.FetchID
      let path: String
    }

    var state = CachingState(maximumAssets: 100)

    func start(_ index: Int, allowsNetwork: Bool) {
      _ = state.start(CachingFetchTests.asset(index), options, allowsNetwork: allowsNetwork, maximumEntries: 10)
    }

    /// All preparations begin, and find their originals in the cloud.
    func prepareAll() {
      while state.startNext() {
        for case .prepare(let id, _, _) in state.takeEffects() {
          state.preparationEnded(id, .failed(.inCloud), isPinned: false)
        }
      }
      _ = state.takeEffects()
    }

    func nextFetch() -> Fetch? {
      guard state.startNextFetch() else { return nil }
      for case .fetch(let id, let original) in state.takeEffects() {
        return Fetch(id: id, path: original.displayPath)
      }
      return nil
    }

    /// The downloads that the last events have cancelled.
    func cancelled() -> Set<CachingState.FetchID> {
      Set(state.takeEffects().compactMap { if case .cancelFetch(let id) = $0 { id } else { nil } })
    }

    func move(to visible: Range<Int>, allowsNetwork: Bool = true, at now: ContinuousClock.Instant) {
      let list = AssetList()
      let missing = state.windowMoved(
        to: visible, margin: 2, options, allowsNetwork: allowsNetwork, over: list, at: now)
      _ = state.assetsLookedUp(list.assets(at: missing), at: missing, of: list)
      state.plan(at: now, maximumEntries: 100)
    }
  }

  private let harness = Harness()

  @Test func `A fetched original is held until its entry leaves`() throws {
    func ended() -> [CachingState.FetchID] {
      harness.state.takeEffects().compactMap { if case .endHold(let id) = $0 { id } else { nil } }
    }
    for index in [1, 2] { harness.start(index, allowsNetwork: true) }
    harness.prepareAll()
    let (first, second) = (try #require(harness.nextFetch()), try #require(harness.nextFetch()))
    harness.state.fetchEnded(first.id, isLocal: true)
    #expect(ended() == [])
    harness.state.fetchEnded(second.id, isLocal: false)
    #expect(ended() == [second.id])
    harness.prepareAll()
    harness.state.stopAll()
    #expect(ended() == [first.id])
  }

  @Test func `Without the network nothing is fetched, until a call allows it`() {
    harness.start(1, allowsNetwork: false)
    harness.prepareAll()
    #expect(harness.nextFetch() == nil)
    #expect(harness.state.pendingCount == 0)
    harness.start(1, allowsNetwork: true)
    harness.prepareAll()
    #expect(harness.nextFetch()?.path == "1")
    #expect(harness.state.pendingCount == 1)

    let now = ContinuousClock.now
    harness.move(to: 10..<12, allowsNetwork: false, at: now)
    harness.prepareAll()
    #expect(harness.nextFetch() == nil)
    harness.move(to: 10..<12, at: now + .seconds(20))
    harness.prepareAll()
    #expect(harness.nextFetch() != nil)
  }

  @Test func `A fetched original is prepared again, and fetched only once`() throws {
    harness.start(1, allowsNetwork: true)
    harness.prepareAll()
    let fetch = try #require(harness.nextFetch())
    #expect(harness.nextFetch() == nil)
    harness.state.fetchEnded(fetch.id, isLocal: true)
    // It has made room for another one before it was prepared.
    harness.prepareAll()
    #expect(harness.nextFetch() == nil)
    #expect(harness.state.pendingCount == 0)
    // A changed picture is another original.
    harness.state.assetsChanged(to: [LocalIdentifier("1"): Self.asset(1, version: 2)])
    harness.prepareAll()
    let changed = try #require(harness.nextFetch())
    harness.state.fetchEnded(changed.id, isLocal: false)
    #expect(harness.nextFetch() == nil)
    #expect(harness.state.pendingCount == 0)
  }

  @Test func `The visible positions are fetched first, and what the window leaves is cancelled`() throws {
    let now = ContinuousClock.now
    harness.move(to: 10..<12, at: now - .seconds(20))
    harness.move(to: 10..<12, at: now)
    harness.prepareAll()
    let fetches = [harness.nextFetch(), harness.nextFetch(), harness.nextFetch()].compactMap { $0 }
    try #require(fetches.count == 3)
    #expect(Set(fetches[..<2].map(\.path)) == ["10", "11"])
    #expect(harness.state.pendingCount == 6)
    harness.move(to: 50..<52, at: now + .seconds(10))
    #expect(harness.cancelled() == Set(fetches.map(\.id)))
    // A late end changes nothing.
    harness.state.fetchEnded(fetches[0].id, isLocal: true)
    harness.move(to: 50..<52, at: now + .seconds(30))
    harness.prepareAll()
    let next = try #require(harness.nextFetch())
    #expect(next.path.hasPrefix("5"))
    harness.state.stopAll()
    #expect(harness.cancelled() == [next.id])
    #expect(harness.nextFetch() == nil)
  }
}
