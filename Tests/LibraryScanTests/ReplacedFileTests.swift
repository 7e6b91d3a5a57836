import GRDB
import LibraryFixtures
import LibraryFolder
import LibraryScan
import PhotoFixtures
import PhotoModel
import Testing

@testable import LibraryCatalogue

#if canImport(Glibc)
  import Glibc
#endif

/// A file takes the path of another one, which is gone. What users made of either is not lost.
@Suite("Files that take the path of another one")
struct ReplacedFileTests {
  /// What users made of the file that is moved, and of the one whose path it takes, as assignments of SQL.
  struct Case: CustomStringConvertible, Sendable {
    let description: String
    var moved: String?
    var replaced: String?
    /// Whether the asset of the path stays.
    let staysWithPath: Bool
  }

  static let cases = [
    Case(description: "neither has anything", staysWithPath: true),
    Case(description: "the path's asset is a favourite", replaced: "isFavorite = 1", staysWithPath: true),
    Case(description: "the path's asset is hidden", replaced: "isHidden = 1", staysWithPath: true),
    Case(
      description: "the path's asset has a title", replaced: "title = 'Title', userFields = 1", staysWithPath: true),
    Case(description: "the moved asset is a favourite", moved: "isFavorite = 1", staysWithPath: false),
    Case(description: "both are favourites", moved: "isFavorite = 1", replaced: "isFavorite = 1", staysWithPath: true),
  ]

  private static func edit(_ catalogue: Catalogue, _ path: String, _ values: String?) throws {
    guard let values else { return }
    try catalogue.change { db, token in
      try db.execute(
        sql: """
          UPDATE asset SET \(values), revision = ? WHERE id = (SELECT asset FROM file WHERE path = CAST(? AS BLOB))
          """, arguments: [token, path])
    }
  }

  /// Puts the asset at a path into a new album.
  static func mark(_ catalogue: Catalogue, _ path: String, _ title: String) throws {
    try catalogue.change { db, token in
      try db.execute(
        sql: """
          INSERT INTO collection (localIdentifier, type, subtype, title, revision)
          VALUES (?, 'album', 'albumRegular', ?, ?)
          """, arguments: [title, title, token])
      try db.execute(
        sql: """
          INSERT INTO member (collection, position, asset, creationDate, listing)
          SELECT collection.id, 1, asset.id, creationDate, listing FROM asset, collection
          WHERE collection.title = ? AND asset.id = (SELECT asset FROM file WHERE path = CAST(? AS BLOB))
          """, arguments: [title, path])
    }
  }

  /// The albums of the asset at each path.
  static func marks(_ catalogue: Catalogue) throws -> [String: Set<String>] {
    try catalogue.read { db in
      let rows = try Row.fetchAll(
        db,
        sql: """
          SELECT CAST(file.path AS TEXT), collection.title FROM file
            LEFT JOIN member ON member.asset = file.asset LEFT JOIN collection ON collection.id = member.collection
          WHERE file.asset IS NOT NULL
          """)
      var marks: [String: Set<String>] = [:]
      for row in rows {
        let (path, title): (String, String?) = (row[0], row[1])
        marks[path, default: []].formUnion([title].compactMap(\.self))
      }
      return marks
    }
  }

  static func scan(_ watched: WatchedLibrary, isFull: Bool) throws {
    if isFull { try watched.library.scan(watched.catalogue, removal: 100) } else { watched.settle() }
  }

  @Test(
    "a path keeps its asset, unless users made something only of the file that takes it", arguments: cases,
    [true, false])
  func takenPath(_ given: Case, _ isFull: Bool) throws {
    let watched = try WatchedLibrary(removal: 100) { library in
      try library.put(smallJPEG, "f/a.jpg")
      try library.put(smallPNG, "f/.tmp")
    }
    let before = try watched.identifiers()
    try Self.edit(watched.catalogue, "f/a.jpg", given.replaced)
    try Self.edit(watched.catalogue, "f/.tmp", given.moved)
    watched.move("f/.tmp", "f/a.jpg")
    try Self.scan(watched, isFull: isFull)
    let after = try watched.catalogue.everything(includesHidden: true)
    let expected = try #require(before[given.staysWithPath ? "f/a.jpg" : "f/.tmp"])
    #expect(after.mapValues(\.localIdentifier) == ["f/a.jpg": expected])
    let asset = try #require(after["f/a.jpg"])
    #expect(asset.pixelSize == PixelSize(width: 30, height: 20), "it has the new content")
    let values = [given.moved, given.replaced].compactMap(\.self).joined(separator: ", ")
    #expect(asset.isFavorite == values.contains("isFavorite") && asset.isHidden == values.contains("isHidden"))
    try watched.expectNothingLeft()
  }

