import Foundation
import GRDB
import LibraryCatalogue
import PhotoFixtures
import PhotoModel
import PhotoPredicate
import Testing

/// Collections, compared with an evaluation of the same rows in memory.
@Suite("Collections")
struct CollectionTests {
  private func everything(
    _ query: CollectionQuery, _ library: SyntheticLibrary, size: Int = 1000, predicate: FetchPredicate? = nil,
    sort: FetchSortDescriptors? = nil, between: () throws -> Void = {}
  ) throws -> [AssetCollection] {
    var query = query
    query.limit = size
    var found: [AssetCollection] = []
    repeat {
      let fetch = CollectionFetch(query, predicate: predicate, sort: sort)
      let page = try library.catalogue.collections(fetch, deadline: nil, for: .local)
      #expect(page.collections.count == size || page.nextCursor == nil)
      found += page.collections
      try #require(found.count <= 1000, "pages that come to an end")
      query.cursor = library.catalogue.tokens.returned(page.nextCursor)
      try between()
    } while query.cursor != nil
    return found
  }

  private func check(
    _ collection: AssetCollection, _ members: [SyntheticAsset], sort: FetchSortDescriptors?, _ comment: String = ""
  ) {
    #expect(collection.estimatedAssetCount == members.count, "\(comment) \(collection)")
    #expect(collection.startDate?.milliseconds == members.map(\.creationDate).min(), "\(comment) \(collection)")
    #expect(collection.endDate?.milliseconds == members.map(\.creationDate).max(), "\(comment) \(collection)")
    let ordered = sort.map { sort in members.sorted { sort.areInIncreasingOrder($0, $1) } } ?? members
    #expect(collection.keyAssets.map(\.rawValue) == ordered.prefix(3).map(\.identifier), "\(comment) \(collection)")
  }

  private static let newestFirst = try? FetchSortDescriptors("-creationDate", schema: .asset, principal: .local)

  @Test(
    "counts, dates and key assets of collections stay correct through random edits",
    arguments: 0..<8)
  func agreement(_ seed: Int) throws {
    var dice = Dice(seed + 70)
    let library = try SyntheticLibrary((1...80).map { SyntheticAsset($0, &dice, days: 700) })
    let shuffled = library.assets.shuffled(using: &dice).map(\.row)
    _ = try library.makeAlbum("one", shuffled)
    _ = try library.makeAlbum("empty", [])
    var row: Int64 = 1000
    for _ in 0..<4 {
      for hidden in [false, true] {
        for bursts in [false, true] {
          try checkAll(library, hidden, bursts, album: shuffled)
        }
      }
      for _ in 0..<10 {
        let index = dice.below(library.assets.count)
        let date = Int64(dice.below(900)) * 86_400_000
        switch dice.below(5) {
        case 0: try library.delete(at: index)
        case 1: try library.update(at: index) { $0.isHidden.toggle() }
        case 2: try library.update(at: index) { $0.isFavorite.toggle() }
        case 3: try library.update(at: index) { $0.creationDate = date }
        default:
          row += 1
          try library.insert([SyntheticAsset(row, &dice, days: 700)])
        }
      }
    }
  }

