import Foundation
import GRDB
import PhotoFixtures
import PhotoModel
import PhotoPredicate
import Testing

@testable import LibraryCatalogue

/// The reads of a limited principal, compared with a library that has only the granted collections, through random
/// edits inside and outside.
@Suite("Limited access")
struct LimitedAccessTests {
  @Test(
    "every read of a limited caller equals that of a library with only the granted collections",
    arguments: Sampling.cases(2, of: 0..<8, "reads of limited callers"))
  func agreement(_ seed: Int) throws {
    var dice = Dice(seed + 900)
    let world = try RandomLibrary(&dice)
    let principals = (0..<3).map { Self.principal(granted: world.someGrants(&dice), $0) }
    var readCount = 0
    for round in 0..<3 {
      for principal in principals {
        readCount += try check(principal, world, seed: seed * 100 + round, "seed \(seed), round \(round)")
      }
      for _ in 0..<12 { try world.edit(&dice) }
    }
    #expect(readCount > 3000)
  }

  @Test("a caller without granted collections, or with unknown ones, sees an empty library")
  func nothing() throws {
    var dice = Dice(4)
    let world = try RandomLibrary(&dice)
    let smart = try world.library.rules().map(\.identifier)
    let moments = try world.library.catalogue.collections(CollectionQuery(type: .moment), for: .local).collections
    for granted in [[], ["none"], smart, ["momentListYear.1970"], moments.map(\.localIdentifier.rawValue)] {
      let principal = Self.principal(granted: Set(granted.map(LocalIdentifier.init)), 0)
      _ = try check(principal, world, seed: 1, "\(granted)")
      #expect(try world.library.catalogue.count(AssetFetch(), deadline: nil, for: principal) == 0)
    }
  }

  @Test("a limited caller's tokens and revisions change only with what it can see", arguments: 0..<6)
  func tokens(_ seed: Int) throws {
    var dice = Dice(seed + 300)
    let world = try RandomLibrary(&dice)
    var principals = (0..<2).map { Self.principal(granted: world.someGrants(&dice), $0) }
    // The same without the location scope.
    principals += principals.map { Principal(name: $0.name + "-", scopes: [.read], visibility: $0.visibility) }
    var before = try principals.map { try world.seen(by: $0) }
    var (still, moved) = (0, 0)
    for _ in 0..<50 {
      try world.edit(&dice)
      for (index, principal) in principals.enumerated() {
        let after = try world.seen(by: principal)
        if after.content == before[index].content {
          still += 1
          #expect(after.token == before[index].token, "nothing that it sees is another")
        } else {
          moved += 1
          #expect(after.token != before[index].token, "\(after.content.symmetricDifference(before[index].content))")
        }
        before[index] = after
      }
    }
    #expect(still > 20 && moved > 5)
  }

  @Test("a member that is no longer visible is reported as deleted; one that never was has no identifier")
  func members() throws {
    let library = try SyntheticLibrary((1...9).map { SyntheticAsset(row: $0, date: $0 * 1000) })
    let album = try library.makeAlbum("mine", [1, 2, 3, 4])
    _ = try library.makeAlbum("other", [4, 5, 6])
    let principal = Self.principal(granted: [LocalIdentifier("album-mine")], 0)
    let catalogue = library.catalogue
    let rows = try catalogue.rows(AssetFetch(), atMost: 100, deadline: nil, for: principal).rows
    #expect(rows == [4, 3, 2, 1])
    try library.queue.write { db in
      try db.execute(sql: "DELETE FROM member WHERE collection = ? AND asset IN (3, 4)", arguments: [album])
      try db.execute(sql: "DELETE FROM asset WHERE id IN (1, 6)")
    }
    let names = library.assets.map(\.identifier)
    var found: [String] = []
    for member in try catalogue.members(ArraySlice((1...10).map { UInt32($0) }), for: principal) {
      switch member {
      case .asset(let asset): found.append(asset.localIdentifier.rawValue)
      case .deleted(let name): found.append("-" + name.rawValue)
      }
    }
    #expect(found == ["-" + names[0], names[1], "-" + names[2], "-" + names[3], "-", "-", "-", "-", "-", "-"])
    for (row, name) in names.enumerated() {
      let expected = row < 4 ? UInt32(row + 1) : nil
      #expect(try catalogue.row(of: LocalIdentifier(name), for: principal) == expected)
    }
  }

