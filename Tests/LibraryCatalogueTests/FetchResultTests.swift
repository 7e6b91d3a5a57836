import LibraryCatalogue
import PhotoModel
import Synchronization
import Testing

/// Handles of clients: leases with a manual clock, limits, owners.
@Suite("Fetch results")
struct FetchResultTests {
  private final class ManualClock: Sendable {
    private let instant = Mutex(ContinuousClock.now)
    func now() -> ContinuousClock.Instant { instant.withLock { $0 } }
    func advance(_ duration: Duration) { instant.withLock { $0 += duration } }
  }

  private let other = Principal(name: "other", scopes: [.read])

  private func results(_ change: (inout FetchResultStore.Limits) -> Void = { _ in }) -> (FetchResultStore, ManualClock)
  {
    var limits = FetchResultStore.Limits()
    limits.lease = .seconds(10)
    change(&limits)
    let clock = ManualClock()
    return (FetchResultStore(limits: limits, now: clock.now), clock)
  }

  private func result(_ count: Int) -> FetchResult {
    FetchResult(rows: (0..<count).map { UInt32($0 * 7 % 1009) }, changeToken: ChangeToken(1), fetch: AssetFetch())
  }

  private func keep(_ count: Int, _ results: FetchResultStore, _ owner: Principal = .local) throws -> String {
    try results.keep(result(count), owner: owner)
  }

  @Test("a lease expires after a time without use, and every use renews it")
  func leases() throws {
    let (results, clock) = results()
    let name = try keep(5, results)
    for _ in 0..<5 {
      clock.advance(.seconds(9))
      #expect(results.handles.value(name, owner: .local)?.count == 5)
    }
    clock.advance(.seconds(10))
    #expect(results.handles.value(name, owner: .local) == nil)
    #expect(!results.handles.end(name, owner: .local), "it has ended already")
    let second = try keep(5, results)
    clock.advance(.seconds(11))
    results.expire()
    #expect(results.handles.count == 0 && results.handles.value(second, owner: .local) == nil)
  }

  @Test("a fetch result is visible to its owner only")
  func owners() throws {
    let (results, _) = results()
    let name = try keep(5, results)
    #expect(results.handles.value(name, owner: other) == nil)
    #expect(!results.handles.end(name, owner: other))
    #expect(results.handles.value(name, owner: .local) != nil)
    #expect(results.handles.end(name, owner: .local) && results.handles.value(name, owner: .local) == nil)
    #expect(name.utf8.count == 22, "128 bits")
  }

  @Test("fetch results and transient collections of a caller that can send no more requests end, others stay")
  func endedCallers() throws {
    let (results, _) = results()
    for owner in [other, .local] {
      _ = try keep(5, results, owner)
      _ = try results.keep(FetchResultStore.TransientCollection(title: "t", rows: [0]), owner: owner)
    }
    results.endAll { $0 != other.name }
    #expect(results.handles.values(of: other).isEmpty && results.transientCollections.values(of: other).isEmpty)
    #expect(results.handles.count == 1 && results.transientCollections.count == 1)
  }

  @Test("the number of fetch results is limited, and an ended one makes room")
  func number() throws {
    let (results, clock) = results { $0.handles = 3 }
    let names = try (0..<3).map { _ in try keep(1, results) }
    #expect(throws: LeaseTable<any LeasedFetchResult>.Refusal.tooMany(limit: 3)) { try keep(1, results) }
    #expect(results.handles.value(names[0], owner: .local) != nil, "nothing is given up for something new")
    _ = results.handles.end(names[1], owner: .local)
    _ = try keep(1, results)
    clock.advance(.seconds(10))
    for _ in 0..<3 { _ = try keep(1, results) }
  }

