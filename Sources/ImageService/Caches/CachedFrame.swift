import PhotoModel
import Synchronization

/// A frame in the cache, or one that was. Whoever holds it holds its bytes.
package final class CachedFrame: Sendable {
  /// Keeps a frame in the cache for as long as it lives: for whoever is still sending it.
  private final class Hold: Sendable {
    let frame: CachedFrame

    init(_ frame: CachedFrame) { self.frame = frame }
    deinit { frame.holders.subtract(1, ordering: .releasing) }
  }

  package let bytes: [UInt8]
  package let format: OutputFormat
  package let size: PixelSize
  package let derivation: Derivation
  let key: RenditionKey
  private let total: FrameTotal
  private let used = Atomic<Bool>(false)
  /// How many hold it; far below zero once it was evicted.
  private let holders = Atomic<Int>(0)
  /// Bytes that are kept beside the frame's own because it is here; `evictedMark` once it is not.
  private let attached = Atomic<Int>(0)

  /// Whether it stands in its shard's order; changed under the shard's lock alone.
  let isListed = Atomic<Bool>(false)

  private static let evictedMark = Int.min / 2
  /// What a frame takes beside its bytes: an entry or two, and the pages at its ends that it shares with what was freed
  /// around it, which can't be given back.
  private static let ownBytes = 4096

  init(_ frame: ImageFrame, key: RenditionKey, total: FrameTotal) {
    // An encoder's array has room for more than came of it. What is kept is what is counted.
    bytes = frame.bytes.withUnsafeBufferPointer { Array($0) }
    format = frame.format
    size = frame.result.size
    derivation = frame.derivation
    self.key = key
    self.total = total
  }

  /// What it is counted as, without what is attached to it.
  var cost: Int { bytes.count + Self.ownBytes }

  static func cost(of frame: ImageFrame) -> Int { frame.bytes.count + ownBytes }

  /// Notes that it was asked for.
  package func use() { if !used.load(ordering: .relaxed) { used.store(true, ordering: .relaxed) } }

  /// Whether the cache has let it go. What was made of it should go then too.
  package var isEvicted: Bool { holders.load(ordering: .acquiring) < 0 }

  /// Keeps it in the cache until what is returned has gone. `nil`: it has left the cache already.
  package func hold() -> (any AnyObject & Sendable)? {
    let count = holders.add(1, ordering: .acquiring).newValue
    guard count > 0 else {
      holders.subtract(1, ordering: .relaxed)
      return nil
    }
    return Hold(self)
  }

  /// Counts bytes that are kept because this is here, such as prepared heads, as the cache's; negative ones are given back.
  /// False: it has left the cache, and nothing was counted.
  @discardableResult
  package func attach(_ bytes: Int) -> Bool {
    guard attached.add(bytes, ordering: .relaxed).newValue >= 0 else {
      attached.subtract(bytes, ordering: .relaxed)
      return false
    }
    total.bytes.add(bytes, ordering: .relaxed)
    return true
  }

  /// Whether it was asked for since the last `takeUse`.
  var isUsed: Bool { used.load(ordering: .relaxed) }

  /// True once after each use.
  func takeUse() -> Bool { used.exchange(false, ordering: .relaxed) }

  /// Lets it go, unless somebody holds it: what the total is less by, or `nil`.
  func evict() -> Int? {
    guard holders.compareExchange(expected: 0, desired: Self.evictedMark, ordering: .acquiringAndReleasing).exchanged
    else { return nil }
    return cost + attached.exchange(Self.evictedMark, ordering: .relaxed)
  }
}

/// What all frames of a cache take together.
final class FrameTotal: Sendable {
  let bytes = Atomic<Int>(0)
}