  @Test("looking up an invisible asset runs the same statements as looking up an unknown one")
  func sameSteps() throws {
    let record = StatementRecord()
    let library = try SyntheticLibrary(
      (1...9).map { SyntheticAsset(row: $0, date: $0 * 1000) }, traced: { record.append($0) })
    _ = try library.makeAlbum("mine", [1, 2])
    _ = try library.makeAlbum("other", [5])
    _ = try library.makeFolder("folder")
    let principal = Self.principal(granted: [LocalIdentifier("album-mine")], 0)
    let catalogue = library.catalogue
    _ = try catalogue.count(AssetFetch(), deadline: nil, for: principal)
    func statements(_ name: String) throws -> [String] {
      record.clear()
      let name = LocalIdentifier(name)
      #expect(try catalogue.asset(name, for: principal) == nil)
      #expect(try catalogue.row(of: name, for: principal) == nil)
      #expect(throws: AssetSourceError.noSuchAsset(name)) {
        try catalogue.rows(of: [name], deadline: nil, for: principal)
      }
      #expect(try catalogue.collection(name, CollectionQuery(), for: principal) == nil)
      #expect(try catalogue.scope(of: name, for: principal) == nil)
      #expect(throws: AssetSourceError.noSuchCollection) {
        try catalogue.collections(CollectionQuery(parent: name), for: principal)
      }
      return record.statements
    }
    let never = try statements("never")
    #expect(never.count > 10)
    for outside in [library.assets[4].identifier, "album-other", "folder-folder"] {
      #expect(try statements(outside) == never)
    }
  }

  @Test("a limited library is prepared once, before the first fetch, and again after unused ones were deleted")
  func prepared() throws {
    let library = try SyntheticLibrary((1...4).map { SyntheticAsset(row: $0, date: $0 * 1000) })
    _ = try library.makeAlbum("mine", [1, 2])
    let catalogue = library.catalogue
    let mine = Self.principal(granted: [LocalIdentifier("album-mine")], 0)
    #expect(catalogue.hasPreparedLibrary(of: .local), "the whole library always exists")
    for _ in 0..<2 {
      #expect(!catalogue.hasPreparedLibrary(of: mine))
      try catalogue.prepareLibrary(of: mine)
      #expect(catalogue.hasPreparedLibrary(of: mine))
      let kept = try library.queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM library WHERE id > 0") }
      #expect(kept == 1)
      try catalogue.pruneLimitedLibraries()
    }
  }

  @Test("a limited library is created once, kept while it is used, and deleted after a time without use")
  func lifetime() throws {
    let library = try SyntheticLibrary((1...9).map { SyntheticAsset(row: $0, date: $0 * 1000) })
    _ = try library.makeAlbum("mine", [1, 2])
    _ = try library.makeAlbum("other", [2, 3, 4])
    let catalogue = library.catalogue
    let mine = Self.principal(granted: [LocalIdentifier("album-mine")], 0)
    let other = Self.principal(granted: [LocalIdentifier("album-other")], 1)
    func kept() throws -> Int {
      try library.queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM library WHERE id > 0") ?? 0 }
    }
    let generation = catalogue.generation
    for _ in 0..<3 {
      for principal in [mine, other] { _ = try catalogue.count(AssetFetch(), deadline: nil, for: principal) }
    }
    #expect(try kept() == 2)
    #expect(catalogue.generation == generation, "it is no change of the library")
    let now = Int64(Date().timeIntervalSince1970 * 1000)
    func day(_ number: Int64) -> Timestamp { Timestamp(milliseconds: now + number * 86_400_000) }
    try catalogue.pruneLimitedLibraries(now: day(20))
    #expect(try catalogue.count(AssetFetch(), deadline: nil, for: mine) == 2)
    try catalogue.pruneLimitedLibraries(now: day(21))
    #expect(try kept() == 2)
    try catalogue.pruneLimitedLibraries(now: day(51))
    #expect(try kept() == 1, "the other was not used for more than thirty days")
    let rest = try library.queue.read { db in
      try ["libraryGrant", "libraryCollection", "libraryAsset", "removedObject", "counter", "dayCount"].map {
        try Int.fetchOne(db, sql: "SELECT count(DISTINCT library) FROM \($0) WHERE library > 0") ?? 0
      }
    }
    #expect(rest == [1, 1, 1, 0, 1, 1])
    #expect(try catalogue.count(AssetFetch(), deadline: nil, for: other) == 3, "it comes back when it is asked for")
    var differences: [CheckDifference] = []
    try catalogue.checkConsistency { differences.append($0) }
    #expect(differences.isEmpty)
  }

  @Test("a response for a limited caller is prepared again after its unused library was deleted")
  func deletedLibrary() throws {
    let library = try SyntheticLibrary((1...4).map { SyntheticAsset(row: $0, date: $0 * 1000) })
    _ = try library.makeAlbum("mine", [1, 2])
    let catalogue = library.catalogue
    let mine = Self.principal(granted: [LocalIdentifier("album-mine")], 0)
    let asset = LocalIdentifier(library.assets[0].identifier)
    let now = Int64(Date().timeIntervalSince1970 * 1000)
    func day(_ number: Int64) -> Timestamp { Timestamp(milliseconds: now + number * 86_400_000) }
    #expect(try catalogue.asset(asset, for: mine) != nil)
    try catalogue.pruneLimitedLibraries(now: day(1))
    let generation = catalogue.generation(of: asset)
    try catalogue.pruneLimitedLibraries(now: day(30))
    #expect(catalogue.isCurrent(generation), "the library still exists")
    try catalogue.pruneLimitedLibraries(now: day(32))
    #expect(!catalogue.isCurrent(generation), "the history no longer has what leaves the library")
  }

  // MARK: Creation

  @Test("changes between the transactions that create a limited library reach it", arguments: 0..<6)
  func changedWhileCreated(_ seed: Int) throws {
    var dice = Dice(seed + 700)
    let hook = TransactionHook()
    let world = try RandomLibrary(&dice, traced: { hook.began($0) })
    let catalogue = world.library.catalogue
    var created: Set<Set<LocalIdentifier>> = []
    for round in 0..<4 {
      let granted = world.someGrants(&dice)
      let isNew = created.insert(granted).inserted
      let principal = Self.principal(granted: granted, round)
      var transactions = 0
      hook.action = {
        transactions += 1
        for _ in 0..<3 { try world.edit(&dice) }
        var differences: [CheckDifference] = []
        try catalogue.checkConsistency { differences.append($0) }
        #expect(differences.isEmpty)
      }
      _ = try catalogue.count(AssetFetch(), deadline: nil, for: principal)
      hook.action = nil
      #expect(isNew ? transactions > 1 : transactions == 0)
      _ = try check(principal, world, seed: seed * 100 + round, "seed \(seed), round \(round)")
    }
  }

  @Test("a large limited library is created in several transactions")
  func transactions() throws {
    let hook = TransactionHook()
    let count = 2 * LimitedLibraryCreation.rowsPerStep + 1
    let library = try SyntheticLibrary(
      (1...Int64(count)).map { SyntheticAsset(row: $0, date: $0 * 1000) }, traced: { hook.began($0) })
    _ = try library.makeAlbum("large", library.assets.map(\.row))
    let mine = Self.principal(granted: [LocalIdentifier("album-large")], 0)
    var transactions = 0
    hook.action = { transactions += 1 }
    #expect(try library.catalogue.count(AssetFetch(), deadline: nil, for: mine) == count)
    hook.action = nil
    #expect(transactions > 5)
  }

  @Test("two callers that create the same limited library at once both read all of it")
  func createdTwice() throws {
    let hook = TransactionHook()
    let library = try SyntheticLibrary(
      (1...9).map { SyntheticAsset(row: $0, date: $0 * 1000) }, traced: { hook.began($0) })
    let other = try Catalogue(dataFolder: library.folder.data)
    for place in 1...4 {
      _ = try library.makeAlbum("\(place)", [1, 2, 3])
      let mine = Self.principal(granted: [LocalIdentifier("album-\(place)")], place)
      var transactions = 0
      var found: Int?
      hook.action = {
        transactions += 1
        if transactions == place { found = try other.count(AssetFetch(), deadline: nil, for: mine) }
      }
      #expect(try library.catalogue.count(AssetFetch(), deadline: nil, for: mine) == 3)
      hook.action = nil
      #expect(found == 3)
    }
    let kept = try library.queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM library WHERE id > 0") }
    #expect(kept == 4)
    var differences: [CheckDifference] = []
    try library.catalogue.checkConsistency { differences.append($0) }
    #expect(differences.isEmpty)
  }

  // MARK: Moves

  @Test("a moved folder leaves and enters limited libraries with all but what is granted in it, which stays")
  func movedFolder() throws {
    let library = try SyntheticLibrary((1...9).map { SyntheticAsset(row: $0, date: $0 * 1000) })
    let (mine, outside) = (try library.makeFolder("mine"), try library.makeFolder("outside"))
    let moved = try library.makeFolder("moved", parent: mine)
    _ = try library.makeAlbum("plain", [1, 2], parent: moved)
    _ = try library.makeAlbum("granted", [2, 3], parent: moved)
    _ = try library.makeAlbum("below", [4], parent: try library.makeFolder("inner", parent: moved))
    let granted = Set(["folder-mine", "album-granted", "folder-inner"].map { LocalIdentifier($0) })
    let guest = Self.principal(granted: granted, 0)
    let catalogue = library.catalogue
    let lists = try library.changeLists()
    func move(_ name: String, to parent: String?) throws -> LibraryChanges {
      let token = try library.token(guest)
      let update = CollectionUpdate(parent: .some(parent.map { ChangeTarget.existing(LocalIdentifier($0)) }))
      let target = ChangeTarget.existing(LocalIdentifier(name))
      _ = try lists.perform([ChangeRequest(.updateCollection(target, update))], for: .local)
      return try catalogue.changes(since: token, limit: 100, for: guest)
    }
    #expect(outside > 0)
    #expect(try catalogue.count(AssetFetch(), deadline: nil, for: guest) == 4)
    let left = try move("folder-moved", to: "folder-outside")
    #expect(Set(left.collections.deleted.map(\.rawValue)) == ["folder-moved", "album-plain"])
    #expect(left.collections.inserted.isEmpty)
    #expect(left.assets.deleted.map(\.rawValue) == [library.assets[0].identifier])
    #expect(try catalogue.count(AssetFetch(), deadline: nil, for: guest) == 3)
    let token = try library.token(guest)
    _ = try move("folder-moved", to: nil)
    #expect(try library.token(guest) == token, "neither place is in the library")
    let entered = try move("folder-moved", to: "folder-mine")
    #expect(Set(entered.collections.inserted.map(\.rawValue)) == ["folder-moved", "album-plain"])
    #expect(entered.collections.deleted.isEmpty)
    #expect(try catalogue.count(AssetFetch(), deadline: nil, for: guest) == 4)
    var differences: [CheckDifference] = []
    try catalogue.checkConsistency { differences.append($0) }
    #expect(differences.isEmpty)
  }

  // MARK: Comparison

  static func principal(granted: Set<LocalIdentifier>, _ number: Int) -> Principal {
    Principal(name: "limited\(number)", scopes: [.read, .location], visibility: .collections(granted))
  }

  /// - Returns: the number of compared reads.
  private func check(_ principal: Principal, _ world: RandomLibrary, seed: Int, _ comment: String) throws -> Int {
    try world.library.catalogue.refreshMoments(zone: .gmt)
    let reference = try world.reference(for: principal)
    try reference.catalogue.refreshMoments(zone: .gmt)
    var differences: [CheckDifference] = []
    try world.library.catalogue.checkConsistency { differences.append($0) }
    #expect(differences.isEmpty, "\(comment)")
    let names = world.names
    let rows = world.rowsOfAlbums
    let seen = try ReadRecorder(world.library.catalogue, principal, names, seed).all()
    let whole = Principal(name: "whole", scopes: principal.scopes)
    let expected = try ReadRecorder(reference.catalogue, whole, names, seed).all()
    #expect(seen.count == expected.count)
    for (one, other) in zip(seen, expected) where one != other {
      Issue.record("\(comment), granted \(principal.visibility):\n \(one)\nis not\n \(other)")
      break
    }
    // By row number, which only callers that see the asset get.
    for (name, row) in rows {
      var fetch = AssetFetch()
      fetch.scope = .album(row: row)
      let isThere = try world.library.catalogue.scope(of: LocalIdentifier(name), for: principal) != nil
      let found = try world.library.catalogue.rows(fetch, atMost: 1000, deadline: nil, for: principal).rows
      #expect(isThere || found.isEmpty)
      let count = try world.library.catalogue.count(fetch, deadline: nil, for: principal)
      #expect(isThere || count == 0)
    }
    return seen.count
  }
}

/// Runs an action before each statement of a kind: by default before each write transaction of a catalogue, while it
/// has no lock yet.
final class TransactionHook: @unchecked Sendable {
  // Sendable because the test sets its field only while no transaction runs.
  var action: (() throws -> Void)?
  private let prefix: String

  init(before prefix: String = "BEGIN IMMEDIATE") { self.prefix = prefix }

  func began(_ sql: String) {
    guard sql.hasPrefix(prefix), let action else { return }
    do { try action() } catch { Issue.record(error) }
  }
}

/// Records the statements that SQLite runs.
final class StatementRecord: @unchecked Sendable {
  // Sendable because its field is guarded by the lock.
  private let lock = NSLock()
  private var values: [String] = []

  var statements: [String] { lock.withLock { values.filter { $0.hasPrefix("SELECT") } } }
  /// The statements that choose where SQLite journals statements.
  var journalSettings: [String] { lock.withLock { values.filter { $0.contains("temp_store") } } }
  func append(_ sql: String) { lock.withLock { values.append(sql) } }
  func clear() { lock.withLock { values = [] } }
}
