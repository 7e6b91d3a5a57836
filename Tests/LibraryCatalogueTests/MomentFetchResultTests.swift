import Foundation
import GRDB
import LibraryCatalogue
import PhotoModel
import Testing

/// Lists of a moment's assets. A moment may be recomputed after its assets have changed, without a change token.
@Suite("Fetch results of a moment")
struct MomentFetchResultTests {
  private static let hour: Int64 = 3_600_000

  /// Adds assets in a commit with a row in the history, and leaves the moments as they are.
  private func add(_ assets: [SyntheticAsset], to library: SyntheticLibrary) throws {
    try library.queue.write { db in
      try db.execute(sql: "UPDATE library SET revision = revision + 1 WHERE id = 0")
      try SyntheticLibrary.write(assets, db)
      try db.execute(
        sql: """
          INSERT INTO change (library, token, time, objects, isLocationOnly)
          SELECT 0, revision, 0, 1, 0 FROM library WHERE id = 0
          """)
    }
  }

  @Test(
    "follow the moment, also if a client asks for changes before it is recomputed, and again afterwards",
    arguments: [false, true])
  func follows(hasOneAtThatTime: Bool) throws {
    let library = try SyntheticLibrary([10, 14].map { SyntheticAsset(row: $0, date: $0 * Self.hour) })
    let catalogue = library.catalogue
    try catalogue.refreshMoments(zone: .gmt)
    // The last moment is the older one.
    let moments = try catalogue.collections(CollectionQuery(type: .moment), for: .local).collections
    let moment = try #require(moments.last).localIdentifier
    var fetch = AssetFetch()
    fetch.scope = try #require(try catalogue.scope(of: moment, for: .local))
    let found = try catalogue.rows(fetch, atMost: 100, deadline: nil, for: .local)
    let result = FetchResult(rows: found.rows, changeToken: found.changeToken, fetch: fetch, collection: moment)
    let results = FetchResultStore(limits: FetchResultStore.Limits())
    let name = try results.keep(result, owner: .local)
    func after() throws -> (name: String, result: any LeasedFetchResult) {
      let delta = try #require(
        try catalogue.changes(of: result, mayReadAll: true, atMost: 100, deadline: nil, for: .local))
      return try results.keep(delta.after, after: result, named: name, owner: .local)
    }
    #expect(result.count == 1 && moments.count == 2)

    // An asset between the two moments merges them; another one has the time of the older moment.
    var added = [SyntheticAsset(row: 12, date: 12 * Self.hour)]
    if hasOneAtThatTime { added.append(SyntheticAsset(row: 11, date: 10 * Self.hour)) }
    try add(added, to: library)
    let early = try after()
    #expect(early.result.count == added.count && (early.name != name) == hasOneAtThatTime)
    #expect(try after().name == early.name)

    try catalogue.refreshMoments(zone: .gmt)
    let late = try after()
    #expect(late.result.count == 2 + added.count && late.name != early.name && late.name != name)
    #expect(late.result.changeToken == early.result.changeToken)
    #expect(try after().name == late.name, "the same state, the same handle")
  }
}
