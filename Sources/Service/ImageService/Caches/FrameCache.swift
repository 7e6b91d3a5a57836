// Final frames in memory, for repeated requests for the same picture.
//
// Only final, complete frames of single pictures are stored. The key identifies the picture and includes the version of
// the content, so an entry never becomes wrong; it only stops being requested. Eviction is close to least recently used
// (second chance): a frame that was used since it was last examined moves to the end of the order once more, so a hit
// only sets one flag. Frames that are being sent are not evicted: their bytes would stay in memory but no longer be
// counted.
//
// Keys are spread over shards, each with its own lock; bytes are counted over all shards.

import DequeModule
import PhotoModel
import Synchronization

package final class FrameCache: Sendable {
  private struct Shard {
    var frames: [RenditionKey: CachedFrame] = [:]
    /// Frames that may be evicted, in the order in which they were added or got their second chance, with the sequence
    /// number of that moment. Frames that were pinned since are skipped.
    var order: Deque<(frame: CachedFrame, sequence: Int)> = []
    /// How often each key is pinned, whether or not its frame is present.
    var pins: [RenditionKey: Int] = [:]
    /// Frames that are kept because they are pinned. They count towards the pinned capacity.
    var pinned: Set<RenditionKey> = []

    /// Puts a frame at the end of the eviction order, unless it is already in it.
    mutating func appendToOrder(_ frame: CachedFrame, at sequence: Int) {
      if frame.isInEvictionOrder.exchange(true, ordering: .relaxed) { return }
      order.append((frame, sequence))
    }

    /// Removes and returns the first frame of the eviction order.
    mutating func popOldest() -> CachedFrame? {
      guard let first = order.popFirst()?.frame else { return nil }
      first.isInEvictionOrder.store(false, ordering: .relaxed)
      return first
    }
  }

  /// A `Mutex` can't be an array element, so each one is stored in a class.
  private final class LockedShard: Sendable {
    let shard = Mutex(Shard())
  }

  /// One frame may take at most 1/4 of the capacity, so that a single large picture does not evict all others.
  private static let capacityDivisor = 4
  private static let shardCount = 8

  let capacityBytes: Int
  package let pinnedCapacityBytes: Int
  private let onEvict: @Sendable ([CachedFrame]) -> Void
  private let shards = (0..<shardCount).map { _ in LockedShard() }
  private let total = ByteCounter()
  private let pinnedTotal = ByteCounter()
  /// Sequence number of the last frame that was put at the end of any shard's order.
  private let lastSequence = Atomic<Int>(0)

  /// - Parameters:
  ///   - capacityBytes: maximum total bytes of all frames that are not pinned, including attached bytes; 0 caches none.
  ///   - pinnedCapacityBytes: maximum total bytes of pinned frames, in addition.
  ///   - onEvict: called with the evicted frames after their eviction, on the thread whose frame needed the room.
  package init(
    capacityBytes: Int, pinnedCapacityBytes: Int = 0, onEvict: @escaping @Sendable ([CachedFrame]) -> Void = { _ in }
  ) {
    self.capacityBytes = capacityBytes
    self.pinnedCapacityBytes = pinnedCapacityBytes
    self.onEvict = onEvict
  }

  /// Bytes in use now, including pinned frames.
  package var byteCount: Int { total.bytes.load(ordering: .relaxed) + pinnedByteCount }
  package var pinnedByteCount: Int { pinnedTotal.bytes.load(ordering: .relaxed) }

  /// The frame for a key, if it is cached; counts as a use. Constant time.
  package func frame(for key: RenditionKey) -> CachedFrame? {
    guard let frame = withShard(of: key, { $0.frames[key] }) else { return nil }
    frame.markUsed()
    return frame
  }

  /// The frame for a key, if it is cached; does not count as a use. Constant time.
  func peekFrame(for key: RenditionKey) -> CachedFrame? { withShard(of: key) { $0.frames[key] } }

  /// Counts as a use of a key's frame if the frame is kept as pinned: a client has requested it, and gets the same
  /// picture in another encoding. A frame that is not pinned gets no second chance for that.
  func markPinnedUsed(_ key: RenditionKey) {
    let frame = withShard(of: key) { shard in shard.pinned.contains(key) ? shard.frames[key] : nil }
    frame?.markUsed()
  }

  /// The cost of a key's frame, if the frame is kept as pinned.
  package func pinnedByteCount(of key: RenditionKey) -> Int? {
    withShard(of: key) { shard in shard.pinned.contains(key) ? shard.frames[key]?.cost : nil }
  }

  /// Number of pins; a key that was pinned twice counts twice. Linear; for tests.
  package var pinCount: Int {
    shards.reduce(0) { $0 + $1.shard.withLock { $0.pins.values.reduce(0, +) } }
  }

  /// Stores a frame and evicts others to make room. `nil` if the frame is too large or no other frame can be evicted.
  ///
  /// The frame must be final and complete, and its source file must have been unchanged after the read. The one kind of
  /// degraded frame that may be kept is ``Derivation/smallPreview(_:)``.
  package func store(_ frame: ImageFrame, for key: RenditionKey) -> CachedFrame? {
    precondition(
      frame.result.isDegraded == frame.derivation.isSmallPreview && !frame.result.isIncomplete,
      "only final, complete frames are kept")
    if let pinned = storePinned(frame, for: key) { return pinned }
    let cost = CachedFrame.cost(of: frame)
    guard cost <= capacityBytes / Self.capacityDivisor, makeRoom(for: cost) else { return nil }
    let new = CachedFrame(frame, key: key, total: total)
    let kept = withShard(of: key) { shard in
      // If two renders of one picture finish at the same time, the first one stays.
      if let known = shard.frames[key] { return known }
      shard.frames[key] = new
      shard.appendToOrder(new, at: nextSequence())
      return new
    }
    if kept !== new { total.bytes.subtract(cost, ordering: .relaxed) }
    return kept
  }

  /// Evicts frames that are over the capacity. Call it after bytes were attached to a frame.
  package func trim() { _ = makeRoom(for: 0) }

  /// Pins a key: its frame, now or once it is stored, stays until the key was unpinned as often as it was pinned. This
  /// holds within `pinnedCapacityBytes`; a pinned frame beyond that is treated like any other. Pinning clears the
  /// frame's used flag.
  package func pin(_ key: RenditionKey) {
    withShard(of: key) { shard in
      shard.pins[key, default: 0] += 1
      guard !shard.pinned.contains(key), let frame = shard.frames[key], reservePinned(frame.cost) else { return }
      _ = frame.clearUsed()
      total.bytes.subtract(frame.cost, ordering: .relaxed)
      shard.pinned.insert(key)
    }
  }

  package func unpin(_ key: RenditionKey) {
    let wasPinned = withShard(of: key) { shard in
      guard let count = shard.pins[key] else { return false }
      shard.pins[key] = count == 1 ? nil : count - 1
      guard count == 1, shard.pinned.remove(key) != nil, let frame = shard.frames[key] else { return false }
      pinnedTotal.bytes.subtract(frame.cost, ordering: .relaxed)
      total.bytes.add(frame.cost, ordering: .relaxed)
      shard.appendToOrder(frame, at: nextSequence())
      return true
    }
    if wasPinned { trim() }
  }

  /// Stores the frame of a pinned key. `nil` if the key is not pinned or the pinned capacity is used up.
  private func storePinned(_ frame: ImageFrame, for key: RenditionKey) -> CachedFrame? {
    guard pinnedCapacityBytes > 0, withShard(of: key, { $0.pins[key] != nil && $0.frames[key] == nil }) else {
      return nil
    }
    let new = CachedFrame(frame, key: key, total: total)
    // Counted under the same lock as the insertion, so that the pinned set and the count always agree.
    let isKept = withShard(of: key) { shard in
      guard shard.pins[key] != nil, shard.frames[key] == nil, reservePinned(new.cost) else { return false }
      shard.frames[key] = new
      shard.pinned.insert(key)
      return true
    }
    return isKept ? new : nil
  }

  private func reservePinned(_ bytes: Int) -> Bool {
    if pinnedTotal.bytes.add(bytes, ordering: .relaxed).newValue <= pinnedCapacityBytes { return true }
    pinnedTotal.bytes.subtract(bytes, ordering: .relaxed)
    return false
  }

  /// Adds `bytes` to the total and evicts frames until the total fits. Returns false, and counts nothing, if no more
  /// frames can be evicted.
  private func makeRoom(for bytes: Int) -> Bool {
    total.bytes.add(bytes, ordering: .relaxed)
    var gone: [CachedFrame] = []
    defer { if !gone.isEmpty { onEvict(gone) } }
    while total.bytes.load(ordering: .relaxed) > capacityBytes {
      guard let frame = evictOne() else {
        total.bytes.subtract(bytes, ordering: .relaxed)
        return false
      }
      gone.append(frame)
    }
    return true
  }

  /// Evicts the first frame, over all shards, that was not used since it was put at the end of the order. `nil` if all
  /// remaining frames are being sent.
  private func evictOne() -> CachedFrame? {
    var endOfRound = lastSequence.load(ordering: .relaxed)
    var rounds = 1
    while true {
      let firsts = shards.map { locked in locked.shard.withLock { $0.order.first?.sequence ?? .max } }
      guard let oldest = firsts.indices.min(by: { firsts[$0] < firsts[$1] }), firsts[oldest] != .max else { return nil }
      if firsts[oldest] > endOfRound {
        // Every frame has had its second chance; those that still can't be evicted after another round are being sent.
        rounds += 1
        if rounds > 2 { return nil }
        endOfRound = lastSequence.load(ordering: .relaxed)
      }
      let gone = shards[oldest].shard.withLock { shard -> CachedFrame? in
        guard let first = shard.popOldest(), !shard.pinned.contains(first.key) else { return nil }
        if !first.clearUsed(), let freed = first.evict() {
          shard.frames[first.key] = nil
          total.bytes.subtract(freed, ordering: .relaxed)
          return first
        }
        shard.appendToOrder(first, at: nextSequence())
        return nil
      }
      if let gone { return gone }
    }
  }

  private func nextSequence() -> Int { lastSequence.add(1, ordering: .relaxed).newValue }

  private func withShard<Result>(of key: RenditionKey, _ body: (inout sending Shard) -> sending Result) -> Result {
    shards[Int(UInt(bitPattern: key.hashValue) % UInt(Self.shardCount))].shard.withLock(body)
  }
}
