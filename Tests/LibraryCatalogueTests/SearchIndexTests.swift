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

/// The search index after every kind of change, made by the real writers.
@Suite("Search index")
struct SearchIndexTests {
  private func changeLists(_ catalogue: Catalogue, _ library: TemporaryLibrary) throws -> ChangeListExecutor {
    let files = try LibraryFiles(
      catalogue: catalogue, directory: library.root, timeZone: "UTC", limits: CodecLimits(),
      options: LibraryFiles.Options(), logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    return ChangeListExecutor(catalogue: catalogue, files: files, limits: ChangeLimits())
  }

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

  @Test("words that no asset has any more are removed, and the words of assets are found as before")
  func formerWords() throws {
    let library = try TemporaryLibrary()
    try library.put(smallPNG, "cliff.png")
    try library.put(smallPNG + [0], "beach.png")
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let lists = try changeLists(catalogue, library)
    let asset = try #require(try catalogue.everything()["cliff.png"]).localIdentifier
    func describe(_ caption: String?) throws {
      var update = AssetUpdate()
      update.caption = .some(caption)
      _ = try lists.perform([ChangeRequest(.updateAsset(.existing(asset), update))], for: .local)
    }
    /// The words in the list that searches expand prefixes with, and the words of assets.
    func words() throws -> (known: Set<String>, used: Set<String>) {
      let queue = try DatabaseQueue(path: library.data + "/catalogue.sqlite")
      defer { try? queue.close() }
      return try queue.read { db in
        let known = try String.fetchAll(db, sql: "SELECT term FROM searchTerm")
        let texts = try String.fetchAll(db, sql: "SELECT text FROM searchText")
        var used: Set<String> = []
        for text in texts {
          for word in text.split(separator: " ") {
            // The marks of fields are in Unicode's private use area.
            let first = word.unicodeScalars.first?.value ?? 0
            if first < 0xE000 || first > 0xF8FF { used.insert(String(word)) }
          }
        }
        return (known: Set(known), used: used)
      }
    }
    func found(_ search: String) throws -> [String] {
      var fetch = AssetFetch()
      fetch.search = AssetSearch(try SearchQuery(search), for: .local)
      return try catalogue.assets(fetch, FetchPageRequest(limit: 9), for: .local).assets.map(\.original.displayPath)
    }
    // Many steps of words.
    for round in 0..<3 { try describe((1000..<2200).map { "w\(round)v\($0)" }.joined(separator: " ")) }
    try describe("former")
    try describe("a walk")
    let before = try words()
    #expect(before.known.isSuperset(of: before.used))
    #expect(before.known.count > before.used.count + 1000)
    #expect(before.known.contains("former"))
    let generation = catalogue.generation
    let stop = StopFlag()
    stop.raise()
    try catalogue.pruneSearchTerms(until: stop)
    #expect(try words().known == before.known, "a stopped daemon removes nothing")

    try catalogue.pruneSearchTerms(until: StopFlag())
    var after = try words()
    #expect(after.known == before.used)
    #expect(after.used == before.used)
    #expect(catalogue.generation == generation, "it is no change")
    #expect(try found("wal") == ["cliff.png"])
    #expect(try found("bea") == ["beach.png"])
    #expect(try found("form") == [])
    try describe("former")
    #expect(try found("form") == ["cliff.png"])
    #expect(try found("wal") == [])
    _ = try lists.perform([ChangeRequest(.deleteAsset(.existing(asset)))], for: .local)
    try catalogue.pruneSearchTerms(until: StopFlag())
    after = try words()
    #expect(after.known == after.used)
    #expect(after.known.contains("beach") && !after.known.contains("cliff"))
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

    let lists = try changeLists(catalogue, library)
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
