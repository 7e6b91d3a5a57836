import DiskCache
import Foundation
import PhotoFixtures
import Synchronization
import Testing

/// The eviction rules once more, in the plainest form.
private struct Model {
  struct Entry {
    let kind: DiskStore.Kind
    let number: Int
    let bytes: Int64
  }

  let capacity: Int64
  /// Least recently used first.
  var entries: [Entry] = []

  func bytes(_ kind: DiskStore.Kind? = nil) -> Int64 {
    entries.filter { kind == nil || $0.kind == kind }.reduce(0) { $0 + $1.bytes }
  }

  mutating func store(_ number: Int, _ kind: DiskStore.Kind) {
    entries.removeAll { $0.kind == kind && $0.number == number }
    let new = Entry(kind: kind, number: number, bytes: Sample.cost(number))
    while bytes() + new.bytes > capacity {
      let frame = entries.firstIndex { $0.kind == .frame }
      let derivative = entries.firstIndex { $0.kind == .derivative }
      let mayGo = derivative.map { bytes(.derivative) - entries[$0].bytes >= capacity / 2 } ?? false
      if let frame {
        entries.remove(at: mayGo ? min(frame, derivative ?? frame) : frame)
      } else {
        entries.removeFirst()
      }
    }
    entries.append(new)
  }

  mutating func use(_ number: Int, _ kind: DiskStore.Kind) {
    guard let index = entries.firstIndex(where: { $0.kind == kind && $0.number == number }) else { return }
    entries.append(entries.remove(at: index))
  }

  func has(_ number: Int, _ kind: DiskStore.Kind) -> Bool {
    entries.contains { $0.kind == kind && $0.number == number }
  }
}

@Suite("Disk cache: eviction")
struct EvictionTests {
  @Test("random stores, uses and restarts leave the same entries as the model", arguments: [1, 2, 3])
  func model(_ seed: UInt64) throws {
    let cache = try TemporaryCache()
    let capacity: Int64 = 400_000
    var model = Model(capacity: capacity)
    var random = SplitMix(state: seed)
    var store = cache.open(capacityBytes: capacity)
    for step in 0..<600 {
      let number = Int.random(in: 0..<70, using: &random)
      // First mostly one kind, then mostly the other.
      let kind: DiskStore.Kind = Int.random(in: 0..<10, using: &random) < (step < 300 ? 3 : 7) ? .derivative : .frame
      switch Int.random(in: 0..<20, using: &random) {
      case 0:
        store.close()
        store = cache.open(capacityBytes: capacity)
      case 1...9:
        #expect(store.finds(number, kind) == model.has(number, kind), "step \(step)")
        model.use(number, kind)
      default:
        store.keep(number, kind)
        model.store(number, kind)
        let now = store.statistics
        #expect(now.frames.bytes == model.bytes(.frame) && now.derivatives.bytes == model.bytes(.derivative))
        #expect(now.frames.entries + now.derivatives.entries == model.entries.count)
        #expect(try cache.diskBytes() <= capacity)
      }
    }
    for number in 0..<70 {
      for kind in DiskStore.Kind.allCases {
        #expect(store.contains(Sample.key(number), kind) == model.has(number, kind), "\(kind) \(number)")
      }
    }
    #expect(store.statistics.corrupt == 0 && store.statistics.dropped == 0)
    store.close()
    #expect(try cache.rows() == Set(cache.entryFiles().keys))
  }

  /// The highest number of bytes on disk at any step from now on.
  private func watched(_ cache: TemporaryCache, _ gate: Gate = Gate()) -> @Sendable () -> Int64 {
    let most = Shared<Int64>(0)
    cache.refuse { [unowned cache] step in
      if step == .commit { gate.pass() }
      let now = (try? cache.diskBytes()) ?? .max
      most.value.withLock { $0 = max($0, now) }
      return 0
    }
    return { most.value.withLock { $0 } }
  }

