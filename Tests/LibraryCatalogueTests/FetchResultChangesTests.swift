import Foundation
import GRDB
import LibraryCatalogue
import LibraryFixtures
import PhotoFixtures
import PhotoModel
import PhotoPredicate
import Testing

/// The changes of a fetch result, compared with the same fetch made again.
@Suite("Changes of fetch results")
struct FetchResultChangesTests {
  private static let rounds = 20
  private static let handles = 10
  private static let placeless = Principal(name: "local", scopes: [.read])
  private static let some = Visibility.collections([LocalIdentifier("album-1"), LocalIdentifier("album-2")])
  private static let principals: [Principal] = [
    .local, .local, .local, placeless, Principal(name: "guest", scopes: [.read, .location], visibility: some),
    Principal(name: "guest", scopes: [.read], visibility: some),
  ]

  /// A fetch result as a client holds it: the list, and the properties of its members.
  private struct Held {
    var result: FetchResult
    var members: [Listed]
    let principal: Principal
  }

  /// 1,600 fetches of all scopes, predicates, orders, limits and listings, in libraries in which everything changes;
  /// 10,000 in a thorough run.
  @Test(
    "changes applied in the contract's order turn the old fetch result into the new one",
    arguments: Sampling.cases(8, of: 0..<50, "changes of fetch results"))
  func property(_ seed: Int) throws {
    var dice = Dice(seed + 9000)
    let library = try ChangingLibrary(40 + dice.below(80), &dice)
    let rules = try library.synthetic.rules()
    var told = 0
    var held: [Held] = []
    for _ in 0..<Self.handles { held.append(try hold(library, rules, &dice)) }
    for round in 0..<Self.rounds {
      try library.change(1 + dice.below(dice.oneIn(8) ? 60 : 6), &dice)
      for index in held.indices {
        let one = held[index]
        let comment = "seed \(seed), round \(round), handle \(index): \(one.result.fetch)"
        let fetch = try library.fetch(of: one.result)
        let rows = try library.catalogue.rows(fetch, atMost: 1000, deadline: nil, for: one.principal).rows
        let members = try library.listed(rows, for: one.principal)
        let delta = try #require(
          try library.catalogue.changes(
            of: one.result, mayReadAll: true, atMost: 1000, deadline: nil, for: one.principal))
        #expect(Array(delta.after.rows(in: 0..<delta.after.count)) == rows, "\(comment)")
        let details = try #require(delta.details, "a delta this small always has details")
        #expect(one.members.applying(details, toBecome: members) == members, "\(comment): \(details)")
        #expect((delta.after === one.result) == (one.members == members), "\(comment): \(details) \(one.principal)")
        if !details.isEmpty { told += 1 }
        let again = try library.catalogue.changes(
          of: delta.after, mayReadAll: true, atMost: 1000, deadline: nil, for: one.principal)
        #expect(again?.details?.isEmpty == true && again?.after === delta.after, "\(comment)")
        switch dice.below(4) {
        case 0: held[index] = try hold(library, rules, &dice)
        case 1, 2: held[index] = Held(result: delta.after, members: members, principal: one.principal)
        default: break
        }
      }
    }
    #expect(told > Self.rounds * Self.handles / 5, "something changed")
  }

  private func hold(
    _ library: ChangingLibrary,
    _ rules: [(identifier: String, subtype: String, rule: FetchPredicate, sort: FetchSortDescriptors)],
    _ dice: inout Dice
  ) throws -> Held {
    let principal = dice.one(of: Self.principals)
    var fetch = AssetFetch()
    var collection: LocalIdentifier?
    fetch.includesHidden = dice.oneIn(3)
    fetch.includesAllBurstAssets = dice.oneIn(3)
    if dice.oneIn(6) { fetch.fetchLimit = 1 + dice.below(40) }
    if dice.oneIn(2) {
      let text = dice.predicateText(library.synthetic.assets.map(\.identifier))
      fetch.predicate = try? FetchPredicate(text, schema: .asset, principal: principal)
    }
    let mayKnowOrder: (FetchSortDescriptors) -> Bool = { sort in
      principal.may(.location) || sort.total.allSatisfy { !$0.key.needsLocationScope }
    }
    if !dice.oneIn(3) { fetch.sort = [dice.sort()].first(where: mayKnowOrder) }
    switch dice.below(8) {
    case 0, 1: break
    case 2:
      fetch.scope = try #require(
        try library.catalogue.scope(of: LocalIdentifier(dice.one(of: rules).identifier), for: principal))
    case 3, 4, 5:
      if let album = library.albums.randomElement(using: &dice) {
        fetch.scope = .album(row: album.row)
        collection = album.identifier
      }
    case 6:
      let first = Int64(dice.below(8) - 2) * 86_400_000
      fetch.scope = .dates(first...first + Int64(dice.below(6)) * 86_400_000)
    default:
      fetch.scope = .rows(library.synthetic.assets.shuffled(using: &dice).prefix(30).map { UInt32($0.row) })
    }
    let found = try library.catalogue.rows(fetch, atMost: 1000, deadline: nil, for: principal)
    return Held(
      result: FetchResult(rows: found.rows, changeToken: found.changeToken, fetch: fetch, collection: collection),
      members: try library.listed(found.rows, for: principal), principal: principal)
  }

  @Test(
    "the changes of a long list are computed from the touched rows, without reading the list",
    arguments: [1, 100, 1000])
  func inStep(_ count: Int) throws {
    var dice = Dice(count)
    let library = try ChangingLibrary(20_000, &dice)
    let album = try library.synthetic.makeAlbum("all", library.synthetic.assets.map(\.row))
    var fetches = [AssetFetch(), AssetFetch(), AssetFetch(), AssetFetch()]
    fetches[1].sort = try FetchSortDescriptors("originalFilename,-duration", schema: .asset, principal: .local)
    fetches[2].scope = .album(row: album)
    fetches[3].predicate = try FetchPredicate(
      "latitude != nil OR burstIdentifier != nil", schema: .asset, principal: .local)
    fetches[3].sort = try FetchSortDescriptors("latitude,burstIdentifier", schema: .asset, principal: .local)
    var results: [(FetchResult, [Listed])] = []
    for index in fetches.indices {
      (fetches[index].includesHidden, fetches[index].includesAllBurstAssets) = (true, true)
      let found = try library.catalogue.rows(fetches[index], atMost: 100_000, deadline: nil, for: .local)
      results.append(
        (
          FetchResult(rows: found.rows, changeToken: found.changeToken, fetch: fetches[index]),
          try library.listed(found.rows, for: .local)
        ))
    }
    try library.change(count, &dice)
    for (result, members) in results where result.count > 10_000 {
      let rows = try library.catalogue.rows(result.fetch, atMost: 100_000, deadline: nil, for: .local).rows
      let delta = try library.catalogue.changes(
        of: result, mayReadAll: false, atMost: 100_000, deadline: nil, for: .local)
      // With so many comparisons, reading the list is cheaper.
      if delta == nil, count == 1000 { continue }
      let details = try #require(delta?.details)
      let after = try library.listed(rows, for: .local)
      #expect(members.applying(details, toBecome: after) == after, "\(result.fetch)")
    }
    // With a limit, other assets enter the list when a member leaves.
    var limited = AssetFetch()
    limited.fetchLimit = 15_000
    let found = try library.catalogue.rows(limited, atMost: 100_000, deadline: nil, for: .local)
    let result = FetchResult(rows: found.rows, changeToken: found.changeToken, fetch: limited)
    try library.change(1, &dice)
    #expect(
      try library.catalogue.changes(of: result, mayReadAll: false, atMost: 100_000, deadline: nil, for: .local) == nil)
  }

  @Test("without enough history, the client has to read the whole list again")
  func expired() throws {
    var dice = Dice(5)
    let library = try ChangingLibrary(30, &dice)
    let result = try library.everything()
    try library.change(3, &dice)
    try library.synthetic.queue.write { db in
      try db.execute(
        sql: """
          UPDATE catalogueValue SET value = (SELECT revision FROM library WHERE id = 0) WHERE name = 'historyStart'
          """)
    }
    let delta = try #require(try library.changes(of: result))
    let rows = try library.catalogue.rows(result.fetch, atMost: 1000, deadline: nil, for: .local).rows
    #expect(delta.details == nil && Array(delta.after.rows(in: 0..<delta.after.count)) == rows)
    // That token is the current one.
    #expect(try library.changes(of: delta.after)?.details?.isEmpty == true)
    #expect(
      try library.catalogue.touched(since: ChangeToken(0), atMost: 10, for: .local) == .expired)
    // A token that was never issued gives no changes.
    let foreign = FetchResult(rows: [1], changeToken: .never, fetch: result.fetch)
    #expect(try library.changes(of: foreign)?.details == nil)
    #expect(try library.catalogue.touched(since: ChangeToken(1 << 40), atMost: 10, for: .local) == .expired)
  }

  @Test("each touched row is reported once, up to a limit")
  func touched() throws {
    var dice = Dice(6)
    let library = try ChangingLibrary(30, &dice)
    let before = try library.token()
    let state = try library.everything().changeToken
    let rows: [UInt32] = [2, 3, 4, 9]
    let names = try library.catalogue.members(rows[...], for: .local).map { member in
      if case .asset(let asset) = member { asset.localIdentifier } else { LocalIdentifier("") }
    }
    try library.commit { db in
      try db.execute(sql: "UPDATE asset SET isFavorite = 1 - isFavorite WHERE id IN (3, 9)")
      try db.execute(sql: "UPDATE asset SET latitude = 77 WHERE id = 4")
    }
    try library.commit { db in
      try db.execute(sql: "DELETE FROM asset WHERE id = 9; UPDATE asset SET duration = 8 WHERE id = 2")
    }
    func touched(_ limit: Int, _ principal: Principal = .local) throws -> TouchedAssets {
      try library.catalogue.touched(since: before, atMost: limit, for: principal)
    }
    #expect(try touched(10) == .rows([2, 3, 4, 9]))
    #expect(try touched(4) == .rows([2, 3, 4, 9]) && touched(3) == .tooMany)
    #expect(try touched(10, Self.placeless) == .rows([2, 3, 9]), "a place is nothing to who may not know it")
    #expect(try library.catalogue.touched(since: try library.token(), atMost: 10, for: .local) == .rows([]))
    // The same by identifier, also for a deleted asset.
    let told = try library.catalogue.touchedAssets(since: state, for: .local)
    #expect(told.identifiers == Set(names))
    #expect(try library.catalogue.touchedAssets(since: told.changeToken, for: .local).identifiers == [])
    #expect(
      try library.catalogue.touchedAssets(since: state, for: Self.placeless).identifiers
        == Set([names[0], names[1], names[3]]))
    let guest = Principal(name: "guest", scopes: [.read], visibility: Self.some)
    #expect(try library.catalogue.touchedAssets(since: state, for: guest).identifiers == nil)
    for unknown: ChangeToken? in [nil, .never] {
      #expect(try library.catalogue.touchedAssets(since: unknown, for: .local).identifiers == nil)
    }
  }

  @Test("when an album is deleted, all members of its fetch result are removed")
  func deletedAlbum() throws {
    var dice = Dice(7)
    let library = try ChangingLibrary(30, &dice)
    let album = try #require(library.albums.first)
    var fetch = AssetFetch()
    fetch.scope = .album(row: album.row)
    (fetch.includesHidden, fetch.includesAllBurstAssets) = (true, true)
    let found = try library.catalogue.rows(fetch, atMost: 1000, deadline: nil, for: .local)
    let result = FetchResult(
      rows: found.rows, changeToken: found.changeToken, fetch: fetch, collection: album.identifier)
    try #require(result.count > 3)
    try library.commit { db in
      try db.execute(sql: "DELETE FROM collection WHERE id = ?", arguments: [album.row])
    }
    let delta = try #require(try library.changes(of: result))
    #expect(delta.details?.removedIndexes == Array(0..<result.count) && delta.after.count == 0)
    #expect(try library.changes(of: delta.after)?.after === delta.after)
    #expect(result.count == found.rows.count, "the old one stays as it was")
  }

  @Test("an unchanged fetch result keeps its handle; a new handle for the same rows shares their list")
  func successors() throws {
    var dice = Dice(8)
    let library = try ChangingLibrary(60, &dice)
    let results = FetchResultStore(limits: FetchResultStore.Limits())
    var fetch = AssetFetch()
    fetch.predicate = try FetchPredicate("fileSize >= 0", schema: .asset, principal: .local)
    (fetch.includesHidden, fetch.includesAllBurstAssets) = (true, true)
    let found = try library.catalogue.rows(fetch, atMost: 1000, deadline: nil, for: .local)
    let result = FetchResult(rows: found.rows, changeToken: found.changeToken, fetch: fetch)
    let name = try results.keep(result, owner: .local)
    let room = results.assetCapacity
    func ask() throws -> (name: String, delta: FetchResultDelta) {
      let delta = try #require(try library.changes(of: result))
      return (try results.keep(delta.after, after: result, named: name, owner: .local).name, delta)
    }
    #expect(try ask().name == name)
    // A change outside the list.
    try library.commit { db in try db.execute(sql: "UPDATE collection SET title = 'other' WHERE type = 'album'") }
    #expect(try ask().name == name && ask().delta.details?.isEmpty == true)
    #expect(result.changeToken != found.changeToken, "counted from there")
    try library.commit { db in try db.execute(sql: "UPDATE asset SET isFavorite = 1 - isFavorite WHERE id = 5") }
    let second = try ask()
    #expect(second.name != name && second.delta.details?.changedIndexes.count == 1)
    for _ in 0..<5 { #expect(try ask().name == second.name, "the same state, the same handle") }
    #expect(results.handles.count == 2 && results.assetCapacity > room - 200, "the list is there once")
    // The shared list stays for one handle when the other ends.
    #expect(results.handles.end(name, owner: .local))
    #expect(results.assetCapacity <= FetchResultStore(limits: FetchResultStore.Limits()).assetCapacity - result.count)
    try library.commit { db in try db.execute(sql: "DELETE FROM asset WHERE id = 5") }
    let third = try ask()
    #expect(third.name != second.name && third.delta.after.count == result.count - 1)
    // An expired handle is created again.
    #expect(results.handles.end(third.name, owner: .local))
    #expect(try ask().name != third.name)
  }
}

