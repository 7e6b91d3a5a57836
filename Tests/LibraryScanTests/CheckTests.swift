import Foundation
import GRDB
import LibraryCatalogue
import LibraryFixtures
import LibraryFolder
import LibraryScan
import PhotoFixtures
import PhotoModel
import Testing

#if canImport(Glibc)
  import Glibc
#endif

@Suite("Checking")
struct CheckTests {
  /// The differences that a check finds, with the catalogue opened read-only.
  private func differences(
    _ library: TemporaryLibrary, _ environment: LibraryEnvironment = .system
  ) throws -> (found: [CheckDifference], summary: CatalogueCheck.Summary) {
    var found: [CheckDifference] = []
    let summary = try CatalogueCheck(
      catalogue: Catalogue(reading: library.data), directory: library.root, environment: environment
    ).run { found.append($0) }
    #expect(summary.differences == found.count)
    return (found, summary)
  }

  /// Changes the catalogue as another process would.
  private func alter(_ library: TemporaryLibrary, _ sql: String) throws {
    var configuration = Configuration()
    configuration.foreignKeysEnabled = false
    let queue = try DatabaseQueue(path: library.data + "/catalogue.sqlite", configuration: configuration)
    try queue.writeWithoutTransaction { try $0.execute(sql: sql) }
    try queue.close()
  }

  @Test("after a scan the check finds no difference, also while the catalogue is open elsewhere")
  func same() throws {
    let library = try TemporaryLibrary()
    for name in ["a.jpg", "b/c.jpg", "b.jpg", "ümläut.jpg", "new\nline.jpg"] { try library.put(smallJPEG, name) }
    try library.put(smallJPEG, named: [0xFF, 0xFE])
    try library.put(Array("text".utf8), "text.txt")
    #expect(symlink("nowhere", library.root + "/dangling.jpg") == 0)
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let (found, summary) = try differences(library)
    #expect(found == [] && summary.files == 7 && !summary.changedDuringCheck)
    withExtendedLifetime(catalogue) {}
  }

  @Test("the check names each path that is only on disk, only in the catalogue, or changed, over many pages")
  func bothDirections() throws {
    let library = try TemporaryLibrary()
    for i in 1000..<2300 { try library.put(smallJPEG, "many/\(i).jpg") }
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    var expected: [CheckDifference] = []
    for i in stride(from: 1005, to: 2300, by: 100) {
      unlink("\(library.root)/many/\(i).jpg")
      expected.append(.onlyInCatalogue(path: Array("many/\(i).jpg".utf8)))
    }
    for i in stride(from: 1006, to: 2300, by: 100) {
      try library.put(smallPNG, "many/\(i).jpg")
      expected.append(.changed(path: Array("many/\(i).jpg".utf8)))
    }
    try library.put(smallJPEG, named: [0x80])
    try library.put(smallJPEG, "a.jpg")
    expected += [.onlyOnDisk(path: Array("a.jpg".utf8)), .onlyOnDisk(path: [0x80])]
    let (found, summary) = try differences(library)
    #expect(Set(found) == Set(expected) && found.count == expected.count && summary.files == 1289)
    // Sorted by path, for files and rows together.
    #expect(found.first == .onlyOnDisk(path: Array("a.jpg".utf8)) && found.last == .onlyOnDisk(path: [0x80]))
    try library.scan(catalogue)
    #expect(try differences(library).found == [])
  }

  @Test("a file that is deleted or added with its row during the check is no difference")
  func whileChanging() throws {
    let library = try TemporaryLibrary()
    for name in ["0.jpg", "a/1.jpg", "c/gone.jpg", "c/lost.jpg"] { try library.put(smallJPEG, name) }
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let (gone, lost) = (Array("c/gone.jpg".utf8), Array("c/lost.jpg".utf8))
    let root = library.root
    var environment = LibraryEnvironment.system
    // All rows have been read when the walk enters the folder a.
    environment.device = { path, folder in
      if path == Array("a".utf8), let row = try? catalogue.knownFile(at: gone) {
        unlink(root + "/c/gone.jpg")
        unlink(root + "/c/lost.jpg")
        try? catalogue.remove([row.id])
      }
      return folder.device
    }
    environment.wait = { _, _ in }
    let (found, summary) = try differences(library, environment)
    #expect(try catalogue.knownFile(at: gone) == nil)
    #expect(found == [.onlyInCatalogue(path: lost)] && summary.changedDuringCheck)
  }

