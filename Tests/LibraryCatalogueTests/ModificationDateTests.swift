import Foundation
import GRDB
import LibraryFixtures
import PhotoModel
import PhotoPredicate
import Testing

@testable import LibraryCatalogue

@Suite("Modification dates")
struct ModificationDateTests {
  private static let placeless = Principal(name: "placeless", scopes: [.read, .write])

  /// Makes the last change an old one, so that the next one has another time.
  private func age(_ library: SyntheticLibrary) throws {
    try library.queue.write { try $0.execute(sql: "UPDATE asset SET modificationDate = 1000") }
  }

  static let updates: [(name: String, update: AssetUpdate, isLocation: Bool)] = [
    ("favorite", AssetUpdate(isFavorite: true), false),
    ("hidden", AssetUpdate(isHidden: true), false),
    ("date", AssetUpdate(creationDate: Timestamp(milliseconds: 77)), false),
    ("offset", AssetUpdate(creationDate: Timestamp(milliseconds: 5), utcOffset: 60), false),
    ("location", AssetUpdate(location: Location(latitude: 1, longitude: 2)), true),
  ]

  @Test(
    "each change sets the modification date; without the location scope, a change of only the location does not",
    arguments: updates)
  func changes(_ name: String, _ update: AssetUpdate, _ isLocation: Bool) throws {
    let library = try SyntheticLibrary([SyntheticAsset(row: 1, date: 5), SyntheticAsset(row: 2, date: 6)])
    try age(library)
    let (asset, other) = (LocalIdentifier(library.assets[0].identifier), LocalIdentifier(library.assets[1].identifier))
    let lists = try library.changeLists()
    _ = try lists.perform([ChangeRequest(.updateAsset(.existing(asset), update))], for: .local)
    let token = try library.token()
    let time = try library.queue.read { db in
      try Int64.fetchOne(db, sql: "SELECT time FROM change WHERE token = (SELECT max(token) FROM change)")
    }
    func date(_ principal: Principal, _ identifier: LocalIdentifier) throws -> Int64? {
      try library.catalogue.asset(identifier, for: principal)?.modificationDate.milliseconds
    }
    #expect(try date(.local, asset) == time)
    #expect(try date(Self.placeless, asset) == (isLocation ? 1000 : time))
    #expect(try date(.local, other) == 1000)
    // Predicates and orders must not reveal it either.
    for (principal, isVisible) in [(Principal.local, true), (Self.placeless, !isLocation)] {
      var fetch = AssetFetch()
      fetch.includesHidden = true
      fetch.predicate = try FetchPredicate(
        "modificationDate > '2001-01-01T00:00:00Z'", schema: .asset, principal: principal)
      #expect(try library.catalogue.count(fetch, deadline: nil, for: principal) == (isVisible ? 1 : 0), "\(name)")
      fetch.predicate = nil
      fetch.sort = try FetchSortDescriptors("-modificationDate,-creationDate", schema: .asset, principal: principal)
      let page = try library.catalogue.assets(fetch, FetchPageRequest(limit: 9), for: principal)
      #expect(page.assets.first?.localIdentifier == (isVisible ? asset : other), "\(name)")
    }
    // A no-op.
    _ = try lists.perform([ChangeRequest(.updateAsset(.existing(asset), update))], for: .local)
    #expect(try library.token() == token && date(.local, asset) == time)
  }

  @Test("after a change of its location and another one, an asset shows the time of the other one to everyone")
  func both() throws {
    let library = try SyntheticLibrary([SyntheticAsset(row: 1, date: 5)])
    try age(library)
    let asset = LocalIdentifier(library.assets[0].identifier)
    let lists = try library.changeLists()
    for update in [AssetUpdate(location: Location(latitude: 1, longitude: 2)), AssetUpdate(isFavorite: true)] {
      _ = try lists.perform([ChangeRequest(.updateAsset(.existing(asset), update))], for: .local)
    }
    let seen = try #require(try library.catalogue.asset(asset, for: .local)).modificationDate
    #expect(try library.catalogue.asset(asset, for: Self.placeless)?.modificationDate == seen)
    #expect(seen.milliseconds > 1000)
  }

  @Test("it begins with the time of addition, and a changed file sets both it and the file's date")
  func files() throws {
    let library = try TemporaryLibrary()
    func put(_ bytes: [UInt8], _ seconds: Int) throws {
      try library.put(bytes, "a.jpg")
      let time = [FileAttributeKey.modificationDate: Date(timeIntervalSince1970: Double(seconds))]
      try FileManager.default.setAttributes(time, ofItemAtPath: library.root + "/a.jpg")
    }
    try put(smallJPEG, 1_000_000)
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let asset = try #require(try catalogue.everything()["a.jpg"])
    #expect(asset.fileModificationDate.milliseconds == 1_000_000_000)
    #expect(asset.modificationDate == asset.addedDate && asset.addedDate.milliseconds > 1_700_000_000_000)
    try catalogue.pool.write { try $0.execute(sql: "UPDATE asset SET modificationDate = 1000") }
    try library.scan(catalogue)
    #expect(try catalogue.everything()["a.jpg"]?.modificationDate.milliseconds == 1000, "nothing changed")
    try put(smallJPEG + [0], 2_000_000)
    try library.scan(catalogue)
    let changed = try #require(try catalogue.everything()["a.jpg"])
    #expect(changed.localIdentifier == asset.localIdentifier && changed.addedDate == asset.addedDate)
    #expect(changed.fileModificationDate.milliseconds == 2_000_000_000)
    #expect(changed.modificationDate >= asset.modificationDate)
  }
}