  private func checkAll(_ library: SyntheticLibrary, _ hidden: Bool, _ bursts: Bool, album: [Int64]) throws {
    func listed(_ hidden: Bool) -> [SyntheticAsset] {
      library.assets.filter { $0.isListed(hidden: hidden, bursts: bursts) }
    }
    var query = CollectionQuery(includesHidden: hidden, includesAllBurstAssets: bursts)
    let rules = try library.rules()
    let all = try everything(query, library)
    #expect(all.count == rules.count + 2)
    for rule in rules {
      let collection = try #require(all.first { $0.localIdentifier.rawValue == rule.identifier })
      let isHiddenAlbum = rule.subtype == "smartAlbumAllHidden"
      let members = listed(hidden || isHiddenAlbum).filter { rule.rule.matches($0) }
      check(collection, members, sort: rule.sort, rule.subtype)
      #expect(try library.catalogue.collection(collection.localIdentifier, query, for: .local) == collection)
    }
    let members = album.compactMap { row in listed(hidden).first { $0.row == row } }
    check(try #require(all.first { $0.title == "one" }), members, sort: nil)
    check(try #require(all.first { $0.title == "empty" }), [], sort: nil)
    for (subtype, unit) in [("momentListYear", DateBucket.Unit.year), ("momentListCluster", .month)] {
      (query.type, query.subtype) = (.folder, subtype)
      let lists = try everything(query, library, size: 2)
      let groups = Dictionary(grouping: listed(hidden)) { $0.bucket(unit) }
      #expect(lists.compactMap(\.title) == groups.keys.sorted(by: >))
      for list in lists {
        check(list, groups[list.title ?? ""] ?? [], sort: Self.newestFirst)
        #expect(try library.catalogue.collection(list.localIdentifier, query, for: .local) == list)
        guard unit == .year else { continue }
        let months = try everything(
          CollectionQuery(parent: list.localIdentifier, includesHidden: hidden, includesAllBurstAssets: bursts), library
        )
        #expect(months.reduce(0) { $0 + $1.estimatedAssetCount } == list.estimatedAssetCount && !months.isEmpty)
        #expect(months.allSatisfy { $0.title?.hasPrefix(list.title ?? "?") ?? false })
      }
    }
  }

  @Test("folders nest, and pages of a list of collections neither skip nor repeat", arguments: [1, 2, 3, 7, 100])
  func pages(_ size: Int) throws {
    let library = try SyntheticLibrary([SyntheticAsset(row: 1, date: 0)])
    let outer = try library.makeFolder("outer", position: 5)
    let inner = try library.makeFolder("inner", parent: outer, position: 3)
    var names: [String] = []
    for i in 0..<17 {
      // Locations that several assets share.
      _ = try library.makeAlbum("\(i)", [1], parent: i % 3 == 0 ? nil : inner, position: i / 4 - 2)
      if i % 3 != 0 { names.append("\(i)") }
    }
    let all = try everything(CollectionQuery(), library, size: size)
    #expect(
      all.map(\.type) == Array(repeating: .smartAlbum, count: 20) + [.folder, .folder]
        + Array(repeating: .album, count: 17))
    #expect(all.map(\.title) == (try everything(CollectionQuery(), library)).map(\.title))
    #expect(Set(all.map(\.localIdentifier)).count == 39)
    let children = try everything(CollectionQuery(parent: LocalIdentifier("folder-inner")), library, size: size)
    #expect(children.compactMap(\.title) == names)
    let outside = try everything(CollectionQuery(parent: LocalIdentifier("folder-outer")), library, size: size)
    #expect(outside.map(\.title) == ["inner"] && outside[0].estimatedCollectionCount == names.count)
    #expect(try everything(CollectionQuery(type: .album), library, size: size).count == 17)
    #expect(
      try everything(CollectionQuery(type: .smartAlbum, subtype: "smartAlbumVideos"), library, size: size).count == 1)
    // Insertions and deletions before and after a page do not move other collections.
    var step = 0
    let kept = try everything(CollectionQuery(type: .album), library, size: size) {
      step += 1
      _ = try library.makeAlbum("new \(step)", [], position: -100)
      if step == 1 {
        try library.queue.write { try $0.execute(sql: "DELETE FROM collection WHERE title = '0'") }
      }
    }
    let titles = kept.compactMap(\.title).filter { !$0.hasPrefix("new") && $0 != "0" }
    #expect(titles.count == 16 && Set(titles).count == 16)
    let years = ["momentListYear.1850", "momentListCluster.1850-07"]
    for name in years { #expect(try library.catalogue.scope(of: LocalIdentifier(name), for: .local) == nil) }
    for name in ["nobody", "album-1", "momentListYear.20", "momentListCluster.2023-13"] + years {
      #expect(throws: AssetSourceError.noSuchCollection) {
        try library.catalogue.collections(CollectionQuery(parent: LocalIdentifier(name)), for: .local)
      }
    }
  }

