import Foundation
import GRDB
import LibraryCatalogue
import PhotoFixtures
import PhotoModel
import PhotoPredicate
import Testing

/// Searches, compared with a search of the same texts in memory.
@Suite("Search")
struct SearchTests {
  private static let searchesASeed = 60

  @Test(
    "searches of every scope and caller find what a search of the texts finds, through random edits",
    arguments: Sampling.cases(3, of: 0..<12, "searches"))
  func agree(_ seed: Int) throws {
    var dice = Dice(seed + 4000)
    let world = try SearchedLibrary(70, &dice)
    var found = 0
    for round in 0..<4 {
      for number in 0..<Self.searchesASeed {
        var fetch = AssetFetch()
        let principal = dice.one(of: SearchedLibrary.principals)
        let query = try SearchQuery(dice.searchText())
        fetch.search = AssetSearch(query, for: principal)
        fetch.includesHidden = dice.oneIn(3)
        fetch.includesAllBurstAssets = dice.oneIn(3)
        if dice.oneIn(4) { fetch.fetchLimit = 1 + dice.below(9) }
        if dice.oneIn(3) { fetch.sort = dice.searchSort() }
        if dice.oneIn(3) {
          let text = dice.one(of: SearchedLibrary.predicates)
          fetch.predicate = try FetchPredicate(text, schema: .asset, principal: principal)
        }
        switch dice.below(6) {
        case 0: fetch.scope = .album(row: dice.one(of: world.albums).row)
        case 1: fetch.scope = .rows(world.library.assets.shuffled(using: &dice).prefix(30).map { UInt32($0.row) })
        case 2: fetch.scope = .smartAlbum(.favorites)
        case 3: fetch.scope = .dates(0...4 * 86_400_000)
        default: break
        }
        let expected = world.search(fetch, query, for: principal)
        found += expected.count
        try check(
          fetch, expected, size: dice.one(of: [1, 3, 50]), world, principal, "seed \(seed).\(round).\(number): \(fetch)"
        )
      }
      for _ in 0..<15 { try world.edit(&dice) }
      if round == 1 { try world.library.catalogue.pruneSearchTerms(until: StopFlag()) }
      #expect(try world.differences().isEmpty)
    }
    #expect(found > Self.searchesASeed, "they find something")
  }

  private func check(
    _ fetch: AssetFetch, _ expected: [SyntheticAsset], size: Int, _ world: SearchedLibrary, _ principal: Principal,
    _ comment: String
  ) throws {
    let catalogue = world.library.catalogue
    var found: [String] = []
    var cursor: PageCursor?
    repeat {
      let page = try catalogue.assets(fetch, FetchPageRequest(limit: size, cursor: cursor), for: principal)
      found += page.assets.map(\.localIdentifier.rawValue)
      try #require(found.count <= 100, "\(comment)")
      cursor = catalogue.tokens.returned(page.nextCursor)
    } while cursor != nil
    #expect(found == expected.map(\.identifier), "\(comment)")
    let columns = try catalogue.columns(fetch, FetchPageRequest(limit: 100), for: principal)
    #expect(columns.localIdentifiers.texts == found, "\(comment)")
    #expect(try catalogue.count(fetch, deadline: nil, for: principal) == found.count, "\(comment)")
    let rows = try catalogue.rows(fetch, atMost: 100, deadline: nil, for: principal).rows
    #expect(rows == expected.map { UInt32($0.row) }, "\(comment)")
  }

