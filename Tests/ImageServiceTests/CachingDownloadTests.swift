import ImageService
import PhotoModel
import Testing

/// How a caching manager has originals in the cloud downloaded: events in, effects out.
@Suite("Caching state: originals in the cloud")
struct CachingDownloadTests {
  private static let options = CachingFixture.options

  private static func asset(_ index: Int, version: Int = 1) -> Asset { CachingFixture.asset(index, version: version) }

  /// A state, and shorthands for its events.
  private final class Harness {
    struct Download: Equatable {
      let id: CachingState.DownloadID
      let path: String
    }

    var state = CachingState(maximumAssets: 100)

    func start(_ index: Int, allowsNetwork: Bool) {
      _ = state.start(CachingDownloadTests.asset(index), options, allowsNetwork: allowsNetwork, maximumEntries: 10)
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

    func nextDownload() -> Download? {
      guard state.startNextDownload() else { return nil }
      for case .download(let id, let original) in state.takeEffects() {
        return Download(id: id, path: original.displayPath)
      }
      return nil
    }

    /// The downloads that the last events have cancelled.
    func cancelled() -> Set<CachingState.DownloadID> {
      Set(state.takeEffects().compactMap { if case .cancelDownload(let id) = $0 { id } else { nil } })
    }

    func move(to visible: Range<Int>, allowsNetwork: Bool = true, at now: ContinuousClock.Instant) {
      let list = CachingFixture.AssetList()
      let missing = state.windowMoved(
        to: visible, margin: 2, options, allowsNetwork: allowsNetwork, over: list, at: now)
      _ = state.assetsLookedUp(list.assets(at: missing), at: missing, of: list)
      state.plan(at: now, maximumEntries: 100)
    }
  }

  private let harness = Harness()

  @Test func `A downloaded original is held until its entry leaves`() throws {
    func ended() -> [CachingState.DownloadID] {
      harness.state.takeEffects().compactMap { if case .endHold(let id) = $0 { id } else { nil } }
    }
    for index in [1, 2] { harness.start(index, allowsNetwork: true) }
    harness.prepareAll()
    let (first, second) = (try #require(harness.nextDownload()), try #require(harness.nextDownload()))
    harness.state.downloadEnded(first.id, isLocal: true)
    #expect(ended() == [])
    harness.state.downloadEnded(second.id, isLocal: false)
    #expect(ended() == [second.id])
    harness.prepareAll()
    harness.state.stopAll()
    #expect(ended() == [first.id])
  }

  @Test func `Without the network nothing is downloaded, until a call allows it`() {
    harness.start(1, allowsNetwork: false)
    harness.prepareAll()
    #expect(harness.nextDownload() == nil)
    #expect(harness.state.pendingCount == 0)
    harness.start(1, allowsNetwork: true)
    harness.prepareAll()
    #expect(harness.nextDownload()?.path == "1")
    #expect(harness.state.pendingCount == 1)

    let now = ContinuousClock.now
    harness.move(to: 10..<12, allowsNetwork: false, at: now)
    harness.prepareAll()
    #expect(harness.nextDownload() == nil)
    harness.move(to: 10..<12, at: now + .seconds(20))
    harness.prepareAll()
    #expect(harness.nextDownload() != nil)
  }

  @Test func `A downloaded original is prepared again, and downloaded only once`() throws {
    harness.start(1, allowsNetwork: true)
    harness.prepareAll()
    let download = try #require(harness.nextDownload())
    #expect(harness.nextDownload() == nil)
    harness.state.downloadEnded(download.id, isLocal: true)
    // It has made room for another one before it was prepared.
    harness.prepareAll()
    #expect(harness.nextDownload() == nil)
    #expect(harness.state.pendingCount == 0)
    // A changed picture is another original.
    harness.state.assetsChanged(to: [LocalIdentifier("1"): Self.asset(1, version: 2)])
    harness.prepareAll()
    let changed = try #require(harness.nextDownload())
    harness.state.downloadEnded(changed.id, isLocal: false)
    #expect(harness.nextDownload() == nil)
    #expect(harness.state.pendingCount == 0)
  }

  @Test func `The visible positions are downloaded first, and what the window leaves is cancelled`() throws {
    let now = ContinuousClock.now
    harness.move(to: 10..<12, at: now - .seconds(20))
    harness.move(to: 10..<12, at: now)
    harness.prepareAll()
    let downloads = [harness.nextDownload(), harness.nextDownload(), harness.nextDownload()].compactMap { $0 }
    try #require(downloads.count == 3)
    #expect(Set(downloads[..<2].map(\.path)) == ["10", "11"])
    #expect(harness.state.pendingCount == 6)
    harness.move(to: 50..<52, at: now + .seconds(10))
    #expect(harness.cancelled() == Set(downloads.map(\.id)))
    // A late end changes nothing.
    harness.state.downloadEnded(downloads[0].id, isLocal: true)
    harness.move(to: 50..<52, at: now + .seconds(30))
    harness.prepareAll()
    let next = try #require(harness.nextDownload())
    #expect(next.path.hasPrefix("5"))
    harness.state.stopAll()
    #expect(harness.cancelled() == [next.id])
    #expect(harness.nextDownload() == nil)
  }
}
