import Foundation
import GRDB
import LibraryCatalogue
import LibraryFixtures
import PhotoModel
import PhotoPredicate
import Synchronization
import Testing

/// Checks the query plan of each read whose time must not grow with the library. A plan is more reliable than a clock.
///
/// The rule: a table is entered by a key or a bound (SEARCH), or an index is read in the requested order from its
/// start, up to the end of the page (SCAN … USING INDEX, with LIMIT and without sorting everything). A page after a
/// cursor always has a bound.
@Suite("Query plans")
struct QueryPlanTests {
  /// Tables that do not grow with the library's assets.
  private static let smallTables: Set<String> = ["library", "catalogueValue"]

  private static func fetch(
    _ predicate: String? = nil, _ sort: String? = nil, _ scope: AssetScope = .library, hidden: Bool = false,
    bursts: Bool = false
  ) throws -> AssetFetch {
    var fetch = AssetFetch()
    fetch.scope = scope
    fetch.predicate = try predicate.map { try FetchPredicate($0, schema: .asset, principal: .local) }
    fetch.sort = try sort.map { try FetchSortDescriptors($0, schema: .asset, principal: .local) }
    fetch.includesHidden = hidden
    fetch.includesAllBurstAssets = bursts
    return fetch
  }

  struct Case: Sendable, CustomTestStringConvertible {
    let name: String
    let predicate: String?
    let sort: String?
    let scope: AssetScope

    init(_ name: String, _ predicate: String? = nil, _ sort: String? = nil, _ scope: AssetScope = .library) {
      (self.name, self.predicate, self.sort, self.scope) = (name, predicate, sort, scope)
    }

    var testDescription: String { name }

    /// The result is small and is looked up by keys.
    var isShort: Bool {
      if case .rows = scope { return true }
      return predicate?.hasPrefix("localIdentifier") ?? false || predicate?.hasPrefix("burstIdentifier") ?? false
    }
  }

  static let listed: [Case] =
    [
      Case("newest first"), Case("oldest first", nil, "creationDate"),
      Case("by date and another key", nil, "-creationDate,originalFilename"),
      Case("by date and name, downwards", nil, "creationDate,-localIdentifier"),
      Case("a range of dates", "creationDate BETWEEN {'2023-11-15T00:00:00Z', '2023-11-16T00:00:00Z'}"),
      Case("since a date", "creationDate >= '2023-11-15T00:00:00Z'", "creationDate"),
      Case("before a date", "creationDate < '2023-11-15T00:00:00Z'"),
      Case("favourites", "isFavorite == YES"), Case("favourites, oldest first", "favorite == true", "creationDate"),
      Case("favourites of a time", "isFavorite == 1 AND creationDate > '2023-11-15T00:00:00Z'"),
      Case("not favourites", "isFavorite == NO"), Case("videos", "mediaType == video"),
      Case("videos by number", "mediaType == 2"), Case("images", "mediaType == image"),
      Case("panoramas", "(mediaSubtypes & photoPanorama) != 0"), Case("HDR", "(mediaSubtypes & photoHDR) == photoHDR"),
      Case("screenshots", "(mediaSubtypes & 4) != 0"), Case("live photos", "(mediaSubtypes & photoLive) != 0"),
      Case("depth", "(mediaSubtypes & photoDepthEffect) != 0"), Case("hidden", "isHidden == YES"),
      Case("bursts", "representsBurst == YES"), Case("raw", "isRAW == YES"),
      Case("everything", "TRUEPREDICATE"), Case("last added first", nil, "-addedDate"),
      Case("added since", "addedDate > '1970-01-01T00:00:01Z'", "-addedDate"),
      Case("by identifier", "localIdentifier == 'a7919-1'"),
      Case("by identifiers, in an order", "localIdentifier IN {'a7919-1', 'x'} AND fileSize > 0", "-fileSize"),
      Case("one burst", "burstIdentifier == 'burst1'", "originalFilename"),
      Case("album", nil, nil, .album(row: 21)), Case("album by date", nil, "-creationDate", .album(row: 21)),
      Case("album, oldest first", nil, "creationDate", .album(row: 21)),
      Case("album, of a time", "creationDate > '2023-11-15T00:00:00Z'", "-creationDate", .album(row: 21)),
      Case("folder", nil, nil, .folder(row: 22)), Case("folder, oldest first", nil, "creationDate", .folder(row: 22)),
      Case("folder, of a time", "creationDate > '2023-11-15T00:00:00Z'", nil, .folder(row: 22)),
      Case("album of nothing", nil, nil, .album(row: 99)),
      Case("month", nil, nil, .dates(1_700_000_000_000...1_700_100_000_000)),
      Case("short list", nil, nil, .rows([3, 5, 1])),
    ] + SmartAlbum.allCases.map { Case($0.rawValue, nil, nil, .smartAlbum($0)) }
    + SmartAlbum.allCases.map { Case("\($0.rawValue), oldest first", nil, "creationDate", .smartAlbum($0)) }

