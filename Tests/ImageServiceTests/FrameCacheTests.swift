import ImageService
import PhotoFixtures
import PhotoModel
import Synchronization
import Telemetry
import Testing

@Suite("Frame cache")
struct FrameCacheTests {
  /// What the cache counts for a frame in addition to its bytes.
  private static let overheadBytes = 4096

  /// A frame of `count` bytes in an array with much spare capacity.
  private static func frame(_ count: Int) -> ImageFrame {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count * 10)
    bytes.append(contentsOf: repeatElement(7, count: count))
    return ImageFrame(
      bytes: bytes, format: .jpeg,
      result: ImageResult(
        requestID: "r", isDegraded: false, size: PixelSize(width: 1, height: 1), source: .original),
      timings: StageTimings(), derivation: .original)
  }

  private static func key(_ name: String) -> RenditionKey {
    let time = Timestamp(milliseconds: 0)
    let asset = Asset(
      localIdentifier: LocalIdentifier(name), contentVersion: ContentVersion(name), revision: ChangeToken(1),
      mediaType: .image,
      uniformTypeIdentifier: "public.jpeg", pixelSize: PixelSize(width: 8, height: 8), orientation: .topLeft,
      hasAlpha: false, creationDate: time, creationDateSource: .file, modificationDate: time, location: nil,
      cameraMake: nil, cameraModel: nil, isFavorite: false, isHidden: false,
      original: OriginalFile(
        path: Array(name.utf8), identity: FileIdentity(inode: 1, size: 1, modified: 1)))
    return ResolvedRequest(ImageRequest(format: .jpeg), for: asset).key
  }

  @Test("a frame counts with its own bytes, not with the encoder's spare capacity")
  func compact() throws {
    let cache = FrameCache(capacityBytes: 1 << 20)
    let kept = try #require(cache.store(Self.frame(10_000), for: Self.key("a")))
    #expect(kept.bytes.count == 10_000)
    #expect(kept.bytes.capacity < 11_000)
    #expect(cache.byteCount >= kept.bytes.count)
  }

  @Test("a full cache evicts the least recently used frame and reports it; a used frame gets a second chance")
  func eviction() throws {
    let gone = Mutex<[Int]>([])
    let cache = FrameCache(capacityBytes: 60_000) { frames in gone.withLock { $0 += frames.map(\.bytes.count) } }
    let first = try #require(cache.store(Self.frame(10_001), for: Self.key("1")))
    let second = try #require(cache.store(Self.frame(10_002), for: Self.key("2")))
    for i in 3...4 { _ = cache.store(Self.frame(10_000 + i), for: Self.key("\(i)")) }
    #expect(cache.frame(for: Self.key("1")) === first)
    _ = cache.store(Self.frame(10_005), for: Self.key("5"))
    #expect(gone.withLock { $0 } == [10_002])
    #expect(second.isEvicted && !first.isEvicted)
    #expect(cache.frame(for: Self.key("2")) == nil && cache.frame(for: Self.key("1")) === first)
    #expect(cache.byteCount <= 60_000)
  }

  @Test("a frame over its share is not stored, and a cache without capacity stores nothing")
  func refused() {
    #expect(FrameCache(capacityBytes: 40_000).store(Self.frame(10_000), for: Self.key("a")) == nil)
    #expect(FrameCache(capacityBytes: 0).store(Self.frame(1), for: Self.key("a")) == nil)
  }

  @Test("a frame that is being sent is not evicted or counted twice; new frames are refused meanwhile")
  func held() throws {
    let cache = FrameCache(capacityBytes: 60_000)
    var holds = try (1...4).map { try #require(cache.store(Self.frame(10_000), for: Self.key("\($0)"))?.hold()) }
    #expect(cache.store(Self.frame(10_000), for: Self.key("5")) == nil)
    #expect(cache.byteCount <= 60_000)
    holds.removeFirst()
    #expect(cache.store(Self.frame(10_000), for: Self.key("5")) != nil)
    #expect(cache.frame(for: Self.key("1")) == nil && cache.frame(for: Self.key("2")) != nil)
  }

  @Test("an evicted frame can't be held")
  func late() throws {
    let cache = FrameCache(capacityBytes: 60_000)
    let first = try #require(cache.store(Self.frame(10_000), for: Self.key("1")))
    for i in 2...5 { _ = cache.store(Self.frame(10_000), for: Self.key("\(i)")) }
    #expect(first.isEvicted && first.hold() == nil && !first.attach(1))
  }

  @Test("pinned frames have a limit of their own, and are evictable when unpinned")
  func pinned() throws {
    let cache = FrameCache(capacityBytes: 60_000, pinnedCapacityBytes: 30_000)
    // A key that is stored, one that is stored later, and one that has no room among the pinned.
    _ = cache.store(Self.frame(10_000), for: Self.key("1"))
    for name in ["1", "2", "3"] { cache.pin(Self.key(name)) }
    for i in 2...3 { _ = cache.store(Self.frame(10_000), for: Self.key("\(i)")) }
    #expect((28_000...30_000).contains(cache.pinnedByteCount))
    for i in 10..<40 { _ = cache.store(Self.frame(10_000), for: Self.key("\(i)")) }
    #expect(cache.frame(for: Self.key("1")) != nil && cache.frame(for: Self.key("2")) != nil)
    #expect(cache.frame(for: Self.key("3")) == nil)
    #expect(cache.byteCount <= 60_000 + 30_000)
    for name in ["1", "2", "3"] { cache.unpin(Self.key(name)) }
    #expect(cache.pinnedByteCount == 0 && cache.byteCount <= 60_000)
    for i in 40..<80 { _ = cache.store(Self.frame(10_000), for: Self.key("\(i)")) }
    #expect(cache.frame(for: Self.key("1")) == nil && cache.frame(for: Self.key("2")) == nil)
  }

  @Test("a frame that was pinned twice stays when unpinned once")
  func pinnedTwice() {
    let cache = FrameCache(capacityBytes: 60_000, pinnedCapacityBytes: 30_000)
    cache.pin(Self.key("1"))
    cache.pin(Self.key("1"))
    _ = cache.store(Self.frame(10_000), for: Self.key("1"))
    cache.unpin(Self.key("1"))
    #expect(cache.pinnedByteCount > 10_000)
    cache.unpin(Self.key("1"))
    #expect(cache.pinnedByteCount == 0)
  }

  @Test(
    "after random stores, uses, holds and pins, the counted bytes are right and within the limits")
  func bounds() {
    var random = Sampling.generator("bounds of the frame cache")
    for _ in 0..<20 {
      let cache = FrameCache(capacityBytes: 60_000, pinnedCapacityBytes: 20_000)
      var holds: [(key: RenditionKey, cost: Int, hold: any AnyObject & Sendable)] = []
      var pins: [RenditionKey] = []
      for _ in 0..<400 {
        let key = Self.key("\(Int.random(in: 0..<40, using: &random))")
        switch Int.random(in: 0..<8, using: &random) {
        case 0:
          if let frame = cache.frame(for: key), let hold = frame.hold() {
            holds.append((key, frame.bytes.count + Self.overheadBytes, hold))
          }
        case 1:
          if !holds.isEmpty { holds.removeFirst() }
          // A hold that ends evicts nothing.
          cache.trim()
        case 2:
          cache.pin(key)
          pins.append(key)
        case 3: if !pins.isEmpty { cache.unpin(pins.removeFirst()) }
        case 4: _ = cache.frame(for: key)
        default: _ = cache.store(Self.frame(Int.random(in: 1...10_500, using: &random)), for: key)
        }
        // A held frame stays, so each key has one.
        let held = Dictionary(holds.map { ($0.key, $0.cost) }, uniquingKeysWith: { first, _ in first })
        let heldBytes = held.values.reduce(0, +)
        #expect(cache.byteCount - cache.pinnedByteCount <= max(60_000, heldBytes), "\(Sampling.note)")
        #expect(cache.pinnedByteCount <= 20_000, "\(Sampling.note)")
      }
      holds = []
      for key in pins { cache.unpin(key) }
      cache.trim()
      let there = (0..<40).compactMap { cache.frame(for: Self.key("\($0)")) }
      let bytes = there.reduce(0) { $0 + $1.bytes.count + Self.overheadBytes }
      #expect(cache.byteCount == bytes && bytes <= 60_000, "\(Sampling.note)")
      #expect(cache.pinnedByteCount == 0, "\(Sampling.note)")
    }
  }
}