  @Test(
    "the check finds wrong counters, and rows without their file or asset",
    arguments: [
      ("UPDATE counter SET assets = 7 WHERE listing = 0", "counter assets of listing 0: 7 kept, 3 counted"),
      ("DELETE FROM counter WHERE listing = 0", "counter rows of listing 0: 0 kept, 1 counted"),
      ("UPDATE file SET asset = 99 WHERE path = CAST('a.jpg' AS BLOB)", "foreign-key file row 1 names a row of asset"),
      ("UPDATE file SET asset = NULL, role = NULL WHERE path = CAST('a.jpg' AS BLOB)", "file-without-asset a.jpg"),
      ("UPDATE file SET isPrimary = 0 WHERE path = CAST('a.jpg' AS BLOB)", "asset-without-file "),
      ("UPDATE file SET path = x'0031' WHERE path = CAST('a.jpg' AS BLOB)", "row-without-path row "),
      ("INSERT INTO memberCount VALUES (1, 0, 5)", "counter members of "),
      ("INSERT INTO folderAsset VALUES (1, 1, 0, 0, 1)", "counter assets of folders: 1 kept, 0 counted"),
      ("INSERT INTO folderCount VALUES (1, 0, 5)", "counter counts of folders: 1 kept, 0 counted"),
      ("UPDATE collection SET parent = 1 WHERE id = 2", "counter collections in folders: 1 kept, 0 counted"),
      ("UPDATE dayCount SET value = value + 1", "counter assets of day "),
      ("INSERT INTO dayCount VALUES (0, -7, 0, 2)", "counter assets of day -7, listing 0: 2 kept, 0 counted"),
      ("DELETE FROM libraryAsset WHERE asset = 1", "counter assets of the whole library: 2 kept, 3 counted"),
      ("UPDATE libraryAsset SET dimensions = 7", "counter columns of libraries: 0 kept, 3 counted"),
      ("DELETE FROM libraryCollection WHERE collection = 1", "counter collections of libraries: 19 kept, 20 counted"),
      ("DELETE FROM moment", "counter moments: 0 kept, "),
      ("UPDATE moment SET assetCount = 2", "counter moments: "),
      ("DELETE FROM catalogueValue WHERE name = 'contentKey'", "missing-value contentKey"),
      ("DELETE FROM catalogueValue WHERE name = 'historyStart'", "missing-value historyStart"),
      ("UPDATE asset SET keywords = '{\"a\"]' WHERE id = 1", "unreadable-value "),
      ("UPDATE asset SET people = '[\"a\"' WHERE id = 1", "unreadable-value "),
      ("UPDATE asset SET regions = '{}' WHERE id = 1", "unreadable-value "),
      ("UPDATE asset SET adjustments = '[{]' WHERE id = 1", "unreadable-value "),
      ("UPDATE asset SET adjustments = '[{\"typf\":\"crop\"}]' WHERE id = 1", "unreadable-value "),
      ("UPDATE library SET revision = 0", "counter token of the library: 0 kept, "),
      ("INSERT INTO trash VALUES (7, 'seven', 'trashed', 0)", "trash-without-file seven"),
      ("DROP TRIGGER countDeletedMember", "damaged schema of countDeletedMember"),
      ("DROP INDEX collectionByParent", "damaged schema of collectionByParent"),
    ])
  func itself(_ sql: String, _ line: String) throws {
    let library = try TemporaryLibrary()
    for name in ["a.jpg", "b.jpg", "c.jpg"] { try library.put(smallJPEG, name) }
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    try alter(library, sql)
    let lines = try differences(library).found.map(\.line)
    #expect(lines.contains { $0.hasPrefix(line) }, "\(lines)")
  }

  @Test("scans remove nothing with a damaged list of file systems, until one misses no file or accepts removals")
  func damagedMounts() throws {
    let library = try TemporaryLibrary()
    for name in ["a.jpg", "b.jpg"] { try library.put(smallJPEG + Array(name.utf8), name) }
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let damage = "UPDATE catalogueValue SET value = '{' || value WHERE name = 'mounts'"
    let unreadable = CheckDifference.unreadableValue(localIdentifier: nil, name: "mounts")
    try alter(library, damage)
    #expect(try differences(library).found == [unreadable])
    try library.scan(catalogue)
    #expect(try differences(library).found == [])
    try alter(library, damage)
    #expect(unlink(library.root + "/a.jpg") == 0)
    for _ in 0..<2 {
      #expect(throws: LibraryError.mountsUnreadable) { try library.scan(catalogue) }
      let found = try differences(library).found
      #expect(found.count == 2 && found.contains(unreadable))
      #expect(found.contains(.onlyInCatalogue(path: Array("a.jpg".utf8))))
    }
    #expect(try library.scan(catalogue, acceptingRemovals: true).removed == 1)
    #expect(try differences(library).found == [])
  }