  /// A caller that sees the whole library, and one that is limited to an album with all assets.
  enum Viewer: CaseIterable { case whole, limited }

  static let limited = Principal(
    name: "limited", scopes: [.read, .location],
    visibility: .collections(Set(["album-album", "album-everything", "folder-one"].map { LocalIdentifier($0) })))

  func principal(_ caller: Viewer) -> Principal { caller == .whole ? .local : Self.limited }

  // MARK: Tests

  @Test(
    "each listed fetch uses indexes for pages, columns and rows, and needs no full scan", arguments: listed,
    Viewer.allCases)
  func fetches(_ shape: Case, _ caller: Viewer) throws {
    let principal = principal(caller)
    let traced = Self.traced
    let catalogue = traced.library.catalogue
    for (hidden, bursts) in [(false, false), (true, false), (true, true)] {
      let fetch = try Self.fetch(shape.predicate, shape.sort, shape.scope, hidden: hidden, bursts: bursts)
      #expect(!fetch.needsFullScan(for: principal))
      var cursor: PageCursor?
      let first = try traced.statements {
        cursor = try catalogue.assets(fetch, FetchPageRequest(limit: 5), for: principal).nextCursor
        _ = try catalogue.columns(fetch, FetchPageRequest(limit: 5), for: principal)
        _ = try catalogue.rows(fetch, atMost: 5000, deadline: nil, for: principal)
      }
      #expect(first.count >= 6)
      for sql in first { try check(sql, isShort: shape.isShort) }
      guard let cursor else { continue }
      let second = try traced.statements {
        _ = try catalogue.assets(fetch, FetchPageRequest(limit: 5, cursor: cursor), for: principal)
        _ = try catalogue.columns(fetch, FetchPageRequest(limit: 5, cursor: cursor), for: principal)
      }
      for sql in second { try check(sql, isShort: shape.isShort, isBounded: true) }
    }
  }

  @Test(
    "fetches without a suitable index are known to need a full scan",
    arguments: [
      Case("by the end of a name", "originalFilename ENDSWITH 'x'"),
      Case("in the order of a name", nil, "originalFilename"),
      Case("favourites in the order of a size", "isFavorite == YES", "-fileSize"),
      Case("either", "isFavorite == YES OR mediaType == video"), Case("not", "NOT (mediaType == image)"),
      Case("added since, by date", "addedDate > '2024-01-01T00:00:00Z'"),
      Case("a range of dates, by addition", "creationDate > '2024-01-01T00:00:00Z'", "-addedDate"),
      Case("favourite videos", "isFavorite == YES AND mediaType == video"),
      Case("large videos", "mediaType == video AND fileSize > 5"),
      Case("a date that is none", "creationDate != '2024-01-01T00:00:00Z'"),
      Case("favourites among videos", "isFavorite == YES", nil, .smartAlbum(.videos)),
      Case("images among videos", "mediaType == image", nil, .smartAlbum(.videos)),
      Case("a time in an album's own order", "creationDate > '2024-01-01T00:00:00Z'", nil, .album(row: 21)),
      Case("an album by name", nil, "originalFilename", .album(row: 21)),
      Case("names in an album", "originalFilename == 'x'", nil, .album(row: 21)),
      Case("a folder by name", nil, "originalFilename", .folder(row: 22)),
      Case("a month by addition", nil, "-addedDate", .dates(0...5)),
      Case("names of a month", "isRAW == NO", nil, .dates(0...5)),
      Case("identifiers in any case", "localIdentifier ==[c] 'x'"),
      Case("a long list", nil, nil, .rows(Array(1...10_001))),
    ])
  func free(_ shape: Case) throws {
    #expect(try Self.fetch(shape.predicate, shape.sort, shape.scope).needsFullScan(for: .local))
  }

