import Foundation
import GRDB
import LibraryCatalogue
import LibraryFixtures
import LibraryScan
import PhotoModel
import Synchronization
import Testing

#if canImport(Glibc)
  import Glibc
#endif

@Suite("Backup and restore")
struct BackupTests {
  /// The data of a catalogue that a scan can't rebuild, by the path of the picture.
  private struct UserData: Equatable {
    var assets: [String: [String]] = [:]
    var albums: [String: [String]] = [:]
    var contentKey = Data()
  }

  private func userData(_ file: String) throws -> UserData {
    let queue = try DatabaseQueue(path: file)
    defer { try? queue.close() }
    return try queue.read { db in
      var data = UserData()
      for row in try Row.fetchAll(
        db,
        sql: """
          SELECT CAST(path AS TEXT), localIdentifier, isFavorite, isHidden, coalesce(adjustments, '-')
          FROM asset JOIN file ON file.asset = asset.id AND isPrimary = 1
          """)
      {
        data.assets[row[0]] = [row[1], "\(row[2] as Int)", "\(row[3] as Int)", row[4]]
      }
      for row in try Row.fetchAll(
        db,
        sql: """
          SELECT collection.title, asset.localIdentifier
          FROM collection JOIN member ON member.collection = collection.id JOIN asset ON asset.id = member.asset
          ORDER BY member.position
          """)
      {
        data.albums[row[0], default: []].append(row[1])
      }
      data.contentKey =
        try Data.fetchOne(db, sql: "SELECT value FROM catalogueValue WHERE name = 'contentKey'") ?? Data()
      return data
    }
  }

  /// Writes user changes directly to the tables.
  private func writeUserChanges(_ library: TemporaryLibrary) throws {
    let queue = try DatabaseQueue(path: library.data + "/catalogue.sqlite")
    try queue.write { db in
      try db.execute(
        sql: """
          UPDATE asset SET isFavorite = 1 WHERE id % 3 = 0;
          UPDATE asset SET isHidden = 1 WHERE id % 5 = 0;
          UPDATE asset SET adjustments = '[]' WHERE id = 7;
          INSERT INTO collection (localIdentifier, type, subtype, title, revision)
            VALUES ('album1', 'album', 'albumRegular', 'Summer', 1);
          INSERT INTO member (collection, position, asset, listing, creationDate)
            SELECT (SELECT id FROM collection WHERE title = 'Summer'), id * 10, id, listing, creationDate FROM asset
            WHERE id BETWEEN 5 AND 9;
          UPDATE library SET revision = revision + 1 WHERE id = 0;
          """)
    }
    try queue.close()
  }

  private func token(_ library: TemporaryLibrary) throws -> Int64 {
    let queue = try DatabaseQueue(path: library.data + "/catalogue.sqlite")
    defer { try? queue.close() }
    return try queue.read { try Int64.fetchOne($0, sql: "SELECT revision FROM library WHERE id = 0") ?? -1 }
  }

  private func differences(_ library: TemporaryLibrary) throws -> [CheckDifference] {
    var found: [CheckDifference] = []
    _ = try CatalogueCheck(catalogue: Catalogue(reading: library.data), directory: library.root).run {
      found.append($0)
    }
    return found
  }

  @Test("a restore recreates triggers whose definitions are damaged in the copy")
  func definitions() throws {
    let library = try TemporaryLibrary()
    try library.put(smallJPEG, "a.jpg")
    do { try library.scan(library.catalogue()) }
    let copy = library.data + "/../copy.sqlite"
    try Catalogue(reading: library.data).backUp(to: copy)
    let damaged = try DatabaseQueue(path: copy)
    try damaged.writeWithoutTransaction { db in
      try db.execute(
        sql: """
          PRAGMA writable_schema = ON;
          UPDATE sqlite_schema SET sql = replace(sql, 'value - 1', 'value - 0') WHERE name = 'countDeletedMember';
          PRAGMA writable_schema = RESET;
          DROP TRIGGER noteUpdatedAsset;
          """)
    }
    try damaged.close()
    _ = try CatalogueRestore(dataFolder: library.data).restore(from: copy)
    do { try library.scan(library.catalogue()) }
    #expect(try differences(library) == [])
  }

