import ImageService
import PhotoModel
import Testing

/// Whose the managers are, how many there may be, how long they live, and how they are changed.
extension CachingManagerTests {
  @Test("a manager is visible only to its owner, and every principal has a default manager")
  func owners() async throws {
    let harness = CachingHarness()
    let made = try harness.managers.make(for: CachingHarness.owner)
    #expect(made.id.count == 32)
    #expect(try harness.managers.status(made.id, for: Self.other) == nil)
    #expect(!harness.managers.end(made.id, for: Self.other))
    #expect(
      try harness.managers.start([harness.library.names[0]], CachingHarness.options(), id: made.id, for: Self.other)
        == nil
    )
    _ = try harness.start(0..<3)
    #expect(try harness.managers.status("default", for: Self.other)?.pinned == 0)
    #expect(harness.managers.all(of: CachingHarness.owner).map(\.id) == ["default", made.id])
    // A caller with the permission can see and end it.
    #expect(harness.managers.all(of: Self.other).map(\.id) == ["default"])
    let listed = harness.managers.all(of: Self.other, includingOtherOwners: true).map(\.id)
    #expect(listed.prefix(2) == ["default", made.id] && listed.count == 3)
    let brief = try harness.managers.make(for: CachingHarness.owner, lease: .seconds(10))
    for _ in 0..<2 {
      harness.advance(by: .seconds(4))
      #expect(try harness.managers.status(brief.id, for: Self.other, includingOtherOwners: true)?.id == brief.id)
    }
    harness.advance(by: .seconds(4))
    #expect(
      try harness.managers.status(brief.id, for: Self.other, includingOtherOwners: true) == nil, "that renews no lease")
    #expect(harness.managers.end(made.id, for: Self.other, includingOtherOwners: true))
    #expect(try harness.managers.status(made.id, for: CachingHarness.owner) == nil)
    #expect(harness.managers.end("default", for: Self.other) && harness.managers.end("default", for: Self.other))
    try await harness.untilQuiet()
    #expect(harness.pinned() == Set(0..<3))
  }

  @Test("each client of a principal has its own default manager, within the limit of the principal's managers")
  func clients() async throws {
    var limits = CachingLimits()
    limits.managersPerCaller = 3
    let harness = CachingHarness(10, limits)
    let (managers, owner) = (harness.managers, CachingHarness.owner)
    func start(_ index: Int, _ client: String?) throws {
      _ = try managers.start(
        [harness.library.names[index]], CachingHarness.options(), id: "default", client: client, for: owner)
    }
    for (index, client) in ["phone", nil, "tab"].enumerated() { try start(index, client) }
    let made = try managers.make(for: owner)
    try await harness.untilQuiet()
    let all = managers.all(of: owner)
    #expect(all.map(\.client) == [nil, "phone", "tab", nil])
    #expect(all.map(\.id) == ["default", "default", "default", made.id] && all.map(\.ready) == [1, 1, 1, 0])
    // They count, unlike the manager that every principal has.
    for attempt in [{ _ = try managers.make(for: owner) }, { try start(3, "another") }] {
      #expect(throws: CachingManagerRegistry.CachingError.tooManyManagers(limit: 3)) { try attempt() }
    }
    // A created manager is the same for every client.
    #expect(try #require(try managers.status(made.id, client: "phone", for: owner)).client == nil)
    // Others see them only with the permission.
    #expect(managers.all(of: Self.other).map(\.id) == ["default"])
    let shown = managers.all(of: Self.other, includingOtherOwners: true).dropFirst()
    #expect(shown.map(\.client) == ["phone", nil, "tab", nil])
    #expect(try managers.status("default", client: "phone", for: Self.other)?.pinned == 0)
    #expect(managers.end("default", client: "phone", for: owner))
    #expect(harness.pinned() == [1, 2])
    try start(3, "another")
    _ = try managers.stopAll(id: "default", client: "tab", for: owner)
    try await harness.untilQuiet()
    #expect(harness.pinned() == [1, 3])
  }

  @Test("with the permission, another owner's default manager is listed, read and ended under an ID of its own")
  func othersDefault() async throws {
    let harness = CachingHarness()
    let managers = harness.managers
    _ = try harness.start(0..<3)
    try await harness.untilQuiet()
    let listed = managers.all(of: Self.other, includingOtherOwners: true)
    let id = try #require(listed.last?.id)
    #expect(listed.count == 2 && id.count == 32 && listed[1].ready == 3)
    let again = managers.all(of: Self.other, includingOtherOwners: true).map(\.id)
    #expect(again == ["default", id], "it keeps its ID")
    #expect(try managers.status(id, for: Self.other, includingOtherOwners: true)?.ready == 3)
    // The ID is of no use to others, and the owner's own name for it stays.
    #expect(try managers.status(id, for: Self.other) == nil && !managers.end(id, for: Self.other))
    #expect(managers.all(of: CachingHarness.owner).map(\.id) == ["default"])
    // An administrator's `default` is its own.
    #expect(try managers.status("default", for: Self.other, includingOtherOwners: true)?.ready == 0)
    #expect(managers.end(id, for: Self.other, includingOtherOwners: true))
    #expect(harness.images.cache.pinCount == 0)
    #expect(try managers.status(id, for: Self.other, includingOtherOwners: true) == nil)
  }

  @Test("all managers of a caller that can send no more requests end, whatever their lease")
  func endedCaller() async throws {
    let harness = CachingHarness()
    let (managers, owner) = (harness.managers, CachingHarness.owner)
    let made = try managers.make(for: owner, lease: .seconds(86_400))
    _ = try harness.start(0..<3)
    _ = try harness.start(3..<6, id: made.id)
    _ = try managers.start([harness.library.names[9]], CachingHarness.options(), id: "default", for: Self.other)
    try await harness.untilQuiet()
    managers.tick()
    managers.sync()
    #expect(harness.pinned() == [0, 1, 2, 3, 4, 5, 9])
    managers.tick { $0 != owner.name }
    managers.sync()
    #expect(managers.all(of: owner).map(\.id) == ["default"] && managers.all(of: owner)[0].pinned == 0)
    #expect(harness.pinned() == [9])
    #expect(managers.all(of: Self.other).map(\.ready) == [1])
  }

  @Test("a caller that is alone may have all entries; while others have some, each can add up to half of them")
  func shares() throws {
    var limits = CachingLimits()
    limits.totalAssets = 8
    let harness = CachingHarness(40, limits)
    let (managers, owner, third) = (
      harness.managers, CachingHarness.owner, Principal(name: "third", scopes: [.read])
    )
    func start(_ indices: Range<Int>, _ owner: Principal) throws -> Int? {
      let names = indices.map { harness.library.names[$0] }
      return try managers.start(names, CachingHarness.options(), id: "default", for: owner)?.started
    }
    #expect(try start(0..<10, owner) == 8)
    // What the first one has beyond its share takes no place from another one.
    #expect(try start(10..<20, Self.other) == 4)
    #expect(try start(20..<30, owner) == 0 && start(20..<30, third) == 0)
    _ = try managers.stopAll(id: "default", for: Self.other)
    #expect(try start(20..<30, owner) == 0 && start(20..<30, third) == 4)
    _ = try managers.stopAll(id: "default", for: owner)
    #expect(try start(30..<40, third) == 4, "it is alone now")
  }

  @Test("the number of managers is limited for each principal and in total")
  func limits() throws {
    var limits = CachingLimits()
    limits.managers = 4
    limits.managersPerCaller = 3
    let harness = CachingHarness(1, limits)
    for _ in 0..<3 { _ = try harness.managers.make(for: CachingHarness.owner) }
    #expect(throws: CachingManagerRegistry.CachingError.tooManyManagers(limit: 3)) {
      try harness.managers.make(for: CachingHarness.owner)
    }
    #expect(try harness.managers.change("default", for: CachingHarness.owner) != nil)
    for attempt in [
      { _ = try harness.managers.make(for: Self.other) },
      { _ = try harness.managers.change("default", for: Self.other) },
    ] { #expect(throws: CachingManagerRegistry.CachingError.tooManyManagers(limit: 4)) { try attempt() } }
    // Reading needs no room.
    #expect(try harness.managers.status("default", for: Self.other)?.pinned == 0)
    #expect(harness.managers.all(of: Self.other).map(\.id) == ["default"])
    #expect(harness.managers.all(of: CachingHarness.owner).count == 4 && harness.managers.counts.managers == 4)
    // Managers without calls expire and make room.
    harness.advance(by: .seconds(300))
    #expect(throws: Never.self) { try harness.managers.make(for: Self.other) }
  }

  @Test(
    "a client's own lease may be longer than the default, up to a day",
    arguments: [(nil, 300), (10, 10), (3600, 3600), (86_400, 86_400), (86_401, 86_400)] as [(Int?, Int)])
  func ownLease(wanted: Int?, granted: Int) throws {
    let harness = CachingHarness()
    let manager = try harness.managers.make(for: CachingHarness.owner, lease: wanted.map { .seconds($0) })
    #expect(manager.lease == .seconds(granted))
    harness.advance(by: .seconds(granted - 1))
    #expect(try harness.managers.status(manager.id, for: CachingHarness.owner) != nil)
    harness.advance(by: .seconds(granted))
    #expect(try harness.managers.status(manager.id, for: CachingHarness.owner) == nil)
  }

  @Test("the operator's maximum limits every lease, and a lease can be changed")
  func maximumLease() throws {
    var limits = CachingLimits()
    limits.maximumLease = .seconds(100)
    let harness = CachingHarness(1, limits)
    let (managers, owner) = (harness.managers, CachingHarness.owner)
    #expect(try managers.make(for: owner).lease == .seconds(100))
    #expect(try managers.make(for: owner, lease: .seconds(101)).lease == .seconds(100))
    #expect(try managers.status("default", for: owner)?.lease == .seconds(100))
    #expect(try managers.change("default", for: owner, lease: .seconds(101))?.lease == .seconds(100))
    #expect(try managers.change("default", for: owner, lease: .seconds(20))?.lease == .seconds(20))
    harness.advance(by: .seconds(19))
    #expect(managers.all(of: owner)[0].lease == .seconds(20))
    harness.advance(by: .seconds(1))
    #expect(managers.all(of: owner)[0].lease == .seconds(100), "it starts again with the default values")
    let made = try managers.make(for: owner)
    #expect(try managers.change(made.id, for: Self.other, lease: .seconds(1)) == nil)
  }

  @Test("quality that is allowed again prepares what was left out; forbidden again, ready frames stay")
  func changedQuality() async throws {
    let harness = CachingHarness()
    let (managers, owner) = (harness.managers, CachingHarness.owner)
    func change(_ allowsHighQuality: Bool) async throws -> CachingStatus? {
      let status = try managers.change("default", for: owner, allowsHighQuality: allowsHighQuality)
      #expect(status?.allowsHighQuality == allowsHighQuality)
      try await harness.untilQuiet()
      return try managers.status("default", for: owner)
    }
    _ = try await change(false)
    _ = try harness.start(0..<3)
    try harness.move(20..<25)
    try await harness.untilQuiet()
    let reduced = try #require(try managers.status("default", for: owner))
    #expect(reduced.ready == 0 && reduced.leftOut == 18 && reduced.window?.quality == .reduced)
    let high = try #require(try await change(true))
    #expect(high.ready == 18 && high.leftOut == 0 && high.window?.quality == .high && high.window?.ready == 15)
    let again = try #require(try await change(false))
    #expect(again.ready == 18 && again.counts.prepared == 18 && again.window?.quality == .reduced)
    _ = try harness.start(5..<7)
    try await harness.untilQuiet()
    #expect(harness.pinned() == Set(0..<3).union(15..<30))
  }

  @Test("frames that were left out and that the window no longer wants are not counted as left out")
  func unwantedFrames() async throws {
    let harness = CachingHarness(100, Self.steady)
    let (managers, owner) = (harness.managers, CachingHarness.owner)
    func leftOut() throws -> Int? { try managers.status("default", for: owner)?.leftOut }
    _ = try managers.change("default", for: owner, allowsHighQuality: false)
    for first in [10, 18] {
      try harness.move(first..<first + 6, margin: 6)
      harness.advance(by: .seconds(5))
      try await harness.untilQuiet()
      #expect(try leftOut() == 18)
    }
    _ = try managers.change("default", for: owner, allowsHighQuality: true)
    try await harness.untilQuiet()
    #expect(harness.pinned() == Set(12..<30))
    #expect(try leftOut() == 0)
  }

  @Test("an expired lease ends the manager and its pins; every call renews it")
  func leases() async throws {
    let harness = CachingHarness()
    let brief = try harness.managers.make(for: CachingHarness.owner, lease: .seconds(10))
    _ = try harness.start(0..<3)
    _ = try harness.start(3..<6, id: brief.id)
    try await harness.untilQuiet()
    for _ in 0..<3 {
      harness.advance(by: .seconds(9))
      #expect(try harness.managers.status(brief.id, for: CachingHarness.owner)?.ready == 3)
    }
    harness.advance(by: .seconds(10))
    harness.managers.tick()
    harness.managers.sync()
    #expect(harness.pinned() == Set(0..<3))
    #expect(try harness.managers.status(brief.id, for: CachingHarness.owner) == nil)
    harness.advance(by: .seconds(300))
    harness.managers.tick()
    harness.managers.sync()
    #expect(harness.images.cache.pinCount == 0 && harness.managers.counts.managers == 0)
    #expect(try harness.managers.status("default", for: CachingHarness.owner)?.pinned == 0)
  }
}