  @Test(
    "searches, and names of the whole library, are read along the search index up to the end of the page",
    arguments: [
      (nil, "word"), (nil, "\"one phrase\""), (nil, "pre"), (nil, "word other"), ("originalFilename == 'x.jpg'", nil),
      ("originalFilename BEGINSWITH 'x'", nil), ("originalFilename CONTAINS 'x'", "word"),
      ("creationDate > '2023-11-15T00:00:00Z'", "word"), ("isFavorite == NO", "word"),
    ] as [(String?, String?)])
  func searches(_ predicate: String?, _ search: String?) throws {
    for sort in [nil, "creationDate", "-creationDate,fileSize"] {
      var fetch = try Self.fetch(predicate, sort)
      if let search { fetch.search = AssetSearch(try SearchQuery(search), for: .local) }
      #expect(!fetch.needsFullScan(for: .local))
      let statements = try Self.traced.statements {
        _ = try Self.traced.library.catalogue.assets(fetch, FetchPageRequest(limit: 5), for: .local)
        _ = try Self.traced.library.catalogue.columns(fetch, FetchPageRequest(limit: 5), for: .local)
      }.filter { $0.contains("search MATCH ?") }
      #expect(statements.count == 4)
      for sql in statements {
        let plan = try Self.traced.plan(of: sql)
        #expect(plan[0].hasPrefix("SCAN search VIRTUAL TABLE INDEX"), "\(plan)")
        #expect(plan[1].hasPrefix("SEARCH libraryAsset USING INDEX libraryAssetByAsset (asset=? AND library=?"))
        // The first statement finds the end of the page, in the order of the index.
        #expect(sql.contains("OFFSET ?") != plan.contains { $0.contains("ORDER BY") }, "\(plan)")
      }
    }
  }

