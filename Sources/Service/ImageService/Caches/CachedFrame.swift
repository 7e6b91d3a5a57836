import PhotoModel
import Synchronization

/// A frame in the memory cache, or one that has been evicted. A reference to it keeps its bytes alive in either case.
package final class CachedFrame: Sendable {
  /// Keeps a frame in the cache while this object exists, for a response that is still sending the frame.
  private final class Hold: Sendable {
    let frame: CachedFrame

    init(_ frame: CachedFrame) { self.frame = frame }
    deinit { frame.holders.subtract(1, ordering: .releasing) }
  }

  package let bytes: [UInt8]
  let format: OutputFormat
  let size: PixelSize
  package let derivation: Derivation
  /// Whether the frame has a gain map, or is a picture of high dynamic range itself.
  let isHDR: Bool
  let key: RenditionKey
  private let total: ByteCounter
  private let used = Atomic<Bool>(false)
  /// Number of holds; far below zero after eviction.
  private let holders = Atomic<Int>(0)
  /// Bytes that other objects keep because this frame is cached; `evictedMark` after eviction.
  private let attached = Atomic<Int>(0)

  /// Whether the frame is in the cache's eviction order. Changed only under the cache's lock.
  let isInEvictionOrder = Atomic<Bool>(false)

  private static let evictedMark = Int.min / 2
  /// Overhead of a frame in addition to its bytes: one or two table entries, and the memory pages at its ends. Those
  /// pages are shared with freed neighbours and can't be given back.
  private static let ownBytes = 4096

  init(_ frame: ImageFrame, key: RenditionKey, total: ByteCounter) {
    // An encoder's array has spare capacity. Copy it, so that the memory in use equals the memory that is counted.
    bytes = frame.bytes.withUnsafeBufferPointer { Array($0) }
    format = frame.format
    size = frame.result.size
    derivation = frame.derivation
    isHDR = frame.result.isHDR
    self.key = key
    self.total = total
  }

  /// The bytes that are counted for this frame, without attached bytes.
  var cost: Int { bytes.count + Self.ownBytes }

  static func cost(of frame: ImageFrame) -> Int { frame.bytes.count + ownBytes }

  /// Records that the frame was requested.
  package func markUsed() { if !used.load(ordering: .relaxed) { used.store(true, ordering: .relaxed) } }

  /// Whether the cache has evicted the frame. Release objects made from it too.
  package var isEvicted: Bool { holders.load(ordering: .acquiring) < 0 }

  /// Keeps the frame in the cache until the returned object is released. `nil` if the frame was already evicted.
  package func hold() -> (any AnyObject & Sendable)? {
    let count = holders.add(1, ordering: .acquiring).newValue
    guard count > 0 else {
      holders.subtract(1, ordering: .relaxed)
      return nil
    }
    return Hold(self)
  }

  /// Adds bytes that exist only because this frame is cached, such as prepared response heads, to the cache's total; a
  /// negative number subtracts. Returns false, and counts nothing, if the frame was already evicted.
  @discardableResult
  package func attach(_ bytes: Int) -> Bool {
    guard attached.add(bytes, ordering: .relaxed).newValue >= 0 else {
      attached.subtract(bytes, ordering: .relaxed)
      return false
    }
    total.bytes.add(bytes, ordering: .relaxed)
    return true
  }

  /// Whether the frame was requested since the last `clearUsed`.
  var isUsed: Bool { used.load(ordering: .relaxed) }

  /// Clears the used flag and returns its previous value.
  func clearUsed() -> Bool { used.exchange(false, ordering: .relaxed) }

  /// Evicts the frame unless it is held. Returns the bytes to subtract from the total, or `nil` if it is held.
  func evict() -> Int? {
    guard holders.compareExchange(expected: 0, desired: Self.evictedMark, ordering: .acquiringAndReleasing).exchanged
    else { return nil }
    return cost + attached.exchange(Self.evictedMark, ordering: .relaxed)
  }
}

/// Total bytes of all frames of a cache.
final class ByteCounter: Sendable {
  let bytes = Atomic<Int>(0)
}