/// A library whose tables a test changes directly, each time in one commit with a row in the history.
private final class ChangingLibrary {
  let synthetic: SyntheticLibrary
  var catalogue: Catalogue { synthetic.catalogue }
  private(set) var albums: [(row: Int64, identifier: LocalIdentifier)] = []
  private var nextAlbum = 0
  private var lastRow: Int64

  init(_ count: Int, _ dice: inout Dice) throws {
    synthetic = try SyntheticLibrary((1...Int64(count)).map { SyntheticAsset($0, &dice) })
    lastRow = Int64(count)
    // Their revisions are older than the history.
    try synthetic.queue.write {
      try $0.execute(sql: "UPDATE library SET revision = 1, nonLocationRevision = 1, createdRevision = 1 WHERE id = 0")
    }
    for _ in 0..<3 { try makeAlbum(&dice) }
  }

  private func makeAlbum(_ dice: inout Dice) throws {
    nextAlbum += 1
    let rows = try rows().shuffled(using: &dice).prefix(60)
    albums.append(
      (try synthetic.makeAlbum("\(nextAlbum)", Array(rows)), LocalIdentifier("album-\(nextAlbum)")))
  }

  private func rows() throws -> [Int64] {
    try synthetic.queue.read { try Int64.fetchAll($0, sql: "SELECT id FROM asset ORDER BY id") }
  }