  @Test("if users made something of both, the asset of the path takes over what it lacks", arguments: [true, false])
  func bothHaveValues(_ isFull: Bool) throws {
    let watched = try WatchedLibrary(removal: 100) { library in
      try library.put(smallJPEG, "a.jpg")
      try library.put(smallPNG, ".tmp")
    }
    let before = try #require(try watched.identifiers()["a.jpg"])
    try Self.edit(watched.catalogue, "a.jpg", "title = 'Mine', userFields = 1")
    try Self.mark(watched.catalogue, "a.jpg", "One")
    try Self.edit(
      watched.catalogue, ".tmp",
      "isFavorite = 1, title = 'Other', caption = 'Caption', userFields = 3, latitude = 1, longitude = 2, "
        + "hasUserLocation = 1")
    try Self.mark(watched.catalogue, ".tmp", "Two")
    watched.move(".tmp", "a.jpg")
    try Self.scan(watched, isFull: isFull)
    #expect(try watched.identifiers() == ["a.jpg": before])
    #expect(try Self.marks(watched.catalogue) == ["a.jpg": ["One", "Two"]])
    let values = try watched.catalogue.read { db in
      try String.fetchAll(
        db,
        sql: """
          SELECT format('%d %s %s %d %.0f %.0f', isFavorite, title, caption, userFields, latitude, longitude)
          FROM asset
          """)
    }
    #expect(values == ["1 Mine Caption 3 1 2"])
    try watched.expectNothingLeft()
  }

