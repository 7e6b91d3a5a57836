import Foundation
import GRDB
import LibraryCatalogue
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
    var changes = 0
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
        if !details.isEmpty { changes += 1 }
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
    #expect(changes > Self.rounds * Self.handles / 5, "something changed")
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
    #expect(try touched(10, Self.placeless) == .rows([2, 3, 9]), "a change of place is hidden without location")
    #expect(try library.catalogue.touched(since: try library.token(), atMost: 10, for: .local) == .rows([]))
    // The same by identifier, also for a deleted asset.
    let assets = try library.catalogue.touchedAssets(since: state, for: .local)
    #expect(assets.identifiers == Set(names))
    #expect(try library.catalogue.touchedAssets(since: assets.changeToken, for: .local).identifiers == [])
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
    let room = results.assetCapacity(for: .local)
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
    #expect(results.handles.count == 2 && results.assetCapacity(for: .local) > room - 200, "the list is there once")
    // The shared list stays for one handle when the other ends.
    #expect(results.handles.end(name, owner: .local))
    let empty = FetchResultStore(limits: FetchResultStore.Limits())
    #expect(results.assetCapacity(for: .local) <= empty.assetCapacity(for: .local) - result.count)
    try library.commit { db in try db.execute(sql: "DELETE FROM asset WHERE id = 5") }
    let third = try ask()
    #expect(third.name != second.name && third.delta.after.count == result.count - 1)
    // An expired handle is created again.
    #expect(results.handles.end(third.name, owner: .local))
    #expect(try ask().name != third.name)
  }
}
