import Foundation
import GRDB
import LibraryCatalogue
import LibraryFixtures
import PhotoFixtures
import PhotoModel
import Testing

#if canImport(Glibc)
  import Glibc
#endif

@Suite("Placeholders in the catalogue")
struct PlaceholderStoreTests {
  private static let placeholder = [UInt8](0..<24)

  private func result(_ asset: Asset, _ placeholder: [UInt8]? = placeholder) -> PlaceholderResult {
    PlaceholderResult(
      localIdentifier: asset.localIdentifier, contentVersion: asset.contentVersion, placeholder: placeholder)
  }

  /// All assets without a placeholder, page by page.
  private func wanted(_ catalogue: Catalogue, limit: Int = 100) throws -> [Asset] {
    var all: [Asset] = []
    while true {
      let page = try catalogue.assetsWithoutPlaceholder(after: all.last, limit: limit)
      all += page
      if page.count < limit { return all }
    }
  }

  private func library(_ count: Int) throws -> (TemporaryLibrary, Catalogue) {
    let library = try TemporaryLibrary()
    for i in 0..<count {
      let exif = EXIFBlock {
        $0.dateTimeOriginal = "2024:05:0\(i % 4 + 1) 00:00:00"
        $0.latitude = 48
        $0.longitude = 16
      }
      try library.put(JPEGFile { $0.exif = exif }.encoded(Pixels.orientationCard(width: 8, height: 8)), "\(i).jpg")
    }
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    return (library, catalogue)
  }

  @Test(
    "every new asset is listed as lacking a placeholder, by pages, in listing order, without its location",
    arguments: [1, 7, 100])
  func pages(_ limit: Int) throws {
    let (library, catalogue) = try library(30)
    defer { withExtendedLifetime(library) {} }
    let listed = try catalogue.assets(AssetFetch(), FetchPageRequest(limit: 100), for: .anonymous).assets
    #expect(listed.allSatisfy { $0.placeholder == nil && $0.location == nil })
    #expect(try wanted(catalogue, limit: limit) == listed)
  }

  @Test("a stored placeholder is part of lists and of single assets, and is not requested again")
  func made() throws {
    let (library, catalogue) = try library(5)
    defer { withExtendedLifetime(library) {} }
    let assets = try wanted(catalogue)
    try catalogue.store([result(assets[1]), result(assets[3])])
    #expect(try wanted(catalogue) == [assets[0], assets[2], assets[4]])
    let listed = try catalogue.assets(AssetFetch(), FetchPageRequest(limit: 100), for: .local).assets
    #expect(listed.map(\.placeholder) == [nil, Self.placeholder, nil, Self.placeholder, nil])
    #expect(try catalogue.asset(assets[1].localIdentifier, for: .anonymous)?.placeholder == Self.placeholder)
  }

  @Test("a failed placeholder is not tried again until the version of its maker changes")
  func failed() throws {
    let (library, catalogue) = try library(3)
    defer { withExtendedLifetime(library) {} }
    try catalogue.setPlaceholderMaker(version: "1")
    let assets = try wanted(catalogue)
    try catalogue.store([result(assets[0]), result(assets[1], nil)])
    try catalogue.setPlaceholderMaker(version: "1")
    #expect(try wanted(catalogue) == [assets[2]])
    #expect(try catalogue.asset(assets[1].localIdentifier, for: .local)?.placeholder == nil)
    try catalogue.setPlaceholderMaker(version: "2")
    #expect(try wanted(catalogue) == [assets[1], assets[2]])
    #expect(try catalogue.asset(assets[0].localIdentifier, for: .local)?.placeholder == Self.placeholder)
  }

