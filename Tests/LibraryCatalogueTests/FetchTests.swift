import Foundation
import GRDB
import LibraryCatalogue
import PhotoFixtures
import PhotoModel
import PhotoPredicate
import Testing

/// Fetches, compared with an evaluation of the same rows in memory.
@Suite("Fetches")
struct FetchTests {
  static let fetchesASeed = 100

  /// 600 fetches of all scopes, with random predicates, orders, limits and page sizes; 2,000 in a thorough run.
  @Test(
    "pages, columns, counts, rows and buckets equal those of the model",
    arguments: Sampling.cases(4, of: 0..<20, "fetches"))
  func agree(_ seed: Int) throws {
    var dice = Dice(seed)
    let library = try SyntheticLibrary((1...180).map { SyntheticAsset($0, &dice) })
    let member = library.assets.shuffled(using: &dice).prefix(90)
    let album = try library.makeAlbum("one", member.map(\.row))
    _ = try library.makeAlbum("another", library.assets.prefix(20).map(\.row))
    let rules = try library.rules()
    var nonEmpty = 0
    for _ in 0..<Self.fetchesASeed {
      var fetch = AssetFetch()
      fetch.includesHidden = dice.oneIn(3)
      fetch.includesAllBurstAssets = dice.oneIn(3)
      if dice.oneIn(4) { fetch.fetchLimit = 1 + dice.below(40) }
      if !dice.oneIn(5) {
        let text = dice.predicateText(library.assets.map(\.identifier))
        fetch.predicate = try FetchPredicate(text, schema: .asset, principal: .local)
      }
      if !dice.oneIn(3) { fetch.sort = dice.sort() }
      var sort = fetch.sort ?? newestFirst
      var candidates = library.assets
      var isOrdered = false
      var showsHidden = fetch.includesHidden
      var hidesVisible = false
      switch dice.below(6) {
      case 0, 1: break
      case 2:
        let rule = dice.one(of: rules)
        fetch.scope = try #require(try library.catalogue.scope(of: LocalIdentifier(rule.identifier), for: .local))
        candidates = candidates.filter { rule.rule.matches($0) }
        if fetch.sort == nil { sort = rule.sort }
        if rule.subtype == "smartAlbumAllHidden" { (showsHidden, hidesVisible) = (true, true) }
      case 3:
        fetch.scope = .album(row: album)
        candidates = Array(member)
        isOrdered = fetch.sort == nil
      case 4:
        let (first, last) = (Int64(dice.below(8) - 2) * 86_400_000, Int64(dice.below(8)) * 86_400_000)
        guard first <= last else { continue }
        fetch.scope = .dates(first...last)
        candidates = candidates.filter { (first...last).contains($0.creationDate) }
      default:
        let listed = library.assets.shuffled(using: &dice).prefix(50)
        // A deleted asset is left out.
        fetch.scope = .rows(listed.map { UInt32($0.row) } + [4711])
        candidates = Array(listed)
        isOrdered = fetch.sort == nil
      }
      var expected = candidates.filter { asset in
        asset.isListed(hidden: showsHidden, bursts: fetch.includesAllBurstAssets) && (asset.isHidden || !hidesVisible)
          && fetch.predicate?.matches(asset) ?? true
      }
      if !isOrdered { expected.sort { sort.areInIncreasingOrder($0, $1) } }
      expected = Array(expected.prefix(fetch.fetchLimit ?? .max))
      if !expected.isEmpty { nonEmpty += 1 }
      try check(fetch, expected, size: dice.one(of: [1, 2, 3, 7, 50, 1000]), library, "seed \(seed): \(fetch)")
    }
    #expect(nonEmpty > Self.fetchesASeed / 3, "they are of something")
  }

  private let newestFirst = FetchSortDescriptors(
    [FetchSortDescriptor(PropertySchema.asset.key(named: "creationDate")!, isAscending: false)], schema: .asset)