  @Test("fetch results and transient collections share a byte limit, and release their bytes when they end")
  func bytes() throws {
    // Each caller may use half of the limit.
    let (results, clock) = results { $0.bytes = 20_000 }
    #expect(results.assetCapacity(for: .local) == 1000)
    let name = try keep(500, results)
    #expect(results.assetCapacity(for: .local) < 500)
    let transient = FetchResultStore.TransientCollection(title: "t", rows: Array(0..<900))
    _ = try results.keep(transient, owner: .local)
    #expect(throws: LeaseTable<any LeasedFetchResult>.Refusal.tooLargeForOwner(limitBytes: 10_000)) {
      try keep(100, results)
    }
    #expect(throws: LeaseTable<FetchResultStore.TransientCollection>.Refusal.tooLargeForOwner(limitBytes: 10_000)) {
      try results.keep(transient, owner: .local)
    }
    _ = results.handles.end(name, owner: .local)
    _ = try keep(500, results)
    clock.advance(.seconds(10))
    results.expire()
    #expect(results.assetCapacity(for: .local) == 1000)
    // The bytes of the fetch count too.
    var fetch = AssetFetch()
    fetch.scope = .rows(Array(0..<2000))
    let made = FetchResult(rows: [], changeToken: ChangeToken(0), fetch: fetch)
    #expect(made.bytes >= 8000)
  }

  @Test("a caller who fills its half leaves the other half to others, and all together keep the limit")
  func shares() throws {
    let (results, _) = results { $0.bytes = 20_000 }
    let names = try (0..<2).map { _ in try keep(400, results) }
    #expect(throws: LeaseTable<any LeasedFetchResult>.Refusal.tooLargeForOwner(limitBytes: 10_000)) {
      try keep(400, results)
    }
    // A result without a name counts too.
    #expect(throws: LeaseTable<any LeasedFetchResult>.Refusal.tooLargeForOwner(limitBytes: 10_000)) {
      try results.reserve(result(400), owner: .local)
    }
    #expect(results.assetCapacity(for: other) == 1000)
    for _ in 0..<2 { _ = try keep(400, results, other) }
    let third = Principal(name: "third", scopes: [.read])
    #expect(throws: LeaseTable<any LeasedFetchResult>.Refusal.tooLarge(limitBytes: 20_000)) {
      try keep(400, results, third)
    }
    _ = results.handles.end(names[0], owner: .local)
    _ = try keep(400, results, third)
  }

  @Test("a fetch result takes at most sixteen bytes per asset", arguments: [1000, 100_000])
  func bytesPerAsset(_ count: Int) {
    #expect(result(count).bytes <= count * 10 + 1024 && FetchResult.bytesPerAsset <= 16)
  }

  @Test("the index of each member is found, and no index for other assets", arguments: [0, 1, 2, 3, 10, 1009])
  func index(_ count: Int) {
    let result = result(count)
    for position in 0..<count { #expect(result.index(ofRow: UInt32(position * 7 % 1009)) == position) }
    #expect(result.index(ofRow: 4711) == nil && result.index(ofRow: .max) == nil)
    #expect(Array(result.rows(in: 0..<count)) == (0..<count).map { UInt32($0 * 7 % 1009) })
  }

  @Test("members keep their indexes while the library changes, with current properties, or are reported as deleted")
  func members() throws {
    var dice = Dice(3)
    let library = try SyntheticLibrary((1...60).map { SyntheticAsset($0, &dice) })
    var fetch = AssetFetch()
    fetch.includesHidden = true
    fetch.includesAllBurstAssets = true
    let (rows, token) = try library.catalogue.rows(fetch, atMost: 1000, deadline: nil, for: .local)
    #expect(rows.count == 60 && token == ChangeToken(1))
    let before = try identifiers(rows, library)
    let gone = try #require(library.assets.firstIndex { $0.row == Int64(rows[7]) })
    let changed = try #require(library.assets.firstIndex { $0.row == Int64(rows[20]) })
    try library.update(at: changed) { ($0.creationDate, $0.fileSize) = (.max / 2_000_000, 77) }
    try library.delete(at: gone)
    try library.insert([SyntheticAsset(row: 1000, date: 0)])
    let members = try library.catalogue.members(rows[...], for: .local)
    #expect(try identifiers(rows, library) == before)
    for (position, member) in members.enumerated() {
      if case .deleted(let identifier) = member {
        #expect(position == 7 && identifier.rawValue == before[7])
      } else {
        #expect(position != 7)
      }
    }
    guard case .asset(let asset) = members[20] else { throw Missing() }
    #expect(asset.creationDate.milliseconds == .max / 2_000_000)
    #expect(
      try library.catalogue.row(of: LocalIdentifier(before[7]), for: .local) == rows[7], "one that is gone has a place")
    #expect(try library.catalogue.row(of: LocalIdentifier("nobody"), for: .local) == nil)
    let three = [before[20], before[3], before[20]].map(LocalIdentifier.init)
    #expect(try library.catalogue.rows(of: three, deadline: nil, for: .local) == [rows[20], rows[3], rows[20]])
    #expect(throws: AssetSourceError.noSuchAsset(LocalIdentifier(before[7]))) {
      try library.catalogue.rows(of: [LocalIdentifier(before[7])], deadline: nil, for: .local)
    }
    guard case .deleted(let nameless) = try library.catalogue.members([4_000_000], for: .local)[0] else {
      throw Missing()
    }
    #expect(nameless.rawValue == "")
  }

  // If all rows had the same first slot in the hash table, this would take hours.
  @Test("the index of an asset is found in a large result", .timeLimit(.minutes(1)))
  func large() {
    let rows = (1...400_000).reversed().map { UInt32($0) }
    let result = FetchResult(rows: rows, changeToken: ChangeToken(0), fetch: AssetFetch())
    for index in stride(from: 0, to: rows.count, by: 997) { #expect(result.index(ofRow: rows[index]) == index) }
    for row in 400_001...400_999 { #expect(result.index(ofRow: UInt32(row)) == nil) }
  }

  private struct Missing: Error {}

  private func identifiers(_ rows: [UInt32], _ library: SyntheticLibrary) throws -> [String] {
    try library.catalogue.members(rows[...], for: .local).map { member in
      switch member {
      case .asset(let asset): asset.localIdentifier.rawValue
      case .deleted(let identifier): identifier.rawValue
      }
    }
  }
}