  func token() throws -> ChangeToken {
    let number = try synthetic.queue.read {
      try Int64.fetchOne($0, sql: "SELECT revision FROM library WHERE id = 0")
    }
    return ChangeToken(number ?? 0)
  }

  func everything() throws -> FetchResult {
    var fetch = AssetFetch()
    (fetch.includesHidden, fetch.includesAllBurstAssets) = (true, true)
    let found = try catalogue.rows(fetch, atMost: 1000, deadline: nil, for: .local)
    return FetchResult(rows: found.rows, changeToken: found.changeToken, fetch: fetch)
  }

  func changes(of result: FetchResult) throws -> FetchResultDelta? {
    try catalogue.changes(of: result, mayReadAll: true, atMost: 1000, deadline: nil, for: .local)
  }

  /// The current result of the fetch; a deleted album is empty.
  func fetch(of result: FetchResult) throws -> AssetFetch {
    var fetch = result.fetch
    if let collection = result.collection, !albums.contains(where: { $0.identifier == collection }) {
      fetch.scope = .rows([])
    }
    return fetch
  }

  /// Assets with the tokens of their last visible changes.
  func listed(_ rows: [UInt32], for principal: Principal) throws -> [Listed] {
    let revision = principal.may(.location) ? "revision" : "coalesce(nonLocationRevision, revision)"
    return try synthetic.queue.read { db in
      let statement = try db.makeStatement(sql: "SELECT \(revision) FROM asset WHERE id = ?")
      return try rows.map { Listed(row: Int64($0), revision: try Int64.fetchOne(statement, arguments: [$0]) ?? -1) }
    }
  }