  private func check(
    _ fetch: AssetFetch, _ expected: [SyntheticAsset], size: Int, _ library: SyntheticLibrary, _ comment: String
  ) throws {
    let catalogue = library.catalogue
    var pages: [Asset] = []
    var columns = AssetColumns()
    var cursor: PageCursor?
    repeat {
      let page = try catalogue.assets(fetch, FetchPageRequest(limit: size, cursor: cursor), for: .local)
      #expect(page.assets.count == size || page.nextCursor == nil)
      pages += page.assets
      try #require(pages.count <= 180, "pages that come to an end: \(comment)")
      cursor = library.catalogue.tokens.returned(page.nextCursor)
    } while cursor != nil
    #expect(pages.map(\.localIdentifier.rawValue) == expected.map(\.identifier), "\(comment)")
    repeat {
      let page = try catalogue.columns(fetch, FetchPageRequest(limit: size, cursor: cursor), for: .local)
      columns.count += page.count
      try #require(columns.count <= 180)
      columns.aspectRatios += page.aspectRatios
      page.contentVersions.forEach { columns.contentVersions.append($0) }
      columns.creationDates += page.creationDates
      columns.durations += page.durations
      columns.favoriteFlags += page.favoriteFlags
      page.localIdentifiers.forEach { columns.localIdentifiers.append($0) }
      columns.mediaSubtypes += page.mediaSubtypes
      columns.mediaTypes += page.mediaTypes
      page.placeholders.forEach { columns.placeholders.append($0) }
      columns.utcOffsets += page.utcOffsets
      cursor = library.catalogue.tokens.returned(page.nextCursor)
    } while cursor != nil
    #expect(columns.localIdentifiers.texts == expected.map(\.identifier))
    #expect(columns.contentVersions.texts == pages.map(\.contentVersion.rawValue))
    #expect(columns.durations == pages.map(\.duration) && columns.mediaTypes == pages.map(\.mediaType))
    #expect(columns.mediaSubtypes == pages.map(\.mediaSubtypes))
    #expect(columns.utcOffsets == expected.map { _ in nil })
    #expect(columns.aspectRatios == expected.map { Double($0.pixelWidth) / Double($0.pixelHeight) })
    #expect(
      columns.creationDates == expected.map(\.creationDate) && columns.favoriteFlags == expected.map(\.isFavorite))
    #expect(
      (0..<columns.placeholders.count).map { Array(columns.placeholders[$0]) } == expected.map { $0.placeholder ?? [] })
    #expect(try catalogue.count(fetch, deadline: nil, for: .local) == expected.count, "\(comment)")
    let rows = try catalogue.rows(fetch, atMost: expected.count, deadline: nil, for: .local).rows
    #expect(rows == expected.map { UInt32($0.row) })
    if !expected.isEmpty {
      #expect(throws: AssetSourceError.tooManyAssets(limit: expected.count - 1), "a list is not cut") {
        try catalogue.rows(fetch, atMost: expected.count - 1, deadline: nil, for: .local)
      }
    }
    for unit in DateBucket.Unit.allCases {
      var counts: [String: Int] = [:]
      for asset in expected { counts[asset.bucket(unit), default: 0] += 1 }
      let naive = counts.sorted { $0.key > $1.key }.map { DateBucket(name: $0.key, count: $0.value) }
      #expect(try catalogue.dateBuckets(fetch, by: unit, deadline: nil, for: .local) == naive, "\(comment)")
    }
  }

  @Test(
    "while the library changes between pages, unchanged assets are listed once and in order",
    arguments: Sampling.cases(10, of: 0..<40, "edits between pages"))
  func edits(_ seed: Int) throws {
    var dice = Dice(seed + 500)
    let library = try SyntheticLibrary((1...120).map { SyntheticAsset($0, &dice) })
    let album = try library.makeAlbum("one", library.assets.shuffled(using: &dice).map(\.row))
    var fetch = AssetFetch()
    // The other edits concern properties that the fetch does not use.
    let sorts = [
      "creationDate", "-creationDate,pixelWidth", "-pixelWidth,burstIdentifier", "burstIdentifier,-latitude",
    ]
    if !dice.oneIn(4) {
      fetch.sort = try FetchSortDescriptors(dice.one(of: sorts), schema: .asset, principal: .local)
    }
    if dice.oneIn(2) { fetch.predicate = try FetchPredicate("pixelWidth > 1", schema: .asset, principal: .local) }
    if dice.oneIn(3) { fetch.scope = .album(row: album) }
    let isAlbum = fetch.scope != .library
    func matching() -> [SyntheticAsset] {
      library.assets.filter { $0.isListed(hidden: false, bursts: false) && (fetch.predicate?.matches($0) ?? true) }
    }
    var staying = Set(matching().map(\.identifier))
    var seen: [String] = []
    var moved: Set<String> = []
    var cursor: PageCursor?
    var row: Int64 = 1000
    repeat {
      let page = try library.catalogue.assets(
        fetch, FetchPageRequest(limit: 1 + dice.below(9), cursor: cursor), for: .local)
      seen += page.assets.map(\.localIdentifier.rawValue)
      try #require(seen.count <= 5000)
      cursor = library.catalogue.tokens.returned(page.nextCursor)
      for _ in 0..<dice.below(8) {
        let index = dice.below(library.assets.count)
        let identifier = library.assets[index].identifier
        switch dice.below(5) {
        case 0:
          row += 1
          try library.insert([SyntheticAsset(row, &dice)])
        case 1:
          staying.remove(identifier)
          try library.delete(at: index)
        case 2: try library.update(at: index) { $0.isFavorite.toggle() }
        case 3: try library.update(at: index) { $0.fileSize += 1 }
        default:
          staying.remove(identifier)
          moved.insert(identifier)
          let date = Int64(dice.below(9)) * 86_400_000
          try library.update(at: index) { $0.creationDate = date }
        }
      }
    } while cursor != nil
    let counts = Dictionary(seen.map { ($0, 1) }, uniquingKeysWith: +)
    #expect(staying.isSubset(of: counts.keys), "none is left out: \(staying.subtracting(counts.keys))")
    let repeated = counts.filter { $0.value > 1 }.keys
    #expect(repeated.allSatisfy(moved.contains), "none that was not moved comes twice")
    guard !isAlbum else { return }
    let sort = fetch.sort ?? newestFirst
    let inOrder = seen.filter(staying.contains).compactMap { name in library.assets.first { $0.identifier == name } }
    #expect(zip(inOrder, inOrder.dropFirst()).allSatisfy { sort.areInIncreasingOrder($0, $1) })
  }

  @Test(
    "an empty list of values matches nothing, and no row is read to find that out",
    arguments: [
      "burstIdentifier IN {}", "localIdentifier IN {}", "fileSize IN {}", "isFavorite == YES AND burstIdentifier IN {}",
    ])
  func emptyLists(_ text: String) throws {
    var dice = Dice(7)
    let library = try SyntheticLibrary((1...40).map { SyntheticAsset($0, &dice) })
    let album = try library.makeAlbum("one", library.assets.map(\.row))
    let scopes: [AssetScope] = [
      .library, .dates(0...999_999_999), .smartAlbum(.favorites), .album(row: album), .rows([1, 2]),
    ]
    for scope in scopes {
      for sort in ["creationDate", "-fileSize"] {
        var fetch = AssetFetch()
        fetch.scope = scope
        fetch.predicate = try FetchPredicate(text, schema: .asset, principal: .local)
        fetch.sort = try FetchSortDescriptors(sort, schema: .asset, principal: .local)
        #expect(try library.catalogue.rows(fetch, atMost: 9, deadline: nil, for: .local).rows == [], "\(scope)")
        #expect(try library.catalogue.count(fetch, deadline: nil, for: .local) == 0)
        if scope == .library { #expect(!fetch.needsFullScan(for: .local)) }
      }
    }
  }

  @Test("a cursor of another order, or a forged one, is refused")
  func cursors() throws {
    var dice = Dice(1)
    let library = try SyntheticLibrary((1...20).map { SyntheticAsset($0, &dice) })
    var fetches: [AssetFetch] = []
    for text in ["creationDate", "-creationDate", "-creationDate,pixelWidth", "pixelWidth", "latitude,longitude"] {
      var fetch = AssetFetch()
      fetch.sort = try FetchSortDescriptors(text, schema: .asset, principal: .local)
      fetches.append(fetch)
    }
    let cursors = try fetches.map { fetch in
      try #require(try library.catalogue.assets(fetch, FetchPageRequest(limit: 5), for: .local).nextCursor)
    }
    let tokens = library.catalogue.tokens
    for text in cursors.map({ tokens.text(of: $0) }) {
      #expect(tokens.cursor(of: text).map { tokens.text(of: $0) } == text)
      for padding in ["=", "=="] { #expect(tokens.cursor(of: text + padding) == nil, "\(text)\(padding)") }
    }
    let nonsense = [
      "", "x", "AAAA", "W10", "W251bGxd", "=", "%", "\u{E9}", String(repeating: "W", count: 5000),
      String(tokens.text(of: cursors[0]).dropLast(3)),
    ]
    for text in nonsense { #expect(tokens.cursor(of: text) == nil, "\(text)") }
    for (index, fetch) in fetches.enumerated() {
      for cursor in cursors.enumerated().filter({ $0.offset != index }).map(\.element) + [PageCursor.invalid] {
        let page = FetchPageRequest(limit: 5, cursor: cursor)
        #expect(throws: AssetSourceError.malformedCursor, "\(cursor)") {
          try library.catalogue.assets(fetch, page, for: .local)
        }
        #expect(throws: AssetSourceError.malformedCursor) { try library.catalogue.columns(fetch, page, for: .local) }
      }
    }
  }

  @Test("every kind of fetch ends at its deadline, and its connection remains usable")
  func deadline() throws {
    var dice = Dice(1)
    let library = try SyntheticLibrary((1...2000).map { SyntheticAsset($0, &dice) })
    var fetch = AssetFetch()
    fetch.predicate = try FetchPredicate("originalFilename LIKE[c] '*?*?*?*x'", schema: .asset, principal: .local)
    let page = FetchPageRequest(limit: 5, deadline: .now)
    #expect(throws: AssetSourceError.queryTooExpensive) { try library.catalogue.assets(fetch, page, for: .local) }
    #expect(throws: AssetSourceError.queryTooExpensive) { try library.catalogue.columns(fetch, page, for: .local) }
    #expect(throws: AssetSourceError.queryTooExpensive) {
      try library.catalogue.count(fetch, deadline: .now, for: .local)
    }
    #expect(throws: AssetSourceError.queryTooExpensive) {
      try library.catalogue.rows(fetch, atMost: 5, deadline: .now, for: .local)
    }
    let later = ContinuousClock.now + .seconds(3600)
    #expect(try library.catalogue.count(fetch, deadline: later, for: .local) == 0)
    #expect(try library.catalogue.count(AssetFetch(), deadline: nil, for: .local) > 0)
  }
}

extension SyntheticAsset {
  func bucket(_ unit: DateBucket.Unit) -> String {
    let text = Timestamp(milliseconds: creationDate).rfc3339
    return String(text.prefix([.day: 10, .month: 7, .year: 4][unit] ?? 0))
  }
}