  @Test("the check reports damaged pages in SQLite's words")
  func damaged() throws {
    let library = try TemporaryLibrary()
    for i in 0..<300 { try library.put(smallJPEG, "\(i).jpg") }
    do { try library.scan(library.catalogue()) }
    // An index without the entries of its table.
    try alter(
      library,
      """
      CREATE TABLE other (path BLOB); CREATE INDEX otherPath ON other (path);
      PRAGMA writable_schema = ON;
      UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'otherPath')
        WHERE name = 'fileByIdentity';
      PRAGMA writable_schema = RESET;
      """)
    let found = try differences(library).found
    #expect(found.contains { $0.kind == "damaged" }, "\(found)")
  }

  @Test("the check names a journal of an unfinished change, and a scan undoes that change")
  func journal() throws {
    let library = try TemporaryLibrary()
    try library.put(smallJPEG, "a.jpg")
    do { try library.scan(library.catalogue()) }
    let path = library.data + "/catalogue.sqlite"
    // The first bytes of a journal (https://www.sqlite.org/fileformat.html#the_rollback_journal), without any page.
    let header: [UInt8] = [0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7] + [UInt8](repeating: 0, count: 24)
    try Data(header).write(to: URL(filePath: path + "-journal"))
    #expect(throws: LibraryError.catalogueHasJournal(path: path)) { try differences(library) }
    do { try library.scan(library.catalogue()) }
    #expect(try differences(library).found == [])
  }

  @Test("the check fails without a library or a catalogue")
  func notHere() throws {
    let library = try TemporaryLibrary()
    try library.put(smallJPEG, "a.jpg")
    #expect(throws: LibraryError.noCatalogue(path: library.data + "/catalogue.sqlite")) {
      try differences(library)
    }
    #expect(!FileManager.default.fileExists(atPath: library.data), "it makes nothing")
    // A path that can't be followed, as in a folder that another user has closed.
    let path = library.data + "/catalogue.sqlite"
    #expect(mkdir(library.data, 0o700) == 0 && symlink(path, path) == 0)
    #expect(throws: LibraryError.catalogueUnreadable(path: path, SystemError(code: ELOOP))) { try differences(library) }
    #expect(throws: LibraryError.catalogueUnreadable(path: path, SystemError(code: ELOOP))) {
      try CatalogueRepair(dataFolder: library.data, removing: RemovalLimit(percent: 50)).run()
    }
    #expect(unlink(path) == 0)
    do { try library.scan(library.catalogue()) }
    #expect(rename(library.root + "/a.jpg", library.data + "/a.jpg") == 0)
    #expect(throws: LibraryError.libraryIsEmpty(path: library.root, known: 1)) { try differences(library) }
    #expect(rmdir(library.root) == 0)
    #expect(throws: LibraryError.self) { try differences(library) }
  }

  @Test(
    "an escaped path is one line of visible text that decodes to the same bytes",
    arguments: [
      ("a b.jpg", Array("a b.jpg".utf8)), ("日本/ü.jpg", Array("日本/ü.jpg".utf8)),
      ("a\\\\b", Array("a\\b".utf8)), ("new\\x0Aline", Array("new\nline".utf8)), ("\\xFF\\xFEx", [0xFF, 0xFE, 0x78]),
      ("\\xC3", [0xC3]), ("\\xE2\\x82(", [0xE2, 0x82, 0x28]), ("\\xED\\xA0\\x80", [0xED, 0xA0, 0x80]),
      ("\\x1B[2J", [0x1B, 0x5B, 0x32, 0x4A]), ("\\xE2\\x80\\xA8", Array("\u{2028}".utf8)),
      ("\\xC2\\x85", Array("\u{85}".utf8)), ("\\xE2\\x80\\xAE", Array("\u{202E}".utf8)), ("😀", Array("😀".utf8)),
    ] as [(String, [UInt8])])
  func escaping(_ text: String, _ path: [UInt8]) {
    #expect(LibraryPath.escaped(path) == text)
    #expect(unescaped(LibraryPath.escaped(path)) == path)
  }

  @Test("random bytes survive escaping")
  func anyBytes() {
    var generator = Sampling.generator("escaped paths")
    for _ in 0..<2000 {
      let path = (0..<Int.random(in: 0..<40, using: &generator)).map { _ in UInt8.random(in: 1...255, using: &generator)
      }
      let text = LibraryPath.escaped(path)
      #expect(unescaped(text) == path, "\(Sampling.note)")
      #expect(!text.contains { $0.isNewline })
    }
  }

  private func unescaped(_ text: String) -> [UInt8] {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "\\") else {
        bytes.append(byte)
        continue
      }
      if rest.popFirst() == UInt8(ascii: "x") {
        bytes.append(UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) ?? 0)
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte)
      }
    }
    return bytes
  }
}
