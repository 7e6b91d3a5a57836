import ImageService
import PhotoModel
import Synchronization
import Telemetry
import Testing

@Suite("Frame cache")
struct FrameCacheTests {
  /// A frame of so many bytes, in an array with room for many more.
  private static func frame(_ count: Int) -> ImageFrame {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count * 10)
    bytes.append(contentsOf: repeatElement(7, count: count))
    return ImageFrame(
      bytes: bytes, format: .jpeg,
      result: ImageResult(
        requestID: "r", isDegraded: false, size: PixelSize(width: 1, height: 1), source: .original),
      timings: StageTimings())
  }

  private static func key(_ name: String) -> RenditionKey {
    let time = Timestamp(milliseconds: 0)
    let asset = Asset(
      localIdentifier: LocalIdentifier(name), contentVersion: ContentVersion(name), revision: "1", mediaType: .image,
      uniformTypeIdentifier: "public.jpeg", pixelSize: PixelSize(width: 8, height: 8), orientation: .topLeft,
      hasAlpha: false, creationDate: time, creationDateSource: .file, modificationDate: time, location: nil,
      cameraMake: nil, cameraModel: nil, isFavorite: false, isHidden: false,
      original: OriginalFile(
        path: Array(name.utf8), identity: FileIdentity(inode: 1, size: 1, modified: 1)))
    return RenditionKey(asset, ImageRequest(format: .jpeg), source: .original)
  }

  @Test("an entry takes what it is counted as, not what its encoder had reserved")
  func compact() throws {
    let cache = FrameCache(capacityBytes: 1 << 20)
    let kept = try #require(cache.store(Self.frame(10_000), for: Self.key("a")))
    #expect(kept.bytes.count == 10_000)
    #expect(kept.bytes.capacity < 11_000)
    #expect(cache.byteCount >= kept.bytes.count)
  }

  @Test("full, it lets go of what has not been asked for longest, and tells; what was used has a second turn")
  func eviction() throws {
    let gone = Mutex<[Int]>([])
    let cache = FrameCache(capacityBytes: 45_000) { frames in gone.withLock { $0 += frames.map(\.bytes.count) } }
    let first = try #require(cache.store(Self.frame(10_001), for: Self.key("1")))
    let second = try #require(cache.store(Self.frame(10_002), for: Self.key("2")))
    for i in 3...4 { _ = cache.store(Self.frame(10_000 + i), for: Self.key("\(i)")) }
    #expect(cache.frame(for: Self.key("1")) === first)
    _ = cache.store(Self.frame(10_005), for: Self.key("5"))
    #expect(gone.withLock { $0 } == [10_002])
    #expect(second.isEvicted && !first.isEvicted)
    #expect(cache.frame(for: Self.key("2")) == nil && cache.frame(for: Self.key("1")) === first)
    #expect(cache.byteCount <= 45_000)
  }

  @Test("a frame larger than its share is not kept, nor anything without a capacity")
  func refused() {
    #expect(FrameCache(capacityBytes: 40_000).store(Self.frame(10_000), for: Self.key("a")) == nil)
    #expect(FrameCache(capacityBytes: 0).store(Self.frame(1), for: Self.key("a")) == nil)
  }
}
