import Foundation
import GRDB
import LibraryCatalogue
import PhotoModel
import PhotoPredicate
import Testing

/// The tree of folders and albums: its order, what limited callers see of it, and what its collections show.
@Suite("The tree of collections")
struct CollectionTreeTests {
  private func library(_ count: Int = 12) throws -> SyntheticLibrary {
    try SyntheticLibrary((1...count).map { SyntheticAsset(row: Int64($0), date: Int64($0) * 86_400_000) })
  }

  private func titles(
    _ parent: LocalIdentifier, _ library: SyntheticLibrary, _ principal: Principal = .local
  ) throws -> [String] {
    var query = CollectionQuery(parent: parent, limit: 2)
    var found: [String] = []
    repeat {
      let page = try library.catalogue.collections(query, for: principal)
      found += page.collections.compactMap(\.title)
      query.cursor = library.catalogue.tokens.returned(page.nextCursor)
    } while query.cursor != nil
    return found
  }

  // MARK: Order

  @Test("many insertions at one index keep the order, and neighbours that make room are not changed")
  func gaps() throws {
    let library = try library()
    let lists = try library.changeLists()
    let made = try lists.perform(
      [ChangeRequest(.createCollection(NewCollection(isFolder: true, title: "F")), placeholder: "$f")]
        + (0..<60).map { number in
          ChangeRequest(
            .createCollection(NewCollection(isFolder: false, title: "\(number)", parent: .placeholder("$f"))),
            placeholder: "$\(number)")
        }, for: .local)
    let folder = try #require(made.created["$f"])
    var expected = (0..<60).map { "\($0)" }
    for round in 0..<90 {
      let title = expected.remove(at: round % 2 == 0 ? 59 : 0)
      let moved = try #require(made.created["$\(title)"])
      let before = try library.token()
      _ = try lists.perform(
        [ChangeRequest(.placeCollections(.existing(folder), [.existing(moved)], index: 30))], for: .local)
      expected.insert(title, at: 30)
      let changes = try library.catalogue.changes(since: before, limit: 100, for: .local)
      #expect(Set(changes.collections.updated.map(\.localIdentifier)) == [moved, folder])
    }
    #expect(try titles(folder, library) == expected)
    // A no-op creates no token, revision or event.
    let token = try library.token()
    let (first, second) = (try #require(made.created["$\(expected[4])"]), try #require(made.created["$\(expected[5])"]))
    _ = try lists.perform(
      [ChangeRequest(.placeCollections(.existing(folder), [.existing(first), .existing(second)], index: 4))],
      for: .local)
    #expect(try library.token() == token)
  }

  @Test("collections come from other folders, and removed ones go to the end of the top level")
  func betweenFolders() throws {
    let library = try library()
    let lists = try library.changeLists()
    func new(_ title: String, _ parent: ChangeTarget? = nil, isFolder: Bool = false) -> ChangeRequest {
      ChangeRequest(
        .createCollection(NewCollection(isFolder: isFolder, title: title, parent: parent)), placeholder: "$" + title)
    }
    let made = try lists.perform(
      [
        new("f", isFolder: true), new("g", isFolder: true), new("a", .placeholder("$f")), new("b", .placeholder("$f")),
        new("c"), new("d"),
      ], for: .local
    ).created
    func id(_ title: String) throws -> ChangeTarget { .existing(try #require(made["$" + title])) }
    func tree() throws -> [[String]] {
      try [.topLevel, made["$f"], made["$g"]].map { try titles(try #require($0), library) }
    }
    #expect(try tree() == [["f", "g", "c", "d"], ["a", "b"], []])
    _ = try lists.perform(
      [ChangeRequest(.placeCollections(try id("g"), [try id("d"), try id("b"), try id("f")], index: 0))], for: .local)
    #expect(try tree() == [["g", "c"], ["a"], ["d", "b", "f"]])
    // What is not in the folder is ignored.
    _ = try lists.perform(
      [ChangeRequest(.removeCollections(try id("g"), [try id("b"), try id("c"), try id("d")]))], for: .local)
    #expect(try tree() == [["g", "c", "b", "d"], ["a"], ["f"]])
    _ = try lists.perform([ChangeRequest(.placeCollections(nil, [try id("d"), try id("f")], index: 1))], for: .local)
    #expect(try tree() == [["g", "d", "f", "c", "b"], ["a"], []])
    // A deleted folder takes everything below it along.
    _ = try lists.perform([ChangeRequest(.deleteCollection(try id("f")))], for: .local)
    #expect(try titles(.topLevel, library) == ["g", "d", "c", "b"])
  }

  @Test("the deletion of an album, which is one statement, is journaled in a file, and other changes in memory")
  func deletionJournal() throws {
    let record = StatementRecord()
    let library = try SyntheticLibrary(
      (1...9).map { SyntheticAsset(row: $0, date: $0 * 1000) }, traced: { record.append($0) })
    _ = try library.makeAlbum("large", library.assets.map(\.row))
    let album = ChangeTarget.existing(LocalIdentifier("album-large"))
    let member = ChangeTarget.existing(LocalIdentifier(library.assets[0].identifier))
    let lists = try library.changeLists()
    record.clear()
    _ = try lists.perform([ChangeRequest(.removeAssets(album, [member]))], for: .local)
    #expect(record.journalSettings.isEmpty)
    let deletion = ChangeRequest(.deleteCollection(album))
    _ = try lists.perform([deletion], for: .local)
    #expect(record.journalSettings.map { $0.contains("FILE") } == [true, false])
    #expect(try titles(.topLevel, library).isEmpty)
    // A list that fails in its transaction restores the setting.
    _ = try library.makeAlbum("large", [])
    record.clear()
    #expect(throws: ChangeListError.self) { try lists.perform([deletion, deletion], for: .local) }
    #expect(record.journalSettings.map { $0.contains("FILE") } == [true, false])
  }

  @Test("a limited caller orders the folders that it sees, and learns nothing of those above")
  func limitedCaller() throws {
    let library = try library()
    let lists = try library.changeLists()
    let hidden = try library.makeFolder("hidden")
    let mine = try library.makeFolder("mine", parent: hidden, position: 9)
    let alone = try library.makeAlbum("alone", [1, 2], parent: hidden, position: 4)
    for (i, title) in ["x", "y", "z"].enumerated() { _ = try library.makeAlbum(title, [3], parent: mine, position: i) }
    _ = try library.makeAlbum("other", [4], parent: hidden, position: 5)
    #expect(alone > 0)
    let granted = Set(["folder-mine", "album-alone"].map { LocalIdentifier($0) })
    let guest = Principal(name: "guest", scopes: [.read, .write], visibility: .collections(granted))
    #expect(try titles(.topLevel, library, guest) == ["alone", "mine"])
    let top = try library.catalogue.collections(CollectionQuery(parent: .topLevel), for: guest).collections
    #expect(top.allSatisfy { $0.parent == nil } && top.map(\.estimatedAssetCount) == [2, 1])
    #expect(top.map(\.estimatedCollectionCount) == [0, 3])
    #expect(throws: AssetSourceError.noSuchCollection) { try titles(LocalIdentifier("folder-hidden"), library, guest) }
    func target(_ name: String) -> ChangeTarget { .existing(LocalIdentifier(name)) }
    _ = try lists.perform(
      [ChangeRequest(.placeCollections(target("folder-mine"), [target("album-z")], index: 0))], for: guest)
    #expect(try titles(LocalIdentifier("folder-mine"), library, guest) == ["z", "x", "y"])
    for (request, reason) in [
      (
        ChangeRequest(.placeCollections(nil, [target("album-x")], index: 0)), ChangeListError.Reason.outsideOfGrant
      ),
      (ChangeRequest(.removeCollections(target("folder-mine"), [target("album-x")])), .outsideOfGrant),
      (
        ChangeRequest(.placeCollections(target("folder-mine"), [target("album-other")], index: 0)),
        .noSuchCollection("album-other")
      ),
      (
        ChangeRequest(.placeCollections(target("folder-hidden"), [target("album-x")], index: 0)),
        .noSuchCollection("folder-hidden")
      ),
    ] {
      do throws(ChangeListError) {
        _ = try lists.perform([request], for: guest)
        Issue.record("\(request) was done")
      } catch {
        #expect(error.reason == reason)
      }
    }
    // To the guest, these collections are at the top level: moving them there is a no-op, and they can't leave it.
    var token = try library.token(guest)
    for name in ["album-alone", "folder-mine"] {
      let update = CollectionUpdate(parent: .some(nil))
      _ = try lists.perform([ChangeRequest(.updateCollection(target(name), update))], for: guest)
    }
    #expect(try library.token(guest) == token)
    let mineAsParent = CollectionUpdate(parent: .some(target("folder-mine")))
    for action: ChangeRequest.Action in [
      .updateCollection(target("album-alone"), mineAsParent),
      .placeCollections(target("folder-mine"), [target("album-alone")], index: 0),
    ] {
      do throws(ChangeListError) {
        _ = try lists.perform([ChangeRequest(action)], for: guest)
        Issue.record("\(action) was done")
      } catch {
        #expect(error.reason == .outsideOfGrant)
      }
    }
    // The guest can move collections within the folders that it sees.
    let inner = ChangeRequest(
      .createCollection(NewCollection(isFolder: true, title: "inner", parent: target("folder-mine"))),
      placeholder: "$inner")
    let toInner = ChangeRequest(
      .updateCollection(target("album-y"), CollectionUpdate(parent: .some(.placeholder("$inner")))))
    _ = try lists.perform([inner, toInner], for: guest)
    #expect(try titles(LocalIdentifier("folder-mine"), library, guest) == ["z", "x", "inner"])
    // Others reorder collections that the guest can't see, until positions are renumbered.
    token = try library.token(guest)
    for _ in 0..<50 {
      for name in ["album-other", "folder-hidden"] {
        let parent = name == "album-other" ? target("folder-hidden") : nil
        _ = try lists.perform([ChangeRequest(.placeCollections(parent, [target(name)], index: 0))], for: .local)
        if parent != nil {
          _ = try lists.perform([ChangeRequest(.placeCollections(parent, [target(name)], index: 1))], for: .local)
        }
      }
    }
    #expect(try library.token(guest) == token)
    #expect(try titles(.topLevel, library, guest) == ["alone", "mine"])
  }

  // MARK: Contents

  @Test("collections that contain an asset are those that list it", arguments: 0..<4)
  func containing(_ seed: Int) throws {
    var dice = Dice(seed + 40)
    let library = try SyntheticLibrary((1...30).map { SyntheticAsset(Int64($0), &dice, days: 90) })
    let folder = try library.makeFolder("f")
    let inner = try library.makeFolder("g", parent: folder)
    for (i, parent) in [nil, folder, inner, inner].enumerated() {
      let rows = library.assets.shuffled(using: &dice).prefix(8).map(\.row)
      _ = try library.makeAlbum("\(i)", rows, parent: parent, position: i)
    }
    try library.catalogue.refreshMoments(zone: .gmt)
    let catalogue = library.catalogue
    for (hidden, bursts) in [(false, false), (true, false), (false, true)] {
      for query in [
        CollectionQuery(limit: 1000), CollectionQuery(type: .moment, limit: 1000),
        CollectionQuery(type: .album, limit: 1000),
        CollectionQuery(type: .folder, subtype: "momentListYear"),
        CollectionQuery(type: .folder, subtype: "momentListCluster"), CollectionQuery(parent: .topLevel),
        CollectionQuery(parent: LocalIdentifier("folder-f")),
      ] {
        var query = query
        (query.includesHidden, query.includesAllBurstAssets) = (hidden, bursts)
        let all = try catalogue.collections(query, for: .local).collections
        var members: [LocalIdentifier: Set<String>] = [:]
        for one in all {
          var fetch = AssetFetch()
          (fetch.includesHidden, fetch.includesAllBurstAssets) = (hidden, bursts)
          fetch.scope = try #require(try catalogue.scope(of: one.localIdentifier, for: .local))
          let page = try catalogue.assets(fetch, FetchPageRequest(limit: 1000), for: .local)
          members[one.localIdentifier] = Set(page.assets.map(\.localIdentifier.rawValue))
        }
        for asset in library.assets {
          query.containing = LocalIdentifier(asset.identifier)
          let found = try catalogue.collections(query, for: .local).collections
          let expected = all.filter { members[$0.localIdentifier]?.contains(asset.identifier) ?? false }
          #expect(found == expected, "\(asset) \(query)")
        }
      }
    }
    #expect(throws: AssetSourceError.noSuchAsset(LocalIdentifier("x"))) {
      try catalogue.collections(CollectionQuery(containing: LocalIdentifier("x")), for: .local)
    }
  }

  @Test("an asset that can't be rendered says so, and never is a key asset")
  func renderable() throws {
    let library = try library(6)
    let album = try library.makeAlbum("a", (1...6).map { $0 }, parent: try library.makeFolder("f"))
    try library.queue.write { db in
      try db.execute(
        sql: """
          UPDATE asset SET uniformTypeIdentifier = 'public.heic', hasDecoder = 0 WHERE id IN (1, 6);
          UPDATE collection SET keyAsset = 6 WHERE id = \(album);
          """)
      // Its content was found to be unreadable.
      try db.execute(sql: "UPDATE asset SET placeholderVersion = contentVersion WHERE id = 2")
    }
    let catalogue = library.catalogue
    func renderable() throws -> [Bool] {
      try library.assets.map { one in
        try #require(try catalogue.asset(LocalIdentifier(one.identifier), for: .local)).isRenderable
      }
    }
    func keys(_ name: String) throws -> [Int64] {
      let found = try #require(try catalogue.collection(LocalIdentifier(name), CollectionQuery(), for: .local))
      return found.keyAssets.compactMap { key in library.assets.first { $0.identifier == key.rawValue }?.row }
    }
    let token = try library.token()
    try catalogue.setRenderableTypes(["public.jpeg"])
    #expect(try renderable() == [false, false, true, true, true, false])
    let year = "momentListYear.1970"
    #expect(try keys("album-a") == [3, 4, 5] && keys("folder-f") == [5, 4, 3] && keys(year) == [5, 4, 3])
    // With a decoder, the user's choice is the key asset of the album.
    try catalogue.setRenderableTypes(["public.jpeg", "public.heic"])
    #expect(try renderable() == [true, false, true, true, true, true])
    #expect(try keys("album-a") == [6] && keys(year) == [6, 5, 4])
    #expect(try library.token() == token, "not a change of the library")
    // New content may be readable.
    try library.queue.write { try $0.execute(sql: "UPDATE asset SET contentVersion = 'w' WHERE id = 2") }
    #expect(try renderable().allSatisfy { $0 })
  }

  @Test("the list of a folder follows the albums below it")
  func folderList() throws {
    let library = try library()
    let lists = try library.changeLists()
    let folder = try library.makeFolder("f")
    _ = try library.makeAlbum("a", [1, 2, 3], parent: folder)
    _ = try library.makeAlbum("b", [3, 4, 5])
    var fetch = AssetFetch()
    fetch.scope = .folder(row: folder)
    let (rows, token) = try library.catalogue.rows(fetch, atMost: 100, deadline: nil, for: .local)
    #expect(rows == [3, 2, 1])
    let old = FetchResult(rows: rows, changeToken: token, fetch: fetch, collection: LocalIdentifier("folder-f"))
    func target(_ name: String) -> ChangeTarget { .existing(LocalIdentifier(name)) }
    _ = try lists.perform(
      [
        ChangeRequest(.placeCollections(target("folder-f"), [target("album-b")], index: 0)),
        ChangeRequest(.removeAssets(target("album-a"), [target(library.assets[0].identifier)])),
      ], for: .local)
    let delta = try #require(
      try library.catalogue.changes(of: old, mayReadAll: true, atMost: 100, deadline: nil, for: .local))
    #expect(Array(delta.after.rows(in: 0..<delta.after.count)) == [5, 4, 3, 2])
    #expect(delta.details?.insertedIndexes == [0, 1] && delta.details?.removedIndexes == [2])
  }

  @Test("an album that moves below the same folder leaves the rows of that folder's assets as they are")
  func movedBelowTheSame() throws {
    let library = try library()
    let outer = try library.makeFolder("outer")
    let inner = try library.makeFolder("inner", parent: outer)
    let other = try library.makeFolder("other")
    let album = try library.makeAlbum("a", [1, 2, 3], parent: outer)
    func move(to folder: Int64) throws -> (rows: [[Int64]], removed: Int?) {
      try library.queue.write { db in
        try db.execute(sql: "CREATE TEMP TABLE removed (folder INTEGER)")
        try db.execute(
          sql: """
            CREATE TEMP TRIGGER noteRemoved AFTER DELETE ON main.folderAsset BEGIN
              INSERT INTO removed VALUES (OLD.folder);
            END
            """)
        try db.execute(sql: "UPDATE collection SET parent = ? WHERE id = ?", arguments: [folder, album])
        let rows = try Row.fetchAll(
          db, sql: "SELECT folder, count(*), sum(sources) FROM folderAsset GROUP BY folder ORDER BY folder"
        ).map { [$0[0] as Int64, $0[1], $0[2]] }
        let removed = try Int.fetchOne(db, sql: "SELECT count(*) FROM removed")
        try db.execute(sql: "DROP TRIGGER noteRemoved; DROP TABLE removed")
        return (rows, removed)
      }
    }
    let below = try move(to: inner)
    #expect(below.rows == [[outer, 3, 3], [inner, 3, 3]] && below.removed == 0)
    let above = try move(to: outer)
    #expect(above.rows == [[outer, 3, 3]] && above.removed == 3)
    let away = try move(to: other)
    #expect(away.rows == [[other, 3, 3]] && away.removed == 3)
  }

  // MARK: Titles of moments

  static let places: [(name: String, places: [(String?, String?, String?)], title: String?)] = [
    ("no places", [(nil, nil, nil), (nil, nil, nil)], nil),
    ("a city", [("Vienna", "Vienna", "Austria"), (nil, nil, nil)], "Vienna"),
    (
      "two cities, the more frequent first", [("Graz", nil, nil), ("Vienna", nil, nil), ("Vienna", nil, nil)],
      "Vienna & Graz"
    ),
    ("equally frequent cities in their order", [("Graz", nil, nil), ("Vienna", nil, nil)], "Graz & Vienna"),
    (
      "three cities of a region",
      [("Graz", "Styria", "Austria"), ("Leoben", "Styria", "Austria"), ("Weiz", "Styria", "Austria")], "Styria"
    ),
    (
      "three cities of a country",
      [("Graz", "Styria", "Austria"), ("Vienna", "Vienna", "Austria"), ("Linz", "Upper Austria", "Austria")], "Austria"
    ),
    ("three cities anywhere", [("Graz", nil, "Austria"), ("Rome", nil, "Italy"), ("Oslo", nil, nil)], "Graz & Rome"),
    ("a region without a city", [(nil, "Styria", "Austria")], "Styria"),
    ("a country", [(nil, nil, "Austria")], "Austria"),
    ("an empty city", [("", nil, "Austria")], "Austria"),
  ]

  @Test("moments have titles from places, for callers who may read places", arguments: places.indices)
  func momentTitles(_ i: Int) throws {
    let (name, places, title) = Self.places[i]
    let library = try SyntheticLibrary(
      places.indices.map { SyntheticAsset(row: Int64($0 + 1), date: 50_000_000 + Int64($0) * 60_000) })
    try library.catalogue.refreshMoments(zone: .gmt)
    // A change of a place recomputes the title.
    try library.queue.write { db in
      for (index, place) in places.enumerated() {
        try db.execute(
          sql: "UPDATE asset SET placeCity = ?, placeRegion = ?, placeCountry = ? WHERE id = ?",
          arguments: [place.0, place.1, place.2, index + 1])
      }
    }
    try library.catalogue.refreshMoments(zone: .gmt)
    let query = CollectionQuery(type: .moment)
    let placeless = Principal(name: "placeless", scopes: [.read])
    #expect(try library.catalogue.collections(query, for: .local).collections.map(\.title) == [title], "\(name)")
    #expect(try library.catalogue.collections(query, for: placeless).collections.map(\.title) == [nil], "\(name)")
  }
}
