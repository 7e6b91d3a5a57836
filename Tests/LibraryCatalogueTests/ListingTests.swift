import LibraryCatalogue
import LibraryFixtures
import PhotoFixtures
import PhotoModel
import PhotoPredicate
import Testing

@Suite("Listing")
struct ListingTests {
  @Test("pages neither skip nor repeat, newest first, ties by identifier", arguments: [1, 7, 100])
  func pages(_ limit: Int) throws {
    let library = try TemporaryLibrary()
    for i in 0..<60 {
      let exif = EXIFBlock { $0.dateTimeOriginal = "2024:05:0\(i % 4 + 1) 00:00:00" }
      try library.put(JPEGFile { $0.exif = exif }.encoded(Pixels.orientationCard(width: 8, height: 8)), "\(i).jpg")
    }
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    var seen: [Asset] = []
    var cursor: PageCursor?
    repeat {
      let page = try catalogue.assets(AssetFetch(), FetchPageRequest(limit: limit, cursor: cursor), for: .local)
      seen += page.assets
      cursor = catalogue.tokens.returned(page.nextCursor)
    } while cursor != nil
    #expect(seen.count == 60 && Set(seen.map(\.localIdentifier)).count == 60)
    let isOrdered = zip(seen, seen.dropFirst()).allSatisfy { a, b in
      a.creationDate > b.creationDate
        || (a.creationDate == b.creationDate && a.localIdentifier.rawValue < b.localIdentifier.rawValue)
    }
    #expect(isOrdered)
  }

  @Test(
    "a page and its count are of one state, although assets are added meanwhile", arguments: [nil, "pixelWidth >= 0"])
  func countOfPage(_ predicate: String?) throws {
    let hook = TransactionHook(before: "SELECT")
    let library = try SyntheticLibrary(
      (1...9).map { SyntheticAsset(row: $0, date: $0 * 1000) }, traced: { hook.began($0) })
    var fetch = AssetFetch()
    fetch.predicate = try predicate.map { try FetchPredicate($0, schema: .asset, principal: .local) }
    var request = FetchPageRequest(limit: 100)
    request.includesCount = true
    var last: Int64 = 9
    hook.action = {
      last += 1
      try library.insert([SyntheticAsset(row: last, date: last * 1000)])
    }
    let page = try library.catalogue.assets(fetch, request, for: .local)
    hook.action = nil
    #expect(page.count == page.assets.count)
    #expect(last > page.assets.count, "an asset was added after the state that was read")
    #expect(try library.catalogue.assets(fetch, FetchPageRequest(limit: 1), for: .local).count == nil)
  }

  @Test("a forged cursor is refused", arguments: ["", "x", "AAAA", "MTIz"])
  func foreignCursor(_ text: String) throws {
    let catalogue = try TemporaryLibrary().catalogue()
    #expect(catalogue.tokens.cursor(of: text) == nil)
    #expect(throws: AssetSourceError.malformedCursor) {
      try catalogue.assets(AssetFetch(), FetchPageRequest(limit: 100, cursor: .invalid), for: .local)
    }
  }
}