  @Test(
    "changed content has no placeholder, requests one, and rejects one of the old content", arguments: [true, false])
  func stale(_ wasMade: Bool) throws {
    let (library, catalogue) = try library(1)
    let before = try wanted(catalogue)[0]
    try catalogue.store([result(before, wasMade ? Self.placeholder : nil)])
    try library.put(smallPNG, "0.jpg")
    try library.scan(catalogue)
    let after = try #require(try wanted(catalogue).first)
    #expect(after.localIdentifier == before.localIdentifier && after.contentVersion != before.contentVersion)
    #expect(try catalogue.asset(after.localIdentifier, for: .local)?.placeholder == nil)
    // The content has changed since the placeholder was requested.
    try catalogue.store([result(before, [9])])
    #expect(try catalogue.asset(after.localIdentifier, for: .local)?.placeholder == nil)
    #expect(try wanted(catalogue).count == 1)
    try catalogue.store([result(after, [7, 8])])
    #expect(try catalogue.asset(after.localIdentifier, for: .local)?.placeholder == [7, 8])
  }

  @Test("changed content has no placeholder in lists, in whatever order SQLite runs the triggers")
  func triggerOrder() throws {
    let (library, catalogue) = try library(1)
    try catalogue.store(try wanted(catalogue).map { result($0) })
    let queue = try DatabaseQueue(path: library.data + "/catalogue.sqlite")
    try queue.write { db in
      let sql = try String.fetchOne(db, sql: "SELECT sql FROM sqlite_master WHERE name = 'forgetPlaceholder'")
      try db.execute(sql: "DROP TRIGGER forgetPlaceholder")
      // SQLite runs the newest one first.
      try db.execute(sql: try #require(sql))
    }
    try library.put(smallPNG, "0.jpg")
    try library.scan(catalogue)
    let count = try queue.read { try Int.fetchOne($0, sql: "SELECT count(placeholder) FROM libraryAsset") }
    #expect(count == 0)
    try queue.close()
  }

  @Test("a rename keeps the placeholder; a result for a deleted asset is dropped")
  func movedAndGone() throws {
    let (library, catalogue) = try library(2)
    let assets = try wanted(catalogue)
    let kept = try #require(assets.first { $0.original.displayPath == "0.jpg" })
    let gone = try #require(assets.first { $0.original.displayPath == "1.jpg" })
    try catalogue.store([result(kept)])
    #expect(rename(library.root + "/0.jpg", library.root + "/2.jpg") == 0 && unlink(library.root + "/1.jpg") == 0)
    try library.scan(catalogue)
    try catalogue.store([result(gone)])
    let after = try catalogue.everything()
    #expect(Array(after.keys) == ["2.jpg"] && after["2.jpg"]?.placeholder == Self.placeholder)
  }

  @Test("storing a placeholder changes no generation, revision or change token")
  func withoutCounting() throws {
    let (library, catalogue) = try library(3)
    let assets = try wanted(catalogue)
    let token = try catalogue.assets(after: nil, limit: 1).changeToken
    let generation = catalogue.generation
    try catalogue.setPlaceholderMaker(version: "1")
    try catalogue.store([result(assets[0]), result(assets[1], nil)])
    catalogue.checkForExternalChanges()
    #expect(catalogue.generation == generation)
    let page = try catalogue.assets(AssetFetch(), FetchPageRequest(limit: 100), for: .local)
    #expect(page.changeToken == token && page.assets.map(\.revision) == assets.map(\.revision))
    // A real change after that still counts.
    try library.put(smallPNG, "new.png")
    try library.scan(catalogue)
    #expect(catalogue.generation != generation)
  }

  @Test("a check detects commits of other processes, and does not mistake own commits for them")
  func otherWriters() throws {
    let (library, catalogue) = try library(1)
    let quiet = catalogue.generation
    catalogue.checkForExternalChanges()
    #expect(catalogue.generation == quiet)
    try library.put(smallPNG, "new.png")
    try library.scan(try library.catalogue())
    #expect(catalogue.generation == quiet)
    catalogue.checkForExternalChanges()
    let noticed = catalogue.generation
    #expect(noticed != quiet)
    catalogue.checkForExternalChanges()
    #expect(catalogue.generation == noticed)
    // Also if this process writes between the other's commit and the next check.
    try library.put(smallPNG, "newer.png")
    try library.scan(try library.catalogue())
    try catalogue.store(try wanted(catalogue).map { result($0) })
    catalogue.checkForExternalChanges()
    #expect(catalogue.generation != noticed)
  }
}