  func commit(_ body: (Database) throws -> Void) throws {
    try synthetic.queue.write { db in
      try db.execute(sql: "UPDATE library SET revision = revision + 1 WHERE id = 0")
      try body(db)
      try db.execute(
        sql: """
          INSERT INTO change (library, token, time, objects, isLocationOnly)
          SELECT 0, revision, 0, 1,
            NOT EXISTS (SELECT 1 FROM changedObject WHERE token = revision AND isLocationOnly = 0)
          FROM library WHERE id = 0
          """)
    }
  }

  /// A number of random changes, in one commit or in several.
  func change(_ count: Int, _ dice: inout Dice) throws {
    var left = count
    while left > 0 {
      let now = dice.oneIn(2) ? left : 1 + dice.below(left)
      left -= now
      // Albums and assets are created in additional commits, which are not counted.
      let mayMakeAlbum = count < 100 && dice.oneIn(12)
      var dice2 = dice
      try commit { db in for _ in 0..<now { try changeOne(db, &dice2) } }
      dice = dice2
      if mayMakeAlbum { try makeAlbum(&dice) }
    }
  }

  private func changeOne(_ db: Database, _ dice: inout Dice) throws {
    // One of the first assets if there are many, because they are looked up by number.
    let last = try Int64.fetchOne(db, sql: "SELECT max(id) FROM asset") ?? 0
    let asset = try Int64.fetchOne(
      db, sql: "SELECT id FROM asset WHERE id >= ? ORDER BY id LIMIT 1", arguments: [Int64(dice.below(Int(last) + 1))])
    guard let asset, !dice.oneIn(8) else { return try insert(db, &dice) }
    switch dice.below(20) {
    case 0, 1: try db.execute(sql: "DELETE FROM asset WHERE id = ?", arguments: [asset])
    case 2, 3, 4: try set(db, "isFavorite = 1 - isFavorite", asset)
    case 5: try set(db, "isHidden = 1 - isHidden", asset)
    case 6, 7: try set(db, "creationDate = \(dice.below(12) * 43_200_000 - 86_400_000)", asset)
    case 8: try set(db, "originalFilename = '\(dice.one(of: ["IMG_1.jpg", "B.png", "\u{E9}.jpg", ""]))'", asset)
    case 9: try set(db, "mediaSubtypes = \(dice.below(32)), mediaType = \(dice.below(4))", asset)
    case 10, 11:
      try set(
        db, dice.oneIn(3) ? "latitude = NULL, longitude = NULL" : "latitude = \(dice.below(3)), longitude = 18.5", asset
      )
    case 12:
      let burst = dice.oneIn(3) ? "NULL" : "'burst\(dice.below(3))'"
      try set(db, "burstIdentifier = \(burst), representsBurst = \(dice.below(2))", asset)
    case 13: try set(db, "duration = \(dice.one(of: ["0", "1.5", "1e300"])), pixelWidth = \(dice.below(3) + 1)", asset)
    case 14:
      try set(db, "contentVersion = contentVersion || 'x', adjustments = \(dice.oneIn(2) ? "NULL" : "'{}'")", asset)
    default: try changeAlbum(db, asset, &dice)
    }
  }

