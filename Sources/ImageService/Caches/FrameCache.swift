// Finished frames, kept in memory for whoever asks for the same picture again.
//
// Only final, complete frames of single pictures come here, by the key that says what makes two frames the same picture:
// the content's version is in it, so an entry is never wrong, it only stops being asked for. What has not been asked for
// longest goes first, nearly: an entry that was used since it was last looked at has a second turn, so that a hit writes one
// flag. What is being sent does not go: its bytes would stay, and no longer be counted.
//
// Keys are spread over shards, each with a lock of its own; the bytes are counted over all of them.

import Collections
import PhotoModel
import Synchronization

package final class FrameCache: Sendable {
  private struct Shard {
    var frames: [RenditionKey: CachedFrame] = [:]
    /// Those that may go, in the order in which they came, or had their second turn, and when that was. One that was pinned
    /// since is passed over.
    var order: Deque<(frame: CachedFrame, turn: Int)> = []
    /// How often each key is pinned, whether or not its frame is here.
    var pins: [RenditionKey: Int] = [:]
    /// Frames that are here because they are pinned, and are counted as that.
    var pinned: Set<RenditionKey> = []

    /// Puts a frame last among those that may go, unless it stands there already.
    mutating func list(_ frame: CachedFrame, at turn: Int) {
      if frame.isListed.exchange(true, ordering: .relaxed) { return }
      order.append((frame, turn))
    }

    /// Takes the first of those that may go.
    mutating func unlistFirst() -> CachedFrame? {
      guard let first = order.popFirst()?.frame else { return nil }
      first.isListed.store(false, ordering: .relaxed)
      return first
    }
  }

  /// A lock needs a place of its own.
  private final class Guarded: Sendable {
    let shard = Mutex(Shard())
  }

  /// One frame may take this part of the capacity, so that a single large picture does not turn all others out.
  private static let largestShare = 4
  private static let shardCount = 8

  package let capacityBytes: Int
  package let pinnedCapacityBytes: Int
  private let evicted: @Sendable ([CachedFrame]) -> Void
  private let shards = (0..<shardCount).map { _ in Guarded() }
  private let total = FrameTotal()
  private let pinnedTotal = FrameTotal()
  /// Goes up with every frame that is put last, whichever its shard.
  private let turns = Atomic<Int>(0)

  /// - Parameters:
  ///   - capacityBytes: what all frames that are not pinned may take together, with what is attached to them; 0 keeps none.
  ///   - pinnedCapacityBytes: what pinned frames may take beside that.
  ///   - evicted: told of the frames that went, after they went, on the thread whose frame took their place.
  package init(
    capacityBytes: Int, pinnedCapacityBytes: Int = 0, evicted: @escaping @Sendable ([CachedFrame]) -> Void = { _ in }
  ) {
    self.capacityBytes = capacityBytes
    self.pinnedCapacityBytes = pinnedCapacityBytes
    self.evicted = evicted
  }

  /// Bytes that are taken now, pinned ones too.
  package var byteCount: Int { total.bytes.load(ordering: .relaxed) + pinnedByteCount }
  package var pinnedByteCount: Int { pinnedTotal.bytes.load(ordering: .relaxed) }

  /// The frame for a key, if it is there. Constant time.
  package func frame(for key: RenditionKey) -> CachedFrame? {
    guard let frame = withShard(of: key, { $0.frames[key] }) else { return nil }
    frame.use()
    return frame
  }

  /// The frame for a key, if it is there, for one who does not ask for it to show it. Constant time.
  func unusedFrame(for key: RenditionKey) -> CachedFrame? { withShard(of: key) { $0.frames[key] } }

  /// What a key's frame takes, if it is here because it is pinned.
  package func pinnedBytes(_ key: RenditionKey) -> Int? {
    withShard(of: key) { shard in shard.pinned.contains(key) ? shard.frames[key]?.cost : nil }
  }

  /// How many pins there are, each as often as it was pinned. Linear; for tests.
  package var pinCount: Int {
    shards.reduce(0) { $0 + $1.shard.withLock { $0.pins.values.reduce(0, +) } }
  }

  /// Keeps a frame, and lets go of what it takes the place of. `nil`: it is too large, or nothing may go for it.
  ///
  /// The frame must be final and complete, and made of a file that was unchanged afterwards.
  package func store(_ frame: ImageFrame, for key: RenditionKey) -> CachedFrame? {
    precondition(!frame.result.isDegraded && !frame.result.isIncomplete, "only final, complete frames are kept")
    if let pinned = storePinned(frame, for: key) { return pinned }
    let cost = CachedFrame.cost(of: frame)
    guard cost <= capacityBytes / Self.largestShare, makeRoom(for: cost) else { return nil }
    let new = CachedFrame(frame, key: key, total: total)
    let kept = withShard(of: key) { shard in
      // Two renders of one picture at the same time: the first to come stays.
      if let known = shard.frames[key] { return known }
      shard.frames[key] = new
      shard.list(new, at: nextTurn())
      return new
    }
    if kept !== new { total.bytes.subtract(cost, ordering: .relaxed) }
    return kept
  }

  /// Lets go of what is over the capacity, after something was attached.
  package func trim() { _ = makeRoom(for: 0) }

  /// Keeps the frame of a key, now or when it comes, until it was unpinned as often: within `pinnedCapacityBytes`, beyond
  /// which a pinned frame is as any other. Whether it was used is told anew from then on.
  package func pin(_ key: RenditionKey) {
    withShard(of: key) { shard in
      shard.pins[key, default: 0] += 1
      guard !shard.pinned.contains(key), let frame = shard.frames[key], reservePinned(frame.cost) else { return }
      _ = frame.takeUse()
      total.bytes.subtract(frame.cost, ordering: .relaxed)
      shard.pinned.insert(key)
    }
  }

  package func unpin(_ key: RenditionKey) {
    let isLoose = withShard(of: key) { shard in
      guard let count = shard.pins[key] else { return false }
      shard.pins[key] = count == 1 ? nil : count - 1
      guard count == 1, shard.pinned.remove(key) != nil, let frame = shard.frames[key] else { return false }
      pinnedTotal.bytes.subtract(frame.cost, ordering: .relaxed)
      total.bytes.add(frame.cost, ordering: .relaxed)
      shard.list(frame, at: nextTurn())
      return true
    }
    if isLoose { trim() }
  }

  /// Keeps a frame of a pinned key beside all others. `nil`: it is not pinned, or there is no room left.
  private func storePinned(_ frame: ImageFrame, for key: RenditionKey) -> CachedFrame? {
    guard pinnedCapacityBytes > 0, withShard(of: key, { $0.pins[key] != nil && $0.frames[key] == nil }) else {
      return nil
    }
    let new = CachedFrame(frame, key: key, total: total)
    // Counted where it comes in, so that what is pinned and what is counted are one at any moment.
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

  /// Counts `bytes` in, and lets go of others until all fit. False: nothing more may go, and nothing was counted.
  private func makeRoom(for bytes: Int) -> Bool {
    total.bytes.add(bytes, ordering: .relaxed)
    var gone: [CachedFrame] = []
    defer { if !gone.isEmpty { evicted(gone) } }
    while total.bytes.load(ordering: .relaxed) > capacityBytes {
      guard let frame = evictOne() else {
        total.bytes.subtract(bytes, ordering: .relaxed)
        return false
      }
      gone.append(frame)
    }
    return true
  }

  /// Lets go of the frame whose time has come: the first of all shards that was not used since it was put last. `nil`: all
  /// that are left are being sent.
  private func evictOne() -> CachedFrame? {
    var endOfRound = turns.load(ordering: .relaxed)
    var rounds = 1
    while true {
      let firsts = shards.map { guarded in guarded.shard.withLock { $0.order.first?.turn ?? .max } }
      guard let oldest = firsts.indices.min(by: { firsts[$0] < firsts[$1] }), firsts[oldest] != .max else { return nil }
      if firsts[oldest] > endOfRound {
        // Everyone has had a second turn; whoever is still not to go after that is being sent.
        rounds += 1
        if rounds > 2 { return nil }
        endOfRound = turns.load(ordering: .relaxed)
      }
      let gone = shards[oldest].shard.withLock { shard -> CachedFrame? in
        guard let first = shard.unlistFirst(), !shard.pinned.contains(first.key) else { return nil }
        if !first.takeUse(), let freed = first.evict() {
          shard.frames[first.key] = nil
          total.bytes.subtract(freed, ordering: .relaxed)
          return first
        }
        shard.list(first, at: nextTurn())
        return nil
      }
      if let gone { return gone }
    }
  }

  private func nextTurn() -> Int { turns.add(1, ordering: .relaxed).newValue }

  private func withShard<Result>(of key: RenditionKey, _ body: (inout sending Shard) -> sending Result) -> Result {
    shards[Int(UInt(bitPattern: key.hashValue) % UInt(Self.shardCount))].shard.withLock(body)
  }
}