  @Test("the disk never holds more than the capacity at any step of a batch")
  func bound() throws {
    let cache = try TemporaryCache()
    let capacity: Int64 = 300_000
    let store = cache.open(capacityBytes: capacity)
    let gate = Gate()
    let most = watched(cache, gate)
    for round in 0..<4 {
      // The first entry waits at its commit, so the others become one batch.
      gate.shut()
      for number in 0..<60 { store.store(number + round * 30, number % 2 == 0 ? .frame : .derivative) }
      gate.open()
      store.waitUntilIdle()
    }
    #expect(most() <= capacity)
    #expect(most() > capacity / 2)
    let statistics = store.statistics
    #expect(statistics.evicted > 0 && statistics.frames.bytes + statistics.derivatives.bytes <= capacity)
    store.close()
    #expect(try cache.rows() == Set(cache.entryFiles().keys))
  }

  @Test("storing an entry again never puts it on disk twice")
  func replaced() throws {
    let cache = try TemporaryCache()
    let capacity = 4 * Sample.cost(1)
    let store = cache.open(capacityBytes: capacity)
    for number in 0..<4 { store.keep(1 + number * 20_000) }
    let most = watched(cache)
    for number in 0..<4 { store.keep(1 + number * 20_000) }
    #expect(most() <= capacity && store.statistics.evicted == 0 && store.statistics.stored == 8)
    #expect((0..<4).allSatisfy { store.finds(1 + $0 * 20_000) })
  }

  @Test("an entry that a batch evicts and stores again remains")
  func goesAndComesBack() throws {
    let cache = try TemporaryCache()
    let store = cache.open(capacityBytes: 5 * Sample.cost(1))
    for number in 0..<5 { store.keep(1 + number * 20_000) }
    let gate = Gate()
    gate.shut()
    cache.refuse { step in
      if step == .commit { gate.pass() }
      return 0
    }
    // Held at its commit while the next batch collects: an entry that evicts the oldest one, then the oldest one again.
    store.store(1 + 4 * 20_000)
    store.store(1 + 7 * 20_000)
    store.store(1)
    gate.open()
    store.waitUntilIdle()
    #expect(store.finds(1) && store.finds(1 + 7 * 20_000))
    #expect(store.statistics.frames.entries == 5 && store.statistics.evicted == 2)
    store.close()
    #expect(try cache.rows() == Set(cache.entryFiles().keys))
  }

  @Test("frames never push derivatives below half of the capacity")
  func half() throws {
    let cache = try TemporaryCache()
    let store = cache.open(capacityBytes: 400_000)
    for number in 0..<20 { store.keep(number, .derivative) }
    let before = store.statistics.derivatives
    #expect(before.bytes > 200_000)
    for number in 100..<300 { store.keep(number, .frame) }
    #expect(store.statistics.derivatives.bytes >= 200_000)
    #expect(store.statistics.derivatives.bytes < 200_000 + 25_000)
    #expect(store.statistics.frames.entries > 5)
  }

  @Test("a smaller capacity is enforced from the next start on")
  func smaller() throws {
    let cache = try TemporaryCache()
    let store = cache.open()
    for number in 0..<300 { store.store(number) }
    store.close()
    let later = cache.open(capacityBytes: 200_000)
    later.waitUntilIdle()
    #expect(later.statistics.frames.bytes <= 200_000 && later.statistics.frames.bytes > 150_000)
    #expect(try cache.diskBytes() <= 200_000)
    #expect(later.finds(299) && !later.finds(0))
  }

  @Test("an entry over a quarter of the capacity or over the entry limit is not stored")
  func share() throws {
    let cache = try TemporaryCache()
    var limits = DiskStoreLimits()
    limits.entryBytes = 30_000
    let store = cache.open(capacityBytes: 100_000, limits: limits)
    store.store(Array(repeating: 1, count: 26_000), info: [], for: Sample.key(1), .frame)
    store.store(Array(repeating: 1, count: 20_000), info: [], for: Sample.key(2), .frame)
    store.waitUntilIdle()
    #expect(store.statistics.dropped == 1 && store.statistics.stored == 1)
    store.close()
    let large = cache.open(limits: limits)
    large.store(Array(repeating: 1, count: 30_001), info: [], for: Sample.key(1), .frame)
    #expect(large.statistics.dropped == 1)
  }
}
