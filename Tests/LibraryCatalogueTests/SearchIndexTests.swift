import Foundation
import GRDB
import ImageCodec
import LibraryCatalogue
import LibraryFiles
import LibraryFixtures
import LibraryScan
import Logging
import PhotoFixtures
import PhotoModel
import PhotoPredicate
import Testing

/// The search index after every kind of change, by the programs' own writers.
@Suite("Search index")
struct SearchIndexTests {
  @Test("a catalogue with words of another version is indexed again when it is opened")
  func otherWords() throws {
    let library = try TemporaryLibrary()
    try library.put(smallPNG, "cliff.png")
    do { try library.scan(library.catalogue()) }
    let queue = try DatabaseQueue(path: library.data + "/catalogue.sqlite")
    try queue.write { db in
      try db.execute(
        sql: """
          INSERT INTO search (search) VALUES ('delete-all');
          DELETE FROM searchText;
          UPDATE catalogueValue SET value = 0 WHERE name = 'searchWords';
          """)
    }
    try queue.close()
    for _ in 0..<2 {
      let catalogue = try library.catalogue()
      var fetch = AssetFetch()
      fetch.search = AssetSearch(try SearchQuery("cliff"), for: .local)
      let found = try catalogue.assets(fetch, FetchPageRequest(limit: 9), for: .local).assets
      #expect(found.map(\.original.displayPath) == ["cliff.png"])
      var differences: [CheckDifference] = []
      try catalogue.checkConsistency { differences.append($0) }
      #expect(differences.isEmpty)
    }
  }

  @Test("scans, change lists, the trash, and a restored copy keep the search index true")
  func writers() throws {
    let library = try TemporaryLibrary()
    let camera = EXIFBlock { ($0.make, $0.model) = ("Canon", "EOS R5") }
    try library.put(
      JPEGFile { $0.exif = camera }.encoded(Pixels.orientationCard(width: 8, height: 8)), "2024/beach/a.jpg")
    try library.put(smallPNG, "2024/b.png")
    var catalogue = try library.catalogue()
    let check = { (catalogue: Catalogue, search: String, paths: [String]) in
      var fetch = AssetFetch()
      fetch.search = AssetSearch(try SearchQuery(search), for: .local)
      let found = try catalogue.assets(fetch, FetchPageRequest(limit: 9), for: .local).assets
      #expect(found.map(\.original.displayPath).sorted() == paths, "\(search)")
      var differences: [CheckDifference] = []
      try catalogue.checkConsistency { differences.append($0) }
      #expect(differences.isEmpty, "\(search)")
    }
    try library.scan(catalogue)
    try check(catalogue, "2024", ["2024/b.png", "2024/beach/a.jpg"])
    try check(catalogue, "\"canon eos\" bea", ["2024/beach/a.jpg"])

    #expect(rename(library.root + "/2024/b.png", library.root + "/2024/cliff.png") == 0)
    try library.scan(catalogue)
    try check(catalogue, "cliff", ["2024/cliff.png"])
    try check(catalogue, "\"b png\"", [])

    let files = try LibraryFiles(
      catalogue: catalogue, directory: library.root, timeZone: "UTC", limits: CodecLimits(),
      options: LibraryFiles.Options(), logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let lists = ChangeListExecutor(catalogue: catalogue, files: files, limits: ChangeLimits())
    let asset = try #require(try catalogue.everything()["2024/cliff.png"]).localIdentifier
    let created = try lists.perform(
      [
        ChangeRequest(.createCollection(NewCollection(isFolder: false, title: "Été au lac")), placeholder: "$a"),
        ChangeRequest(.addAssets(.placeholder("$a"), [.existing(asset)])),
      ], for: .local)
    let album = ChangeTarget.existing(try #require(created.created["$a"]))
    try check(catalogue, "ete cliff", ["2024/cliff.png"])
    _ = try lists.perform(
      [ChangeRequest(.updateCollection(album, CollectionUpdate(title: "Winter")))], for: .local)
    try check(catalogue, "ete", [])
    try check(catalogue, "winter", ["2024/cliff.png"])
    let date = Timestamp(milliseconds: -5_000_000_000_000)
    _ = try lists.perform(
      [ChangeRequest(.updateAsset(.existing(asset), AssetUpdate(creationDate: date)))], for: .local)
    try check(catalogue, "winter", ["2024/cliff.png"])

    _ = try lists.perform([ChangeRequest(.deleteAsset(.existing(asset)))], for: .local)
    try check(catalogue, "cliff", [])
    _ = try lists.perform([ChangeRequest(.restoreAsset(asset))], for: .local)
    try check(catalogue, "cliff winter", ["2024/cliff.png"])
    _ = try lists.perform([ChangeRequest(.removeAssets(album, [.existing(asset)]))], for: .local)
    try check(catalogue, "winter", [])
    _ = try lists.perform(
      [ChangeRequest(.addAssets(album, [.existing(asset)])), ChangeRequest(.deleteCollection(album))], for: .local)
    try check(catalogue, "winter", [])

    let copy = library.data + "/copy.sqlite"
    try catalogue.backUp(to: copy)
    let other = try TemporaryLibrary()
    _ = try CatalogueRestore(dataFolder: other.data).restore(from: copy)
    catalogue = try other.catalogue()
    try check(catalogue, "cliff", ["2024/cliff.png"])
  }
}