  @Test("files that are renumbered keep their assets; only the path of the overwritten one keeps its own")
  func renumbered() throws {
    let watched = try WatchedLibrary(removal: 100) { library in
      for (number, name) in ["a.jpg", "b.jpg", "c.jpg"].enumerated() { try library.put(picture(number), name) }
    }
    let before = try watched.identifiers()
    let (first, last) = (try #require(before["a.jpg"]), try #require(before["c.jpg"]))
    try Self.mark(watched.catalogue, "a.jpg", "A")
    try Self.mark(watched.catalogue, "c.jpg", "C")
    watched.move("b.jpg", "c.jpg")
    watched.move("a.jpg", "b.jpg")
    watched.settle()
    #expect(try watched.identifiers() == ["b.jpg": first, "c.jpg": last])
    #expect(try Self.marks(watched.catalogue) == ["b.jpg": ["A"], "c.jpg": ["C"]])
    #expect(exchangeNames(watched.at("b.jpg"), watched.at("c.jpg")))
    watched.settle()
    #expect(try Self.marks(watched.catalogue) == ["c.jpg": ["A"], "b.jpg": ["C"]])
    try watched.expectNothingLeft()
  }

  @Test(
    "a file that is saved through an indexed temporary file and with a renamed backup keeps its asset",
    arguments: ["a.jpg~", "a.jpg_original"], [true, false])
  func savedWithBackup(_ backup: String, _ isFull: Bool) throws {
    let watched = try WatchedLibrary(removal: 100) { library in
      try library.put(smallJPEG, "a.jpg")
      try library.put(smallPNG, ".tmp")
    }
    let before = try #require(try watched.identifiers()["a.jpg"])
    try Self.mark(watched.catalogue, "a.jpg", "Album")
    watched.move("a.jpg", backup)
    watched.move(".tmp", "a.jpg")
    try Self.scan(watched, isFull: isFull)
    #expect(try Self.marks(watched.catalogue) == ["a.jpg": ["Album"], backup: []])
    let asset = try #require(try watched.catalogue.everything()["a.jpg"])
    #expect(asset.localIdentifier == before && asset.pixelSize == PixelSize(width: 30, height: 20))
    unlink(watched.at(backup))
    try Self.scan(watched, isFull: isFull)
    #expect(try watched.identifiers() == ["a.jpg": before])
    try watched.expectNothingLeft()
  }

  @Test(
    "two photographs that users changed keep their assets if one becomes the backup of the other",
    arguments: [true, false])
  func photographAsBackup(_ isFull: Bool) throws {
    let watched = try WatchedLibrary(removal: 100) { library in
      try library.put(picture(1), "old/a.jpg")
      try library.put(picture(2), "new/a.jpg")
    }
    let before = try watched.identifiers()
    let (old, new) = (try #require(before["old/a.jpg"]), try #require(before["new/a.jpg"]))
    try Self.mark(watched.catalogue, "old/a.jpg", "Old")
    try Self.mark(watched.catalogue, "new/a.jpg", "New")
    watched.move("old/a.jpg", "old/a.jpg~")
    watched.move("new/a.jpg", "old/a.jpg")
    try Self.scan(watched, isFull: isFull)
    #expect(try watched.identifiers() == ["old/a.jpg": new, "old/a.jpg~": old])
    #expect(try Self.marks(watched.catalogue) == ["old/a.jpg": ["New"], "old/a.jpg~": ["Old"]])
    try watched.expectNothingLeft()
  }

  @Test(
    "a photograph that exchanges names with its backup keeps its asset", arguments: [["a.jpg"], ["a.jpg", "a.jpg~"]],
    [true, false])
  func exchangedWithBackup(_ changed: [String], _ isFull: Bool) throws {
    let watched = try WatchedLibrary(removal: 100) { library in
      try library.put(picture(1), "a.jpg")
      try library.put(picture(2), "a.jpg~")
    }
    let before = try watched.identifiers()
    let (original, backup) = (try #require(before["a.jpg"]), try #require(before["a.jpg~"]))
    for path in changed { try Self.mark(watched.catalogue, path, path) }
    #expect(exchangeNames(watched.at("a.jpg"), watched.at("a.jpg~")))
    try Self.scan(watched, isFull: isFull)
    #expect(try watched.identifiers() == ["a.jpg": backup, "a.jpg~": original])
    #expect(try Self.marks(watched.catalogue)["a.jpg~"] == ["a.jpg"])
    try watched.expectNothingLeft()
  }

  @Test(
    "of assets that lose the same path before a scan completes, those that users changed keep it",
    arguments: [true, false])
  func lostTwice(_ bothAreChanged: Bool) throws {
    let library = try TemporaryLibrary()
    for (number, name) in ["b.jpg", "p.jpg", "z/1.jpg"].enumerated() { try library.put(picture(number), name) }
    try library.put(smallPNG, ".tmp")
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let before = try #require(try catalogue.everything()["b.jpg"]?.localIdentifier)
    try Self.mark(catalogue, "b.jpg", "B")
    if bothAreChanged { try Self.mark(catalogue, "p.jpg", "P") }
    #expect(rename(library.root + "/b.jpg", library.root + "/p.jpg") == 0)
    let stop = StopFlag()
    var environment = LibraryEnvironment.system
    environment.device = { folder, opened in
      // The walk has passed the pictures.
      if folder == Array("z".utf8) { stop.raise() }
      return opened.device
    }
    try library.scan(catalogue, environment: environment, stop: stop)
    #expect(try catalogue.everything()["p.jpg"]?.localIdentifier == before)
    #expect(rename(library.root + "/.tmp", library.root + "/p.jpg") == 0)
    try library.scan(catalogue)
    let albums: Set<String> = bothAreChanged ? ["B", "P"] : ["B"]
    #expect(try Self.marks(catalogue) == ["p.jpg": albums, "z/1.jpg": []])
    let asset = try #require(try catalogue.everything()["p.jpg"])
    #expect(asset.pixelSize == PixelSize(width: 30, height: 20), "it has the new content")
    #expect(bothAreChanged || asset.localIdentifier == before)
  }

  @Test("a path keeps its asset also in a scan that refuses to remove missing files")
  func refusedRemoval() throws {
    let library = try TemporaryLibrary()
    for number in 0..<30 { try library.put(picture(number), "\(number).jpg") }
    try library.put(smallPNG, ".tmp")
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let before = try #require(try catalogue.everything()["0.jpg"]?.localIdentifier)
    try Self.mark(catalogue, "0.jpg", "Album")
    #expect(rename(library.root + "/.tmp", library.root + "/0.jpg") == 0)
    for number in 1..<30 { unlink(library.root + "/\(number).jpg") }
    #expect(throws: (any Error).self) { try library.scan(catalogue) }
    try library.scan(catalogue, acceptingRemovals: true)
    #expect(try catalogue.everything().mapValues(\.localIdentifier) == ["0.jpg": before])
    #expect(try Self.marks(catalogue) == ["0.jpg": ["Album"]])
  }

  // MARK: Random changes

  /// One random change of files, and what has to be left of the albums after it.
  ///
  /// - Parameter deleted: the albums of files that were deleted at each path, which come back with the path.
  private static func step(
    _ number: Int, _ watched: WatchedLibrary, _ marks: inout [String: Set<String>],
    deleted: inout [String: [Set<String>]], _ numbers: inout SplitMix
  ) throws -> String {
    let paths = marks.keys.sorted()
    let one = paths.randomElement(using: &numbers)!
    let other = paths.randomElement(using: &numbers)!
    let target = ["f/", ""].randomElement(using: &numbers)! + "\(Int.random(in: 0..<4, using: &numbers)).jpg"
    let temporary = "f/.\(number).tmp"
    switch Int.random(in: 0..<9, using: &numbers) {
    case 0:
      try watched.put(picture(number), target)
      if marks[target] == nil { marks[target] = deleted[target]?.popLast() ?? [] }
      return "write \(target)"
    case 1, 2:
      try mark(watched.catalogue, one, "\(number)")
      marks[one]?.insert("\(number)")
      return "mark \(one)"
    case 3, 4:
      try watched.put(picture(number), temporary)
      watched.move(temporary, one)
      return "save \(one)"
    case 5, 6:
      try watched.put(picture(number), temporary)
      try scan(watched, isFull: Bool.random(using: &numbers))
      watched.move(temporary, one)
      return "save \(one) slowly"
    case 7:
      guard one != target else { return "" }
      watched.move(one, target)
      let moved = marks.removeValue(forKey: one) ?? []
      // Without albums of its own, it is the deleted file, saved again.
      let returned = marks[target] == nil && moved.isEmpty ? deleted[target]?.popLast() : nil
      marks[target] = (marks[target] ?? returned ?? []).union(moved)
      return "rename \(one) \(target)"
    default:
      if one == other {
        guard paths.count > 2 else { return "" }
        unlink(watched.at(one))
        if let lost = marks.removeValue(forKey: one), !lost.isEmpty { deleted[one, default: []].append(lost) }
        return "delete \(one)"
      }
      #expect(exchangeNames(watched.at(one), watched.at(other)))
      (marks[one], marks[other]) = (marks[other], marks[one])
      return "swap \(one) \(other)"
    }
  }

  @Test("after random changes, albums have lost only deleted files that did not come back", arguments: 1...6)
  func sequences(_ seed: Int) throws {
    var numbers = SplitMix(state: UInt64(seed))
    let watched = try WatchedLibrary(removal: 100) { library in
      for (number, path) in ["0.jpg", "1.jpg", "f/0.jpg"].enumerated() { try library.put(picture(number), path) }
    }
    var marks: [String: Set<String>] = ["0.jpg": [], "1.jpg": [], "f/0.jpg": []]
    var deleted: [String: [Set<String>]] = [:]
    var done: [String] = []
    for number in 100..<160 {
      done.append(try Self.step(number, watched, &marks, deleted: &deleted, &numbers))
      try Self.scan(watched, isFull: Bool.random(using: &numbers))
      let found = try Self.marks(watched.catalogue)
      #expect(found == marks, "seed \(seed): \(done.suffix(8).joined(separator: "; "))")
      if found != marks { return }
    }
    watched.settle()
    #expect(try Self.marks(watched.catalogue) == marks, "seed \(seed), at the end")
    try watched.expectNothingLeft("seed \(seed)")
  }
}