  private func set(_ db: Database, _ assignment: String, _ asset: Int64) throws {
    try db.execute(sql: "UPDATE asset SET \(assignment) WHERE id = ?", arguments: [asset])
  }

  private func insert(_ db: Database, _ dice: inout Dice) throws {
    let token = try Int64.fetchOne(db, sql: "SELECT revision FROM library WHERE id = 0") ?? 0
    // A deleted asset may come back with its old row number.
    let back = try Row.fetchOne(
      db,
      sql: """
        SELECT object, localIdentifier FROM removedObject
        WHERE library = 0 AND kind = 0 AND object NOT IN (SELECT id FROM asset) ORDER BY object % 7 LIMIT 1
        """
    )
    if let back, dice.oneIn(2) {
      var one = SyntheticAsset(back[0], &dice)
      one.identifier = back[1]
      return try SyntheticLibrary.write([one], revision: token, db)
    }
    lastRow += 1
    try SyntheticLibrary.write([SyntheticAsset(lastRow, &dice)], revision: token, db)
  }

  private func changeAlbum(_ db: Database, _ asset: Int64, _ dice: inout Dice) throws {
    guard let album = albums.randomElement(using: &dice) else { return }
    switch dice.below(12) {
    case 0 where albums.count > 2:
      try db.execute(sql: "DELETE FROM collection WHERE id = ?", arguments: [album.row])
      albums.removeAll { $0.row == album.row }
    case 1, 2, 3:
      try db.execute(
        sql:
          "DELETE FROM member WHERE collection = ? AND position = (SELECT max(position) FROM member WHERE collection = ? AND asset <= ?)",
        arguments: [album.row, album.row, asset])
    case 4, 5, 6:
      try db.execute(
        sql: """
          INSERT OR IGNORE INTO member
          SELECT ?, (SELECT coalesce(max(position), 0) + 8 FROM member WHERE collection = ?), id, creationDate, listing
          FROM asset WHERE id = ?
          """, arguments: [album.row, album.row, asset])
    case 7:
      // Positions are renumbered, and the order does not change.
      try db.execute(
        sql: "UPDATE member SET position = position + 1000000 WHERE collection = ?", arguments: [album.row])
    default:
      // A member moves to the front.
      try db.execute(
        sql: """
          UPDATE member SET position = (SELECT min(position) - 8 FROM member WHERE collection = ?1)
          WHERE collection = ?1 AND position = (SELECT max(position) FROM member WHERE collection = ?1 AND asset >= ?2)
          """, arguments: [album.row, asset])
    }
  }
}