  @Test("a search of a limited library reads only assets of that library, and needs a full scan")
  func limitedSearches() throws {
    for (predicate, search) in [(nil, "word"), ("originalFilename == 'x.jpg'", nil)] as [(String?, String?)] {
      var fetch = try Self.fetch(predicate)
      if let search { fetch.search = AssetSearch(try SearchQuery(search), for: Self.limited) }
      #expect(fetch.needsFullScan(for: Self.limited))
      let statements = try Self.traced.statements {
        _ = try Self.traced.library.catalogue.assets(fetch, FetchPageRequest(limit: 5), for: Self.limited)
        _ = try Self.traced.library.catalogue.count(fetch, deadline: nil, for: Self.limited)
      }
      for sql in statements { #expect(!sql.contains("MATCH") && !sql.contains("searchTerm"), "\(sql)") }
    }
  }

  @Test("each asset's albums are compared with the albums that a search word names, not the other way round")
  func searchedAlbums() throws {
    var fetch = try Self.fetch(nil, nil, .album(row: 21))
    fetch.search = AssetSearch(try SearchQuery("album"), for: .local)
    let statements = try Self.traced.statements {
      _ = try Self.traced.library.catalogue.assets(fetch, FetchPageRequest(limit: 5), for: .local)
      _ = try Self.traced.library.catalogue.count(fetch, deadline: nil, for: .local)
    }.filter { $0.contains("AS membership") }
    #expect(!statements.isEmpty)
    for sql in statements {
      let steps = try Self.traced.plan(of: sql).filter { $0.contains(" membership ") }
      #expect(steps.count == 1 && steps[0].hasSuffix("memberByAsset (asset=?)"), "\(steps)")
    }
  }

  @Test("counts and buckets of a scope are read from counters", arguments: Viewer.allCases)
  func counts(_ caller: Viewer) throws {
    let principal = principal(caller)
    let catalogue = Self.traced.library.catalogue
    for scope in [.library, .album(row: 21), .folder(row: 22)] + SmartAlbum.allCases.map(AssetScope.smartAlbum) {
      let statements = try Self.traced.statements {
        _ = try catalogue.count(try Self.fetch(nil, nil, scope), deadline: nil, for: principal)
      }
      for sql in statements { try check(sql) }
    }
    let buckets = try Self.traced.statements {
      _ = try catalogue.dateBuckets(AssetFetch(), by: .month, deadline: nil, for: principal)
    }
    for sql in buckets { try check(sql) }
  }

  @Test(
    "collections, counts, dates, key assets and moments are read with indexes", arguments: [false, true],
    Viewer.allCases)
  func collections(_ showsAll: Bool, _ caller: Viewer) throws {
    let principal = principal(caller)
    let catalogue = Self.traced.library.catalogue
    var queries = CollectionType.allCases.map { CollectionQuery(type: $0, limit: 2) } + [CollectionQuery(limit: 100)]
    queries += ["momentListYear", "momentListCluster"].map { CollectionQuery(type: .folder, subtype: $0, limit: 2) }
    queries += ["momentListYear.2023", "momentListCluster.2023-11", "folder-one", "root"].map {
      CollectionQuery(parent: LocalIdentifier($0), limit: 2)
    }
    for var query in queries {
      query.includesHidden = showsAll
      query.includesAllBurstAssets = showsAll
      var found: [LocalIdentifier] = []
      let statements = try Self.traced.statements {
        let page = try catalogue.collections(query, for: principal)
        found = page.collections.map(\.localIdentifier)
        query.cursor = page.nextCursor
        if query.cursor != nil { _ = try catalogue.collections(query, for: principal) }
      }
      #expect(!found.isEmpty && statements.count > found.count, "\(query)")
      // The top level of a limited caller has only granted collections.
      let isShort = query.parent == .topLevel && caller == .limited
      for sql in statements { try check(sql, isShort: isShort) }
      let single = try Self.traced.statements {
        for identifier in found {
          #expect(try catalogue.collection(identifier, query, for: principal) != nil)
          _ = try catalogue.scope(of: identifier, for: principal)
        }
      }
      for sql in single { try check(sql) }
    }
  }

  @Test("columns, row lists and counts of a library read only `libraryAsset`, in its order", arguments: Viewer.allCases)
  func indexOnly(_ caller: Viewer) throws {
    let principal = principal(caller)
    let catalogue = Self.traced.library.catalogue
    var month = AssetFetch()
    month.scope = .dates(1_700_000_000_000...1_700_100_000_000)
    let statements = try Self.traced.statements {
      let cursor = try catalogue.columns(AssetFetch(), FetchPageRequest(limit: 5), for: principal).nextCursor
      _ = try catalogue.columns(AssetFetch(), FetchPageRequest(limit: 5, cursor: cursor), for: principal)
      _ = try catalogue.rows(AssetFetch(), atMost: 5000, deadline: nil, for: principal)
      _ = try catalogue.count(month, deadline: nil, for: principal)
    }.filter { $0.contains("FROM libraryAsset") }
    #expect(statements.count == 4)
    for sql in statements {
      let plan = try Self.traced.plan(of: sql)
      #expect(plan.allSatisfy { $0.hasPrefix("SEARCH libraryAsset USING PRIMARY KEY (library=?") }, "\(plan)")
    }
  }

  @Test(
    "members of a fetch result, indexes of assets and single assets are looked up by key", arguments: Viewer.allCases)
  func lookups(_ caller: Viewer) throws {
    let principal = principal(caller)
    let catalogue = Self.traced.library.catalogue
    let statements = try Self.traced.statements {
      _ = try catalogue.members([5, 3, 99_999], for: principal)
      _ = try catalogue.row(of: LocalIdentifier("x"), for: principal)
      _ = try? catalogue.rows(of: [LocalIdentifier("x")], deadline: nil, for: principal)
      _ = try catalogue.asset(LocalIdentifier("x"), for: principal)
    }
    #expect(statements.count >= 6)
    for sql in statements { try check(sql) }
  }

  private final class Statements: Sendable { let all = Mutex<[String]>([]) }

  @Test("a pruning reads the changes once, and each of its steps finds the rows to delete with an index")
  func pruning() throws {
    let (library, statements) = (try TemporaryLibrary(), Statements())
    let catalogue = try Catalogue(
      dataFolder: library.data, traced: { sql in statements.all.withLock { $0.append(sql) } })
    try library.put(smallJPEG, "a.jpg")
    try library.scan(catalogue)
    let queue = try DatabaseQueue(path: library.data + "/catalogue.sqlite")
    try queue.write { db in
      try db.execute(
        sql: """
          INSERT INTO changedObject
            WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 5000)
            SELECT 0, 0, n, 0, 0, 0 FROM number
          """)
    }
    try queue.close()
    var limits = HistoryLimits()
    limits.objects = 0
    statements.all.withLock { $0 = [] }
    try catalogue.pruneHistory(limits, needed: nil)
    let made = statements.all.withLock { $0 }
    #expect(made.filter { $0.hasPrefix("SELECT sum(objects)") }.count == 1)
    let steps = ["changedObject": 3, "changedMember": 3, "changedVisibility": 3, "removedObject": 3, "change": 1]
    for (table, count) in steps {
      let deletions = made.filter { $0.hasPrefix("DELETE FROM \(table)\n") }
      #expect(deletions.count == count, "\(table)")
      for sql in Set(deletions) {
        let plan = try Self.traced.plan(of: sql)
        #expect(!plan.contains { $0.hasPrefix("SCAN \(table)") }, "\(plan)")
      }
    }
  }

  // MARK: The rule

  /// - Parameters:
  ///   - isShort: few rows are found by keys, so they may be sorted.
  ///   - isBounded: the page follows a cursor.
  func check(_ sql: String, isShort: Bool = false, isBounded: Bool = false) throws {
    for step in try Self.traced.plan(of: sql) {
      let words = step.split(separator: " ").map(String.init)
      if ["SEARCH", "SCAN"].contains(words[0]) { checkLibrary(step, words, sql) }
      switch words[0] {
      case "SEARCH" where isBounded && !isShort && words[1] == "libraryAsset":
        #expect(step.contains("(library=? AND") || step.contains("(asset=?"), "\(step)\n\(sql)")
      case "SEARCH": break
      case "SCAN" where step == "SCAN CONSTANT ROW": break
      case "SCAN" where Self.smallTables.contains(words[1]): break
      case "SCAN" where words[1] == "listed": #expect(isShort, "\(step)\n\(sql)")
      case "SCAN" where words.count > 3 && words[1] != "CONSTANT":
        let isInOrder = words.contains("INDEX") && sql.contains("LIMIT") && sql.contains("ORDER BY")
        #expect(isInOrder && !isBounded, "\(step)\n\(sql)")
      case "USE":
        let isOfTies = step.hasSuffix("LAST TERM OF ORDER BY") || step.contains("RIGHT PART OF ORDER BY")
        #expect(isOfTies || isShort && step.hasSuffix("FOR ORDER BY"), "\(step)\n\(sql)")
      case "SCALAR", "CORRELATED", "LIST", "CO-ROUTINE": break
      default: Issue.record("\(step)\n\(sql)")
      }
    }
  }

  /// A table that has rows of several libraries is entered by the library, and a table of all objects only by the key
  /// of a row that is in the library. So nothing outside the library is read.
  private func checkLibrary(_ step: String, _ words: [String], _ sql: String) {
    switch words[1] {
    case "asset", "collection":
      let isChildren =
        step.hasSuffix("collectionByParent (parent=?)") || step.contains("collectionByParent (parent=? AND")
      #expect(step.contains("INTEGER PRIMARY KEY (rowid=?)") || isChildren, "\(step)\n\(sql)")
    case "file": #expect(step.contains("primaryFile (asset=?)"), "\(step)\n\(sql)")
    // Of an album that it may see.
    case "member" where sql.contains("FROM folderAsset"): #expect(step.contains("(folder=?"), "\(step)\n\(sql)")
    case "member", "memberCount": #expect(step.contains("(collection=?"), "\(step)\n\(sql)")
    case "folderAsset", "folderCount": #expect(step.contains("(folder=?"), "\(step)\n\(sql)")
    case "listed", "CONSTANT": break
    case _ where Self.smallTables.contains(words[1]): break
    default: #expect(words[0] == "SEARCH" && step.contains("library=?"), "\(step)\n\(sql)")
    }
  }

  @Test("the insertion of an asset needs no statement journal, because neither it nor a trigger can abort")
  func insertionWithoutStatementJournal() throws {
    let sql = "INSERT OR ROLLBACK INTO asset (localIdentifier, addedDate, contentVersion) VALUES (?, ?, ?)"
    let program = try Self.traced.library.queue.read { db in
      let statement = try db.makeStatement(sql: "EXPLAIN " + sql)
      statement.setUncheckedArguments([])
      return try Row.fetchAll(statement).map {
        (code: $0["opcode"] as String, p1: $0["p1"] as Int, p2: $0["p2"] as Int)
      }
    }
    #expect(program.contains { $0.code == "Program" }, "triggers run")
    // An immediate foreign key, and a constraint that aborts only the statement (OE_Abort): see sqlite3MayAbort.
    #expect(!program.contains { $0.code == "FkCounter" && $0.p1 == 0 && $0.p2 > 0 })
    #expect(!program.contains { ["Halt", "HaltIfNull"].contains($0.code) && $0.p1 != 0 && $0.p2 == 2 })
  }

  static let traced: TracedLibrary = {
    do { return try TracedLibrary() } catch { fatalError("\(error)") }
  }()
}
