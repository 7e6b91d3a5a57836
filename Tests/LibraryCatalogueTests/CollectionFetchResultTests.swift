import Foundation
import GRDB
import LibraryCatalogue
import PhotoFixtures
import PhotoModel
import PhotoPredicate
import Testing

/// The changes of a fetch result over collections, compared with the same list read again.
@Suite("Changes of fetch results over collections")
struct CollectionFetchResultTests {
  private static let rounds = 20
  private static let handles = 10

  /// A fetch result as a client holds it: the handle, and the properties of its members.
  private struct Held {
    var result: CollectionFetchResult
    var members: [AssetCollection]
    let principal: Principal
  }

  /// 1,000 lists of all types, levels, predicates and orders, in libraries in which everything changes; 10,000 in a
  /// thorough run.
  @Test(
    "changes applied in the contract's order turn the old list of collections into the new one",
    arguments: Sampling.cases(5, of: 0..<50, "changes of collection fetch results"))
  func property(_ seed: Int) throws {
    var dice = Dice(seed + 7000)
    let world = try RandomLibrary(&dice)
    let catalogue = world.library.catalogue
    let granted = Visibility.collections(world.someGrants(&dice))
    let principals: [Principal] = [
      .local, .local, Principal(name: "placeless", scopes: [.read]),
      Principal(name: "guest", scopes: [.read, .location], visibility: granted),
      Principal(name: "placeless guest", scopes: [.read], visibility: granted),
    ]
    var numbers = Numbers()
    var changes = 0
    try catalogue.refreshMoments(zone: .gmt)
    var held: [Held] = []
    for _ in 0..<Self.handles { held.append(try hold(world, dice.one(of: principals), &dice)) }
    for round in 0..<Self.rounds {
      for _ in 0...dice.below(dice.oneIn(6) ? 20 : 4) { try edit(world, &dice) }
      // Moments follow later, without a token of their own.
      if !dice.oneIn(3) { try catalogue.refreshMoments(zone: .gmt) }
      for index in held.indices {
        let one = held[index]
        let comment = "seed \(seed), round \(round), handle \(index): \(one.result.fetch.query)"
        let members = try list(one.result.fetch, catalogue, one.principal)
        let delta = try #require(
          try catalogue.changes(of: one.result, mayReadAll: true, atMost: 1000, deadline: nil, for: one.principal))
        #expect(delta.after.members.map(\.identifier) == members.map(\.localIdentifier), "\(comment)")
        let details = try #require(delta.details, "a delta this small always has details")
        let (old, new) = (one.members.map { numbers.listed($0) }, members.map { numbers.listed($0) })
        #expect(old.applying(details, toBecome: new) == new, "\(comment): \(details)")
        #expect((delta.after === one.result) == (one.members == members), "\(comment): \(details)")
        if !details.isEmpty { changes += 1 }
        let again = try catalogue.changes(
          of: delta.after, mayReadAll: true, atMost: 1000, deadline: nil, for: one.principal)
        #expect(again?.details?.isEmpty == true && again?.after === delta.after, "\(comment)")
        switch dice.below(4) {
        case 0: held[index] = try hold(world, dice.one(of: principals), &dice)
        case 1, 2: held[index] = Held(result: delta.after, members: members, principal: one.principal)
        default: break
        }
      }
    }
    #expect(changes > Self.rounds * Self.handles / 5, "something changed")
  }

  /// Collections as numbers: equal identifiers have equal rows, equal properties equal revisions.
  private struct Numbers {
    private var rows: [LocalIdentifier: Int64] = [:]
    private var revisions: [AssetCollection: Int64] = [:]

    mutating func listed(_ collection: AssetCollection) -> Listed {
      let row = rows[collection.localIdentifier] ?? Int64(rows.count)
      let revision = revisions[collection] ?? Int64(revisions.count)
      rows[collection.localIdentifier] = row
      revisions[collection] = revision
      return Listed(row: row, revision: revision)
    }
  }

  private func hold(_ world: RandomLibrary, _ principal: Principal, _ dice: inout Dice) throws -> Held {
    var query = CollectionQuery(limit: 1000)
    query.includesHidden = dice.oneIn(3)
    query.includesAllBurstAssets = dice.oneIn(3)
    switch dice.below(9) {
    case 0: break
    case 1: query.type = .album
    case 2: query.type = .folder
    case 3: query.type = .smartAlbum
    case 4: query.type = .moment
    case 5: (query.type, query.subtype) = (.folder, dice.one(of: ["momentListYear", "momentListCluster"]))
    case 6: query.parent = .topLevel
    case 7: query.parent = LocalIdentifier(dice.one(of: ["momentListCluster.1970-01", "momentListYear.1970"]))
    default:
      query.parent = world.collections.filter(\.isFolder).randomElement(using: &dice).map {
        LocalIdentifier($0.name)
      }
    }
    if dice.oneIn(5) { query.containing = LocalIdentifier(dice.one(of: world.library.assets).identifier) }
    var fetch = CollectionFetch(query)
    if dice.oneIn(4) {
      fetch.predicate = try FetchPredicate(
        dice.one(of: ["estimatedAssetCount > 3", "title CONTAINS '1'", "type != folder"]), schema: .collection,
        principal: principal)
    }
    if dice.oneIn(4) {
      fetch.sort = try FetchSortDescriptors(
        dice.one(of: ["-title", "estimatedAssetCount,-title", "-endDate"]), schema: .collection, principal: principal)
    }
    let catalogue = world.library.catalogue
    var result = try? catalogue.collectionFetchResult(fetch, atMost: 1000, deadline: nil, for: principal)
    if result == nil {
      // The principal can't see the folder or the asset.
      (fetch.query.parent, fetch.query.containing) = (nil, nil)
      result = try catalogue.collectionFetchResult(fetch, atMost: 1000, deadline: nil, for: principal)
    }
    return Held(
      result: try #require(result), members: try list(fetch, catalogue, principal), principal: principal)
  }

  /// The list, read as `GET /v1/collections` does; empty if the folder or the asset is gone.
  private func list(
    _ fetch: CollectionFetch, _ catalogue: Catalogue, _ principal: Principal
  ) throws -> [AssetCollection] {
    do {
      return try catalogue.collections(fetch, deadline: nil, for: principal).collections
    } catch AssetSourceError.noSuchCollection {
      return []
    } catch AssetSourceError.noSuchAsset {
      return []
    }
  }

  /// One random change in a commit of its own, with its row in the history.
  private func edit(_ world: RandomLibrary, _ dice: inout Dice) throws {
    if dice.oneIn(6) {
      let (name, title) = (dice.one(of: world.collections).name, "renamed \(dice.below(3))")
      try world.library.queue.write { db in
        try db.execute(sql: "UPDATE library SET revision = revision + 1 WHERE id = 0")
        try db.execute(sql: "UPDATE collection SET title = ? WHERE localIdentifier = ?", arguments: [title, name])
      }
    } else {
      try world.edit(&dice)
    }
    try world.library.queue.write { db in
      try db.execute(
        sql: """
          INSERT INTO change (library, token, time, objects, isLocationOnly)
          SELECT 0, revision, 0, 1,
            NOT EXISTS (SELECT 1 FROM changedObject WHERE token = revision AND isLocationOnly = 0)
          FROM library WHERE id = 0
          """)
    }
  }

  @Test("a long list, and a list that needs all collections, are read again only where that may take time")
  func reading() throws {
    let library = try SyntheticLibrary()
    for number in 0..<199 { _ = try library.makeAlbum("\(number)", [], position: number) }
    func list(_ fetch: CollectionFetch) throws -> CollectionFetchResult {
      try library.catalogue.collectionFetchResult(fetch, atMost: 1000, deadline: nil, for: .local)
    }
    func changes(_ result: CollectionFetchResult, mayReadAll: Bool, atMost limit: Int = 1000) throws -> Int? {
      try library.catalogue.changes(
        of: result, mayReadAll: mayReadAll, atMost: limit, deadline: nil, for: .local)?.after.count
    }
    func revise() throws {
      try library.queue.write { try $0.execute(sql: "UPDATE library SET revision = revision + 1 WHERE id = 0") }
    }
    let short = try list(CollectionFetch(CollectionQuery(type: .album)))
    var fetch = short.fetch
    fetch.predicate = try FetchPredicate("title != 'x'", schema: .collection, principal: .local)
    let filtered = try list(fetch)
    #expect(try changes(filtered, mayReadAll: false) == 199, "an unchanged library needs no reading")
    try revise()
    #expect(try changes(short, mayReadAll: false) == 199 && changes(filtered, mayReadAll: false) == nil)
    for number in 199..<210 { _ = try library.makeAlbum("\(number)", [], position: number) }
    try revise()
    #expect(try changes(short, mayReadAll: false) == nil && changes(short, mayReadAll: true) == 210)
    #expect(throws: AssetSourceError.tooManyAssets(limit: 205)) { try changes(short, mayReadAll: true, atMost: 205) }
    #expect(throws: AssetSourceError.tooManyAssets(limit: 205)) {
      try library.catalogue.collectionFetchResult(short.fetch, atMost: 205, deadline: nil, for: .local)
    }
  }

  @Test("a handle over collections keeps its memory until it ends, and an unchanged list keeps its handle")
  func store() throws {
    let library = try SyntheticLibrary()
    let album = try library.makeAlbum("a", [])
    let results = FetchResultStore(limits: FetchResultStore.Limits())
    let room = results.collectionCapacity(for: .local)
    let result = try library.catalogue.collectionFetchResult(
      CollectionFetch(CollectionQuery(type: .album)), atMost: room, deadline: nil, for: .local)
    let name = try results.keep(result, owner: .local)
    #expect(results.collectionCapacity(for: .local) < room && results.oldestChangeToken == nil, "it needs no history")
    func after() throws -> (name: String, result: any LeasedFetchResult) {
      let delta = try #require(
        try library.catalogue.changes(of: result, mayReadAll: true, atMost: room, deadline: nil, for: .local))
      return try results.keep(delta.after, after: result, named: name, owner: .local)
    }
    #expect(try after().name == name)
    try library.queue.write { db in
      try db.execute(sql: "UPDATE library SET revision = revision + 1 WHERE id = 0")
      try db.execute(sql: "UPDATE collection SET title = 'b' WHERE id = ?", arguments: [album])
    }
    let second = try after()
    #expect(second.name != name && second.result !== result)
    #expect(try after().name == second.name, "the same state, the same handle")
  }
}