  @Test("a restore brings back identifiers, user changes and albums, and the next scan updates the rest")
  func roundTrip() throws {
    let library = try TemporaryLibrary()
    for i in 0..<40 { try library.put(smallJPEG + Array("\(i)".utf8), "\(i).jpg") }
    do { try library.scan(library.catalogue()) }
    try writeUserChanges(library)
    let before = try userData(library.data + "/catalogue.sqlite")
    #expect(before.assets.count == 40 && before.albums["Summer"]?.count == 5 && before.contentKey.count == 32)
    let copy = library.data + "/../copy.sqlite"
    try Catalogue(reading: library.data).backUp(to: copy)
    var status = stat()
    #expect(stat(copy, &status) == 0 && status.st_mode & 0o777 == 0o600, "it holds secrets")
    #expect(try userData(copy) == before)

    // The library changes, and the catalogue is lost.
    #expect(rename(library.root + "/3.jpg", library.root + "/renamed.jpg") == 0)
    unlink(library.root + "/4.jpg")
    try library.put(smallPNG, "5.jpg")
    try library.put(smallJPEG, "new.jpg")
    do {
      let catalogue = try library.catalogue()
      for _ in 0..<5 {
        try library.scan(catalogue)
        try library.put(smallJPEG + [1], "more \(UInt64.random(in: 0 ... .max)).jpg")
      }
    }
    let tokenBefore = try token(library)
    let aside = try CatalogueRestore(dataFolder: library.data).restore(from: copy)
    #expect(aside == library.data + "/catalogue.before-restore.sqlite")
    #expect(try userData(library.data + "/catalogue.sqlite") == before)
    #expect(try token(library) > tokenBefore, "no revision is given out twice")
    let catalogue = try library.catalogue()
    let scan = try library.scan(catalogue)
    #expect(scan.moved == 1 && scan.removed == 1 && scan.probed == 7)
    let after = try userData(library.data + "/catalogue.sqlite")
    #expect(after.albums["Summer"] == before.albums["Summer"]?.filter { $0 != before.assets["4.jpg"]?[0] })
    for (path, asset) in before.assets where path != "4.jpg" {
      #expect(after.assets[path == "3.jpg" ? "renamed.jpg" : path] == asset)
    }
    #expect(after.contentKey == before.contentKey)
    #expect(try differences(library) == [])
    // The catalogue before the restore is intact, and the next restore does not overwrite it.
    #expect(try userData(library.data + "/catalogue.before-restore.sqlite").assets.count >= 41)
    withExtendedLifetime(catalogue) {}
  }

  @Test("a backup during a scan is a consistent snapshot")
  func whileScanning() throws {
    let library = try TemporaryLibrary()
    for i in 0..<600 { try library.put(smallJPEG + Array("\(i)".utf8), "\(i).jpg") }
    let scanning = try library.catalogue()
    let reading = try Catalogue(reading: library.data)
    let copies = Mutex<[String]>([])
    let base = library.data
    // In the progress handler of the scan, and at the same time on another thread.
    let group = DispatchGroup()
    for thread in 0..<2 {
      DispatchQueue.global().async(group: group) {
        for number in 0..<6 {
          let path = "\(base)/copy-\(thread)-\(number).sqlite"
          do { try reading.backUp(to: path) } catch { Issue.record(error) }
          copies.withLock { $0.append(path) }
        }
      }
    }
    try library.scan(scanning)
    group.wait()
    var counts: [Int] = []
    for path in copies.withLock({ $0 }) {
      let queue = try DatabaseQueue(path: path)
      try queue.read { db in
        #expect(try String.fetchAll(db, sql: "PRAGMA integrity_check") == ["ok"])
        let assets = try #require(try Int.fetchOne(db, sql: "SELECT count(*) FROM asset"))
        #expect(try Int.fetchOne(db, sql: "SELECT sum(assets) FROM counter WHERE library = 0") == assets)
        counts.append(assets)
      }
      #expect(!FileManager.default.fileExists(atPath: path + "-wal"), "it is one file")
    }
    #expect(counts.count == 12 && counts.allSatisfy { $0 <= 600 })
  }

