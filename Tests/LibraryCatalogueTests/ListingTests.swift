import LibraryCatalogue
import LibraryFixtures
import PhotoFixtures
import PhotoModel
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

  @Test("a forged cursor is refused", arguments: ["", "x", "AAAA", "MTIz"])
  func foreignCursor(_ text: String) throws {
    let catalogue = try TemporaryLibrary().catalogue()
    #expect(catalogue.tokens.cursor(of: text) == nil)
    #expect(throws: AssetSourceError.malformedCursor) {
      try catalogue.assets(AssetFetch(), FetchPageRequest(limit: 100, cursor: .invalid), for: .local)
    }
  }
}
