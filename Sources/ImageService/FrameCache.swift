// Finished frames, kept in memory for whoever asks for the same picture again.
//
// Only final, complete frames of single pictures come here, by the key that says what makes two frames the same bytes:
// the content's version is in it, so an entry is never wrong, it only stops being asked for. What has not been asked for
// longest goes first, nearly: an entry that was used since it was last looked at has a second turn, so that a hit writes one
// flag and takes no lock of this cache's.

import Collections
import PhotoModel
import Synchronization

/// A frame in the cache, or one that was. Whoever holds it holds its bytes.
package final class CachedFrame: Sendable {
  package let bytes: [UInt8]
  package let format: OutputFormat
  package let size: PixelSize
  fileprivate let key: RenditionKey
  private let used = Atomic<Bool>(false)
  private let evicted = Atomic<Bool>(false)

  fileprivate init(_ frame: ImageFrame, key: RenditionKey) {
    // An encoder's array has room for more than came of it. What is kept is what is counted.
    bytes = frame.bytes.withUnsafeBufferPointer { Array($0) }
    format = frame.format
    size = frame.result.size
    self.key = key
  }

  /// What it is counted as: its bytes, and what else is kept of it.
  fileprivate var cost: Int { bytes.count + 512 }

  /// Notes that it was asked for.
  package func use() { if !used.load(ordering: .relaxed) { used.store(true, ordering: .relaxed) } }

  /// Whether the cache has let it go. What was made of it should go then too.
  package var isEvicted: Bool { evicted.load(ordering: .acquiring) }

  fileprivate func takeUse() -> Bool { used.exchange(false, ordering: .relaxed) }
  fileprivate func evict() { evicted.store(true, ordering: .releasing) }
}

package final class FrameCache: Sendable {
  private struct State {
    var frames: [RenditionKey: CachedFrame] = [:]
    /// In the order in which they came, or had their second turn.
    var order: Deque<CachedFrame> = []
    var bytes = 0
  }

  /// One frame may take this part of the capacity, so that a single large picture does not turn all others out.
  private static let largestShare = 4

  private let capacityBytes: Int
  private let evicted: @Sendable ([CachedFrame]) -> Void
  private let state = Mutex(State())

  /// - Parameters:
  ///   - capacityBytes: what all frames together may take; 0 keeps none.
  ///   - evicted: told of the frames that went, after they went, on the thread whose frame took their place.
  package init(capacityBytes: Int, evicted: @escaping @Sendable ([CachedFrame]) -> Void = { _ in }) {
    self.capacityBytes = capacityBytes
    self.evicted = evicted
  }

  /// Bytes that are taken now.
  package var byteCount: Int { state.withLock { $0.bytes } }

  /// The frame for a key, if it is there. Constant time.
  package func frame(for key: RenditionKey) -> CachedFrame? {
    guard capacityBytes > 0, let frame = state.withLock({ $0.frames[key] }) else { return nil }
    frame.use()
    return frame
  }

  /// Keeps a frame, and lets go of what it takes the place of. `nil`: it is not of a kind to be kept, or too large.
  ///
  /// The frame must be final and complete, and rendered from a file that was unchanged afterwards.
  package func store(_ frame: ImageFrame, for key: RenditionKey) -> CachedFrame? {
    precondition(!frame.result.isDegraded && !frame.result.isIncomplete, "only final, complete frames are kept")
    let new = CachedFrame(frame, key: key)
    guard new.cost <= capacityBytes / Self.largestShare else { return nil }
    var gone: [CachedFrame] = []
    let kept = state.withLock { state in
      // Two renders of one picture at the same time: the first to come stays.
      if let known = state.frames[key] { return known }
      state.frames[key] = new
      state.order.append(new)
      state.bytes += new.cost
      while state.bytes > capacityBytes, let oldest = state.order.popFirst() {
        if oldest !== new && oldest.takeUse() {
          state.order.append(oldest)
          continue
        }
        state.frames[oldest.key] = nil
        state.bytes -= oldest.cost
        oldest.evict()
        gone.append(oldest)
      }
      return new
    }
    if !gone.isEmpty { evicted(gone) }
    return kept
  }
}