  @Test("a backup replaces an existing file only on request, and a failed backup leaves no file")
  func overwriting() throws {
    let library = try TemporaryLibrary()
    try library.put(smallJPEG, "a.jpg")
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let copy = library.data + "/copy.sqlite"
    try Data("precious".utf8).write(to: URL(filePath: copy))
    #expect(throws: LibraryError.copyExists(path: copy)) { try catalogue.backUp(to: copy) }
    #expect(try String(contentsOfFile: copy, encoding: .utf8) == "precious")
    try catalogue.backUp(to: copy, replacing: true)
    #expect(try userData(copy).assets.count == 1)
    let nowhere = library.data + "/nowhere/copy.sqlite"
    #expect {
      try catalogue.backUp(to: nowhere)
    } throws: {
      guard case LibraryError.copyFailed(nowhere, _)? = $0 as? LibraryError else { return false }
      return true
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: library.data).allSatisfy { !$0.hasSuffix(".partial") })
  }

  @Test(
    "a restore refuses a file that is not an intact catalogue, and keeps the current catalogue",
    arguments: ["no database", "an empty file", "another program's", "damaged", "of a newer photod", "not there"])
  func refused(_ what: String) throws {
    let library = try TemporaryLibrary()
    for i in 0..<50 { try library.put(smallJPEG, "\(i).jpg") }
    do { try library.scan(library.catalogue()) }
    let before = try userData(library.data + "/catalogue.sqlite")
    let copy = library.data + "/../copy.sqlite"
    try Catalogue(reading: library.data).backUp(to: copy)
    switch what {
    case "no database": try Data(repeating: 65, count: 10_000).write(to: URL(filePath: copy))
    case "an empty file": try Data().write(to: URL(filePath: copy))
    case "another program's":
      unlink(copy)
      let queue = try DatabaseQueue(path: copy)
      try queue.write { try $0.execute(sql: "CREATE TABLE asset (id INTEGER PRIMARY KEY)") }
      try queue.close()
    case "damaged":
      let file = try #require(FileHandle(forUpdatingAtPath: copy))
      let size = try file.seekToEnd()
      for page in stride(from: UInt64(4096), to: size, by: 3 * 4096) {
        try file.seek(toOffset: page + 100)
        file.write(Data(repeating: 0xAA, count: 3000))
      }
      try file.close()
    case "of a newer photod":
      let queue = try DatabaseQueue(path: copy)
      try queue.write { try $0.execute(sql: "INSERT INTO grdb_migrations VALUES ('99: from the future')") }
      try queue.close()
    default: unlink(copy)
    }
    #expect {
      try CatalogueRestore(dataFolder: library.data).restore(from: copy)
    } throws: {
      switch $0 as? LibraryError {
      case .notACatalogue(copy, _): what != "of a newer photod"
      case .catalogueTooNew(copy): what == "of a newer photod"
      default: false
      }
    }
    #expect(try userData(library.data + "/catalogue.sqlite") == before)
    let files = try FileManager.default.contentsOfDirectory(atPath: library.data)
    #expect(!files.contains { $0.contains("incoming") || $0.contains("before-restore") }, "\(files)")
  }

  @Test("a restore is refused while the catalogue is open, and the catalogue can't be opened during a restore")
  func inUse() throws {
    let library = try TemporaryLibrary()
    try library.put(smallJPEG, "a.jpg")
    let copy = library.data + "/copy.sqlite"
    do {
      let catalogue = try library.catalogue()
      try library.scan(catalogue)
      try catalogue.backUp(to: copy)
      #expect(throws: LibraryError.dataFolderInUse(path: library.data)) {
        try CatalogueRestore(dataFolder: library.data).restore(from: copy)
      }
    }
    let lock = open(library.data + "/use.lock", O_RDWR)
    defer { close(lock) }
    #expect(flock(lock, LOCK_EX | LOCK_NB) == 0)
    #expect(throws: LibraryError.restoreUnderWay(path: library.data)) { try library.catalogue() }
  }

  @Test("a restore over a catalogue that is damaged or lost uses no revision again", arguments: ["damaged", "lost"])
  func revisions(_ what: String) throws {
    let library = try TemporaryLibrary()
    try library.put(smallJPEG, "a.jpg")
    let copy = library.data + "/../copy.sqlite"
    let present = library.data + "/catalogue.sqlite"
    var last: Int64 = 0
    for _ in 0..<2 {
      do {
        let catalogue = try library.catalogue()
        if last == 0 { try catalogue.backUp(to: copy) }
        for number in 0..<5 {
          try library.put(smallJPEG + [UInt8(number)], "\(UInt64.random(in: 0 ... .max)).jpg")
          try library.scan(catalogue)
        }
        let now = try token(library)
        #expect(now > last)
        last = now
      }
      switch what {
      case "damaged": try Data("no database at all".utf8).write(to: URL(filePath: present))
      default: unlink(present)
      }
      _ = try CatalogueRestore(dataFolder: library.data).restore(from: copy)
      #expect(try token(library) > last)
      last = try token(library)
    }
  }

  @Test("a restore works without a catalogue, and keeps a damaged one with its write-ahead log")
  func withoutASoundOne() throws {
    let library = try TemporaryLibrary()
    try library.put(smallJPEG, "a.jpg")
    let copy = URL(filePath: library.data).deletingLastPathComponent().path + "/copy.sqlite"
    do {
      let catalogue = try library.catalogue()
      try library.scan(catalogue)
      try catalogue.backUp(to: copy)
    }
    let before = try userData(copy)
    #expect(rename(library.data, library.data + "-lost") == 0)
    #expect(try CatalogueRestore(dataFolder: library.data).restore(from: copy) == nil)
    #expect(try userData(library.data + "/catalogue.sqlite") == before)
    for (name, text) in [("catalogue.sqlite", "no database at all"), ("catalogue.sqlite-wal", "nor its log")] {
      try Data(text.utf8).write(to: URL(filePath: library.data + "/" + name))
    }
    let aside = try #require(try CatalogueRestore(dataFolder: library.data).restore(from: copy))
    #expect(try String(contentsOfFile: aside, encoding: .utf8) == "no database at all")
    #expect(try userData(library.data + "/catalogue.sqlite") == before)
    #expect(try library.scan(library.catalogue()).probed == 0)
    #expect(try CatalogueRestore(dataFolder: library.data).restore(from: copy)?.hasSuffix("-2.sqlite") == true)
  }
}