  @Test("the changes of a search's fetch result lead to the same search made again", arguments: 0..<4)
  func deltas(_ seed: Int) throws {
    var dice = Dice(seed + 4500)
    let world = try SearchedLibrary(50, &dice)
    let catalogue = world.library.catalogue
    var held: [(result: FetchResult, principal: Principal)] = []
    for _ in 0..<12 {
      let principal = dice.one(of: SearchedLibrary.principals)
      var fetch = AssetFetch()
      fetch.search = AssetSearch(try SearchQuery(dice.searchText()), for: principal)
      if dice.oneIn(4) {
        fetch.search?.isByRelevance = true
        fetch.fetchLimit = AssetSearch.maximumRanked
      }
      let found = try catalogue.rows(fetch, atMost: 100, deadline: nil, for: principal)
      held.append((FetchResult(rows: found.rows, changeToken: found.changeToken, fetch: fetch), principal))
    }
    var changes = 0
    for _ in 0..<12 {
      for _ in 0...dice.below(3) { try world.edit(&dice) }
      for index in held.indices {
        let (result, principal) = held[index]
        let delta = try #require(
          try catalogue.changes(of: result, mayReadAll: true, atMost: 100, deadline: nil, for: principal))
        let again = try catalogue.rows(result.fetch, atMost: 100, deadline: nil, for: principal).rows
        #expect(Array(delta.after.rows(in: 0..<delta.after.count)) == again, "\(result.fetch)")
        if delta.details?.isEmpty == false { changes += 1 }
        held[index].result = delta.after
      }
    }
    #expect(changes > 10)
  }

  @Test(
    "by relevance, a title counts more than a path, a whole word more than its beginning, and ties are newest first")
  func relevance() throws {
    let library = try SyntheticLibrary((1...6).map { SyntheticAsset(row: $0, date: $0 * 86_400_000) })
    let folder = try library.makeFolder("granted")
    let album = try library.makeAlbum("all", library.assets.map(\.row), parent: folder)
    let titles: [(Int64, String, String)] = [
      (1, "title", "sun"), (2, "caption", "sun"), (3, "title", "sunset"), (4, "cameraModel", "sun"),
      (5, "caption", "sun"),
    ]
    try library.queue.write { db in
      for (row, column, text) in titles {
        try db.execute(sql: "UPDATE asset SET \(column) = ? WHERE id = ?", arguments: [text, row])
      }
      try SearchIndex.update(db)
    }
    let limited = Principal(
      name: "y", scopes: [.read], visibility: .collections([LocalIdentifier("folder-granted")]))
    let scopes: [AssetScope] = [
      .library, .smartAlbum(.recentlyAdded), .dates(0...9 * 86_400_000), .album(row: album), .folder(row: folder),
      .rows([6, 5, 4, 3, 2, 1]),
    ]
    for principal in [Principal.local, Principal(name: "x", scopes: [.read]), limited] {
      for scope in scopes {
        var fetch = AssetFetch()
        fetch.scope = scope
        fetch.search = AssetSearch(try SearchQuery("sun"), for: principal)
        fetch.search?.isByRelevance = true
        var found: [UInt32] = []
        var cursor: PageCursor?
        repeat {
          let page = try library.catalogue.columns(fetch, FetchPageRequest(limit: 2, cursor: cursor), for: principal)
          for name in page.localIdentifiers.texts {
            found.append(try #require(try library.catalogue.row(of: LocalIdentifier(name), for: principal)))
          }
          cursor = library.catalogue.tokens.returned(page.nextCursor)
        } while cursor != nil
        #expect(found == [1, 3, 5, 2, 4], "\(scope)")
        #expect(try library.catalogue.rows(fetch, atMost: 9, deadline: nil, for: principal).rows == found, "\(scope)")
        #expect(try library.catalogue.count(fetch, deadline: nil, for: principal) == found.count, "\(scope)")
      }
    }
  }

  @Test(
    "by relevance, a whole word counts more than its beginning wherever it stands in its field",
    arguments: [
      ("art", "Artist", "art"), ("art", "Artist", "artist art"), ("york", "Yorker new", "Yorker new york"),
      ("\"new yo\"*", "new york", "new york new yo"), ("x art", "x Artist", "x artist art"),
    ])
  func wholeWords(_ search: String, _ beginning: String, _ whole: String) throws {
    // The title with the beginning only is the newer one.
    let library = try SyntheticLibrary((1...2).map { SyntheticAsset(row: $0, date: $0 * 86_400_000) })
    try library.queue.write { db in
      for (row, title) in [(1, whole), (2, beginning)] {
        try db.execute(sql: "UPDATE asset SET title = ? WHERE id = ?", arguments: [title, row])
      }
      try SearchIndex.update(db)
    }
    var fetch = AssetFetch()
    fetch.search = AssetSearch(try SearchQuery(search), for: .local)
    fetch.search?.isByRelevance = true
    #expect(try library.catalogue.rows(fetch, atMost: 9, deadline: nil, for: .local).rows == [1, 2])
  }

  @Test(
    "by relevance, an album's title counts more than a caption and less than a keyword, however many titles match",
    arguments: [1, 400])
  func albumTitles(_ count: Int) throws {
    let library = try SyntheticLibrary((1...4).map { SyntheticAsset(row: $0, date: $0 * 86_400_000) })
    for number in 1...count { _ = try library.makeAlbum("sun \(number)", [2]) }
    _ = try library.makeAlbum("moon", [1, 2, 3, 4])
    try library.queue.write { db in
      try db.execute(sql: #"UPDATE asset SET keywords = '["sun"]' WHERE id = 1"#)
      try db.execute(sql: "UPDATE asset SET caption = 'sun' WHERE id = 3")
      try SearchIndex.update(db)
    }
    let cases: [(String, [UInt32])] = [("sun", [1, 2, 3]), ("sun moon", [1, 2, 3]), ("moon", [4, 3, 2, 1])]
    for (text, expected) in cases {
      var fetch = AssetFetch()
      fetch.search = AssetSearch(try SearchQuery(text), for: .local)
      fetch.search?.isByRelevance = true
      let found = try library.catalogue.rows(fetch, atMost: 9, deadline: nil, for: .local).rows
      #expect(found == expected, "\(text)")
      #expect(try library.catalogue.count(fetch, deadline: nil, for: .local) == expected.count, "\(text)")
    }
  }

  @Test("each of many callers finds assets by the current titles of the albums that it sees, and by no others")
  func albumTitlesOfManyCallers() throws {
    let rows: ClosedRange<Int64> = 1...20
    let library = try SyntheticLibrary(rows.map { SyntheticAsset(row: $0, date: $0 * 86_400_000) })
    for row in rows { _ = try library.makeAlbum("sun \(row)", [row]) }
    try library.queue.write { _ = try SearchIndex.update($0) }
    func found(_ text: String, _ row: Int64) throws -> [UInt32] {
      let principal = Principal(
        name: "\(row)", scopes: [.read], visibility: .collections([LocalIdentifier("album-sun \(row)")]))
      var fetch = AssetFetch()
      fetch.search = AssetSearch(try SearchQuery(text), for: principal)
      return try library.catalogue.rows(fetch, atMost: 99, deadline: nil, for: principal).rows
    }
    for _ in 1...2 {
      for row in rows { #expect(try found("sun", row) == [UInt32(row)]) }
    }
    try library.queue.write { db in
      try db.execute(sql: "UPDATE library SET revision = revision + 1 WHERE id = 0")
      try db.execute(sql: "UPDATE collection SET title = 'moon' WHERE title = 'sun 7'")
    }
    for row in rows {
      let isRenamed = row == 7
      #expect(try found("sun", row) == (isRenamed ? [] : [UInt32(row)]))
      #expect(try found("moon", row) == (isRenamed ? [7] : []))
    }
  }

  @Test("the last word of the longest possible caption is found")
  func longCaption() throws {
    let library = try SyntheticLibrary([SyntheticAsset(row: 1, date: 0)])
    let words = (ChangeLimits.maximumTextBytes - 5) / 5
    let caption = String(repeating: "word ", count: words) + "zebra"
    try library.queue.write { db in
      try db.execute(sql: "UPDATE asset SET caption = ?", arguments: [caption])
      try SearchIndex.update(db)
    }
    var fetch = AssetFetch()
    fetch.search = AssetSearch(try SearchQuery("zebra"), for: .local)
    #expect(try library.catalogue.count(fetch, deadline: nil, for: .local) == 1)
  }

  @Test("a word of a name is found only by a principal who may read names", arguments: ["ana", "an", "\"ana silva\""])
  func names(_ text: String) throws {
    let library = try SyntheticLibrary((1...3).map { SyntheticAsset(row: $0, date: $0 * 1000) })
    try library.queue.write { db in
      try db.execute(sql: "UPDATE asset SET people = '[\"Ana Silva\"]', title = 'Beach' WHERE id = 2")
      try SearchIndex.update(db)
    }
    var reader = Principal(name: "x", scopes: [.read])
    reader.namesNeedScope = true
    var named = Principal(name: "y", scopes: [.read, .people])
    named.namesNeedScope = true
    for (principal, count) in [(Principal.local, 1), (named, 1), (reader, 0)] {
      for isByRelevance in [false, true] {
        var fetch = AssetFetch()
        fetch.search = AssetSearch(try SearchQuery(text), for: principal)
        fetch.search?.isByRelevance = isByRelevance
        #expect(fetch.isReadable(by: reader) == (principal == reader))
        #expect(try library.catalogue.count(fetch, deadline: nil, for: principal) == count)
        #expect(try library.catalogue.rows(fetch, atMost: 9, deadline: nil, for: principal).rows.count == count)
      }
    }
  }

  @Test(
    "a word of a place is found only with the scope location, also by relevance and in counts",
    arguments: ["lisbon", "lis", "\"new york\"", "beach lisbon"])
  func places(_ text: String) throws {
    let library = try SyntheticLibrary((1...3).map { SyntheticAsset(row: $0, date: $0 * 1000) })
    try library.queue.write { db in
      try db.execute(
        sql: "UPDATE asset SET placeCity = 'Lisbon', placeRegion = 'New York', title = 'Beach' WHERE id = 2")
      try SearchIndex.update(db)
    }
    for (principal, count) in [(Principal.local, 1), (Principal(name: "x", scopes: [.read]), 0)] {
      for isByRelevance in [false, true] {
        var fetch = AssetFetch()
        fetch.search = AssetSearch(try SearchQuery(text), for: principal)
        fetch.search?.isByRelevance = isByRelevance
        #expect(fetch.isReadable(by: Principal(name: "y", scopes: [.read])) == !principal.may(.location))
        #expect(try library.catalogue.count(fetch, deadline: nil, for: principal) == count)
        #expect(try library.catalogue.rows(fetch, atMost: 9, deadline: nil, for: principal).rows.count == count)
      }
    }
  }

  @Test(
    "comparisons with names find the same through the index as without it",
    arguments: [
      "originalFilename == 'IMG_1234.jpg'", "originalFilename ==[c] 'img_1234.JPG'",
      "originalFilename == 'img_1234.JPG'",
      "originalFilename BEGINSWITH 'IMG_12'", "originalFilename BEGINSWITH[c] 'img_'",
      "originalFilename CONTAINS[c] '23'",
      "originalFilename CONTAINS 'G_12'", "originalFilename CONTAINS[c] 'É'",
      "originalFilename BEGINSWITH[cd] 'ete'", "originalFilename CONTAINS[d] 'TE\u{301}'",
      "originalFilename ==[cd] 'E\u{301}te.PNG'",
      "relativePath == '2024/summer/21/IMG_1234.jpg'",
      "relativePath BEGINSWITH '2024/su'", "relativePath CONTAINS[c] 'MER/21/img'", "relativePath CONTAINS '/'",
      "originalFilename CONTAINS '1234' AND isFavorite == YES", "originalFilename == ''",
    ])
  func namesOfPeople(_ text: String) throws {
    let library = try SyntheticLibrary((1...40).map { SyntheticAsset(row: $0, date: $0 * 10_000) })
    let names = ["IMG_1234.jpg", "img_1234.JPG", "IMG_1235.jpg", "Été.png", "ÉTÉ.png", "x 23.jpg", ""]
    let folders = ["2024/summer", "2024/Sun", "a"]
    try library.queue.write { db in
      for asset in library.assets {
        let (name, folder) = (names[Int(asset.row) % 7], folders[Int(asset.row) % 3])
        try db.execute(
          sql: "UPDATE asset SET originalFilename = ?, isFavorite = ? WHERE id = ?",
          arguments: [name, asset.row % 2 == 0, asset.row])
        try db.execute(
          sql: "UPDATE file SET path = ? WHERE asset = ?",
          arguments: [Data("\(folder)/\(asset.row)/\(name)".utf8), asset.row])
      }
    }
    var fetch = AssetFetch()
    fetch.predicate = try FetchPredicate(text, schema: .asset, principal: .local)
    func rows() throws -> [UInt32] { try library.catalogue.rows(fetch, atMost: 99, deadline: nil, for: .local).rows }
    // Nothing is indexed yet, so the index is not used.
    let expected = try rows()
    try library.queue.write { _ = try SearchIndex.update($0) }
    #expect(try rows() == expected)
    #expect(!expected.isEmpty)
  }

  @Test("the check finds words that differ from the asset's properties, and an index that differs from the words")
  func check() throws {
    var dice = Dice(1)
    let world = try SearchedLibrary(20, &dice)
    #expect(try world.differences().isEmpty)
    let name = world.library.assets[0].identifier
    try world.library.queue.write { db in
      try db.execute(
        sql: "UPDATE searchText SET text = ' x' || text WHERE document & 4294967295 = ?",
        arguments: [world.library.assets[0].row])
    }
    let differences = try world.differences()
    #expect(differences.contains(.searchWords(localIdentifier: name)))
    #expect(differences.contains { $0.kind == "damaged" })
  }
}