  @Test("predicates and sort descriptors select and order collections as the model does", arguments: [1, 3, 50])
  func predicates(_ size: Int) throws {
    var dice = Dice(9)
    let library = try SyntheticLibrary((1...40).map { SyntheticAsset($0, &dice, days: 60) })
    let folder = try library.makeFolder("folder")
    for i in 0..<12 {
      let title = dice.one(of: ["Summer", "summer", "\u{C9}t\u{E9}", "x"]) + "\(i)"
      _ = try library.makeAlbum(
        title, library.assets.prefix(i).map(\.row), parent: i % 2 == 0 ? folder : nil, position: i)
    }
    try library.catalogue.refreshMoments(zone: .gmt)
    let predicates = [
      nil, "title CONTAINS[c] 'SUMMER'", "localizedTitle == nil", "type == smartAlbum", "subtype == smartAlbumVideos",
      "estimatedAssetCount > 3", "startDate == nil", "endDate > '1970-01-09T00:00:00Z' AND estimatedAssetCount < 7",
      "NOT (title BEGINSWITH 's')", "FALSEPREDICATE",
    ]
    let sorts = [
      nil, "title", "-title", "-estimatedAssetCount,title", "startDate", "-startDate",
      "startDate,-localIdentifier", "-endDate", "type,-subtype", "localIdentifier",
    ]
    for query in [
      CollectionQuery(), CollectionQuery(type: .album), CollectionQuery(type: .moment),
      CollectionQuery(type: .folder, subtype: "momentListCluster"),
      CollectionQuery(parent: LocalIdentifier("folder-folder")),
    ] {
      let all = try everything(query, library)
      #expect(!all.isEmpty)
      for text in predicates {
        let predicate = try text.map { try FetchPredicate($0, schema: .collection, principal: .local) }
        for order in sorts {
          let sort = try order.map { try FetchSortDescriptors($0, schema: .collection, principal: .local) }
          var expected = all.filter { predicate?.matches($0) ?? true }
          if let sort { expected.sort { sort.areInIncreasingOrder($0, $1) } }
          let found = try everything(query, library, size: size, predicate: predicate, sort: sort)
          #expect(found == expected, "\(query) \(text ?? "") \(order ?? "")")
        }
      }
    }
    var query = CollectionQuery(limit: 2)
    let sort = try FetchSortDescriptors("title", schema: .collection, principal: .local)
    query.cursor = try library.catalogue.collections(CollectionFetch(query, sort: sort), deadline: nil, for: .local)
      .nextCursor
    query.cursor = library.catalogue.tokens.returned(query.cursor)
    #expect(query.cursor != nil)
    let another = try FetchSortDescriptors("-title", schema: .collection, principal: .local)
    for fetch in [CollectionFetch(query, sort: another), CollectionFetch(query)] {
      #expect(throws: AssetSourceError.malformedCursor) {
        try library.catalogue.collections(fetch, deadline: nil, for: .local)
      }
    }
    query.cursor = nil
    #expect(throws: AssetSourceError.queryTooExpensive) {
      try library.catalogue.collections(CollectionFetch(query, sort: sort), deadline: .now, for: .local)
    }
  }

  @Test("a type and a subtype also filter the months of a year, the moments of a month, and all moments")
  func filteredMoments() throws {
    let library = try SyntheticLibrary([1, 2, 40].map { SyntheticAsset(row: $0, date: $0 * 86_400_000) })
    try library.catalogue.refreshMoments(zone: .gmt)
    let types: [CollectionType?] = [nil, .folder, .moment, .album, .smartAlbum]
    let lists: [(parent: LocalIdentifier?, types: [CollectionType?])] = [
      (LocalIdentifier("momentListYear.1970"), types), (LocalIdentifier("momentListCluster.1970-01"), types),
      (nil, [.moment]),
    ]
    let subtypes = [nil, "momentListYear", "momentListCluster", "regularFolder", "albumRegular", "albumImported"]
    for list in lists {
      let type: CollectionType? = list.parent == nil ? .moment : nil
      let all = try everything(CollectionQuery(type: type, parent: list.parent), library)
      #expect(all.count >= 2)
      for type in list.types {
        for subtype in subtypes {
          let query = CollectionQuery(type: type, subtype: subtype, parent: list.parent)
          var expected = all
          if let type { expected = expected.filter { $0.type == type } }
          if let subtype { expected = expected.filter { $0.subtype == subtype } }
          #expect(try everything(query, library) == expected, "\(query)")
        }
      }
    }
  }

  @Test("a cursor of another list of collections is refused")
  func cursors() throws {
    var dice = Dice(2)
    let library = try SyntheticLibrary((1...40).map { SyntheticAsset($0, &dice, days: 800) })
    let folder = try library.makeFolder("f")
    for i in 0..<4 { _ = try library.makeAlbum("\(i)", [], parent: folder) }
    try library.catalogue.refreshMoments(zone: .gmt)
    let queries = [
      CollectionQuery(limit: 1), CollectionQuery(type: .moment, limit: 1),
      CollectionQuery(type: .folder, subtype: "momentListYear", limit: 1),
    ]
    let cursors = try queries.map { try #require(try library.catalogue.collections($0, for: .local).nextCursor) }
    for (index, query) in queries.enumerated() {
      for cursor in cursors.enumerated().filter({ $0.offset != index }).map(\.element) + [PageCursor.invalid] {
        var query = query
        query.cursor = cursor
        #expect(throws: AssetSourceError.malformedCursor) { try library.catalogue.collections(query, for: .local) }
      }
    }
  }

  @Test("every listed asset is in exactly one moment, through random edits", arguments: 0..<6)
  func moments(_ seed: Int) throws {
    var dice = Dice(seed + 300)
    let library = try SyntheticLibrary((1...100).map { SyntheticAsset($0, &dice, days: 30) })
    for zone in [TimeZone.gmt, TimeZone(secondsFromGMT: 9 * 3600) ?? .gmt] {
      for _ in 0..<3 {
        try library.catalogue.refreshMoments(zone: zone)
        let listed = library.assets.filter { $0.isListed(hidden: false, bursts: false) }
        let moments = try everything(CollectionQuery(type: .moment), library, size: 7)
        #expect(moments.reduce(0) { $0 + $1.estimatedAssetCount } == listed.count)
        for moment in moments {
          let start = try #require(moment.startDate?.milliseconds)
          let end = try #require(moment.endDate?.milliseconds)
          let members = listed.filter { (start...end).contains($0.creationDate) }
          check(moment, members, sort: Self.newestFirst)
          let offset = Int64(zone.secondsFromGMT()) * 1000
          #expect(day(start + offset) == day(end + offset), "it lies within a day of the zone")
          let scope = try #require(try library.catalogue.scope(of: moment.localIdentifier, for: .local))
          let number = day(start + offset)
          #expect(scope == .dates(start...end, days: number...number))
        }
        let starts = moments.compactMap(\.startDate)
        #expect(starts == starts.sorted(by: >) && Set(starts).count == starts.count)
        for _ in 0..<15 {
          let index = dice.below(library.assets.count)
          let date = Int64(dice.below(30 * 24)) * 3_600_000
          switch dice.below(3) {
          case 0: try library.update(at: index) { $0.creationDate = date }
          case 1: try library.update(at: index) { $0.isHidden.toggle() }
          default: try library.delete(at: index)
          }
        }
      }
    }
  }

  @Test("hidden assets count in the moment in whose time they were taken, as its list of assets has them")
  func hiddenInMoments() throws {
    var assets = [1, 2, 3, 30].map { SyntheticAsset(row: $0, date: $0 * 3_600_000) }
    assets[1].isHidden = true
    assets[3].isHidden = true
    let library = try SyntheticLibrary(assets)
    try library.catalogue.refreshMoments(zone: .gmt)
    for (includesHidden, count) in [(false, 2), (true, 3)] {
      let query = CollectionQuery(type: .moment, includesHidden: includesHidden)
      let moments = try library.catalogue.collections(query, for: .local).collections
      #expect(moments.map(\.estimatedAssetCount) == [count])
      var fetch = AssetFetch()
      fetch.includesHidden = includesHidden
      let moment = try #require(moments.first)
      fetch.scope = try #require(try library.catalogue.scope(of: moment.localIdentifier, for: .local))
      #expect(try library.catalogue.count(fetch, deadline: nil, for: .local) == count)
      #expect(moment.keyAssets.count == count)
    }
  }

  private func day(_ milliseconds: Int64) -> Int { Int((Double(milliseconds) / 86_400_000).rounded(.down)) }
}
