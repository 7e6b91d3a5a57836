// Final frames in memory, for repeated requests for the same picture.
//
// Only final, complete frames of single pictures are stored. The key identifies the picture and includes the version of
// the content, so an entry never becomes wrong; it only stops being requested. Eviction is close to least recently used
// (second chance): a frame that was used since it was last examined moves to the end of the order once more, so a hit
// only sets one flag. Frames that are being sent are not evicted: their bytes would stay in memory but no longer be
// counted.
//
// All callers are workers of queues. Connections answer repeated requests from prepared responses, which need no lookup
// here.

import DequeModule
import PhotoModel
import Synchronization

package final class FrameCache: Sendable {
  private struct State {
    var frames: [RenditionKey: CachedFrame] = [:]
    /// Frames that may be evicted, in the order in which they were added or got their second chance. Frames that were
    /// pinned since are skipped.
    var order: Deque<CachedFrame> = []
    /// How often each key is pinned, whether or not its frame is present.
    var pins: [RenditionKey: Int] = [:]
    /// Frames that are kept because they are pinned. They count towards the pinned capacity.
    var pinned: Set<RenditionKey> = []
    var pinnedBytes = 0

    /// Puts a frame at the end of the eviction order, unless it is already in it.
    mutating func appendToOrder(_ frame: CachedFrame) {
      if frame.isInEvictionOrder.exchange(true, ordering: .relaxed) { return }
      order.append(frame)
    }

    /// Removes and returns the first frame of the eviction order.
    mutating func popOldest() -> CachedFrame? {
      guard let first = order.popFirst() else { return nil }
      first.isInEvictionOrder.store(false, ordering: .relaxed)
      return first
    }
  }

  /// One frame may take at most 1/4 of the capacity, so that a single large picture does not evict all others.
  private static let capacityDivisor = 4
  /// Frames that are examined for eviction before the lock is released for a moment.
  private static let examinedAtOnce = 256

  let capacityBytes: Int
  package let pinnedCapacityBytes: Int
  private let onEvict: @Sendable ([CachedFrame]) -> Void
  private let state = Mutex(State())
  /// All frames that are not pinned.
  private let total = ByteCounter()

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
  package var pinnedByteCount: Int { state.withLock { $0.pinnedBytes } }

  /// The frame for a key, if it is cached; counts as a use. Constant time.
  package func frame(for key: RenditionKey) -> CachedFrame? {
    guard let frame = peekFrame(for: key) else { return nil }
    frame.markUsed()
    return frame
  }

  /// The frame for a key, if it is cached; does not count as a use. Constant time.
  func peekFrame(for key: RenditionKey) -> CachedFrame? { state.withLock { $0.frames[key] } }

  /// Counts as a use of a key's frame if the frame is kept as pinned: a client has requested it, and gets the same
  /// picture in another encoding. A frame that is not pinned gets no second chance for that.
  func markPinnedUsed(_ key: RenditionKey) {
    let frame = state.withLock { state in state.pinned.contains(key) ? state.frames[key] : nil }
    frame?.markUsed()
  }

  /// The cost of a key's frame, if the frame is kept as pinned.
  package func pinnedByteCount(of key: RenditionKey) -> Int? {
    state.withLock { state in state.pinned.contains(key) ? state.frames[key]?.cost : nil }
  }

  /// Number of pins; a key that was pinned twice counts twice. Linear; for tests.
  package var pinCount: Int { state.withLock { $0.pins.values.reduce(0, +) } }

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
    let kept = state.withLock { state -> CachedFrame in
      // If two renders of one picture finish at the same time, the first one stays.
      if let known = state.frames[key] { return known }
      state.frames[key] = new
      state.appendToOrder(new)
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
    state.withLock { state in
      state.pins[key, default: 0] += 1
      guard let frame = state.frames[key], keepAsPinned(frame, &state) else { return }
      _ = frame.clearUsed()
      total.bytes.subtract(frame.cost, ordering: .relaxed)
    }
  }

  package func unpin(_ key: RenditionKey) {
    let wasPinned = state.withLock { state in
      guard let count = state.pins[key] else { return false }
      state.pins[key] = count == 1 ? nil : count - 1
      guard count == 1, state.pinned.remove(key) != nil, let frame = state.frames[key] else { return false }
      state.pinnedBytes -= frame.cost
      total.bytes.add(frame.cost, ordering: .relaxed)
      state.appendToOrder(frame)
      return true
    }
    if wasPinned { trim() }
  }

  /// Stores the frame of a pinned key. `nil` if the key is not pinned or the pinned capacity is used up.
  private func storePinned(_ frame: ImageFrame, for key: RenditionKey) -> CachedFrame? {
    guard pinnedCapacityBytes > 0, state.withLock({ $0.pins[key] != nil && $0.frames[key] == nil }) else { return nil }
    let new = CachedFrame(frame, key: key, total: total)
    let isKept = state.withLock { state in
      guard state.pins[key] != nil, state.frames[key] == nil, keepAsPinned(new, &state) else { return false }
      state.frames[key] = new
      return true
    }
    return isKept ? new : nil
  }

  /// Counts a frame as pinned. Returns false if it already is, or if the pinned capacity is used up.
  private func keepAsPinned(_ frame: CachedFrame, _ state: inout State) -> Bool {
    guard state.pinnedBytes + frame.cost <= pinnedCapacityBytes, state.pinned.insert(frame.key).inserted else {
      return false
    }
    state.pinnedBytes += frame.cost
    return true
  }

  /// Adds `bytes` to the total and evicts frames until the total fits. Returns false, and counts nothing, if no more
  /// frames can be evicted.
  private func makeRoom(for bytes: Int) -> Bool {
    total.bytes.add(bytes, ordering: .relaxed)
    var gone: [CachedFrame] = []
    defer { if !gone.isEmpty { onEvict(gone) } }
    var keptSinceLast = 0
    var mayEvict = true
    while total.bytes.load(ordering: .relaxed) > capacityBytes {
      guard mayEvict else {
        total.bytes.subtract(bytes, ordering: .relaxed)
        return false
      }
      mayEvict = state.withLock { evictOldest(&$0, into: &gone, keptSinceLast: &keptSinceLast) }
    }
    return true
  }

  /// Evicts frames that were not used since they were put at the end of the order, until the total fits; examines a
  /// limited number of frames.
  ///
  /// - Parameters:
  ///   - gone: gets the evicted frames. They are released without the lock.
  ///   - keptSinceLast: the number of frames that were examined and kept since the last eviction.
  /// - Returns: false if all remaining frames are being sent: each has had its second chance and was kept again.
  private func evictOldest(_ state: inout State, into gone: inout [CachedFrame], keptSinceLast: inout Int) -> Bool {
    for _ in 0..<Self.examinedAtOnce {
      if total.bytes.load(ordering: .relaxed) <= capacityBytes { break }
      guard keptSinceLast < 2 * state.order.count, let first = state.popOldest() else { return false }
      if state.pinned.contains(first.key) { continue }
      if !first.clearUsed(), let freed = first.evict() {
        state.frames[first.key] = nil
        total.bytes.subtract(freed, ordering: .relaxed)
        gone.append(first)
        keptSinceLast = 0
      } else {
        state.appendToOrder(first)
        keptSinceLast += 1
      }
    }
    return true
  }
}
