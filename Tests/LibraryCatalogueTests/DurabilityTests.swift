import DurableFiles
import Foundation
import GRDB
import LibraryCatalogue
import LibraryFixtures
import PhotoModel
import Synchronization
import Testing

#if canImport(Glibc)
  import Glibc
#endif

@Suite("Durability")
struct DurabilityTests {
  private final class Statements: Sendable { let all = Mutex<[String]>([]) }

  @Test("the writer's synchronous mode is FULL after the catalogue is opened, so each commit is synced")
  func syncs() throws {
    let (library, statements) = (try TemporaryLibrary(), Statements())
    let catalogue = try Catalogue(
      dataFolder: library.data, traced: { sql in statements.all.withLock { $0.append(sql) } })
    try library.put(smallJPEG, "a.jpg")
    try library.scan(catalogue)
    let settings = statements.all.withLock { $0.filter { $0.contains("PRAGMA synchronous") } }
    #expect(settings.last?.hasSuffix("= FULL") == true, "\(settings)")
  }

  /// A catalogue in its state after a crash, with five confirmed changes that are only in its log.
  ///
  /// - Parameter sql: statements that change the catalogue's file before.
  private func crashedLibrary(after sql: String = "") throws -> (library: TemporaryLibrary, log: Data) {
    let (library, crashed) = (try TemporaryLibrary(), try TemporaryLibrary())
    let names = ["catalogue.sqlite", "catalogue.sqlite-wal"]
    try FileManager.default.createDirectory(atPath: crashed.data, withIntermediateDirectories: true)
    do { _ = try library.catalogue() }
    let writer = try DatabaseQueue(path: library.data + "/" + names[0])
    try writer.writeWithoutTransaction { db in
      try db.execute(sql: sql)
      try db.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)")
    }
    for revision in 7..<12 {
      try writer.write { try $0.execute(sql: "UPDATE library SET revision = ?", arguments: [revision]) }
    }
    for name in names {
      try FileManager.default.copyItem(atPath: "\(library.data)/\(name)", toPath: "\(crashed.data)/\(name)")
    }
    try writer.close()
    return (crashed, try #require(FileManager.default.contents(atPath: "\(crashed.data)/\(names[1])")))
  }

  private func revision(_ library: TemporaryLibrary) throws -> Int64 {
    let queue = try DatabaseQueue(path: library.data + "/catalogue.sqlite")
    defer { try? queue.close() }
    return try queue.read { try Int64.fetchOne($0, sql: "SELECT revision FROM library WHERE id = 0") ?? -1 }
  }

  /// Opens the catalogue. `copies` are the paths that it reports because the log is damaged.
  private func opened(_ library: TemporaryLibrary) throws -> (catalogue: Catalogue, copies: [String]) {
    var copies: [String] = []
    let catalogue = try Catalogue(dataFolder: library.data, reportLoss: { copies.append($0) })
    return (catalogue, copies)
  }

  /// A lower bound of the tokens of a new history, above all tokens of lost changes.
  private static let newHistory: Int64 = 1_000_000_000_000

  /// Where the log has a wrong bit.
  enum Damage: Sendable {
    case header(byte: Int)
    case frame(Int)
    /// An unfinished commit after a power failure looks the same.
    case lastFrame
  }

  @Test(
    "if a damaged log loses confirmed changes, a copy is kept, and no token is used again",
    arguments: [
      Damage.frame(0), .frame(1), .frame(2), .lastFrame, .header(byte: 0), .header(byte: 3), .header(byte: 10),
      .header(byte: 18), .header(byte: 28),
    ])
  func damagedLog(_ damage: Damage) throws {
    let (crashed, whole) = try crashedLibrary()
    var log = whole
    let frameLength = 24 + 4096
    let frames = (log.count - 32) / frameLength
    #expect(frames >= 5)
    var losesChanges = true
    switch damage {
    case .header(let byte): log[byte] ^= 1
    case .frame(let number): log[32 + number * frameLength + 100] ^= 1
    case .lastFrame:
      log[32 + (frames - 1) * frameLength + 100] ^= 1
      losesChanges = false
    }
    try log.write(to: URL(filePath: crashed.data + "/catalogue.sqlite-wal"))

    var found: [String] = []
    try Catalogue(reading: crashed.data).checkConsistency { found.append($0.line) }
    #expect(found.contains { $0.hasPrefix("damaged log") } == losesChanges, "\(found)")
    let database = try #require(FileManager.default.contents(atPath: crashed.data + "/catalogue.sqlite"))
    for _ in 0..<2 {
      // The second time, the files are in their state after a failed opening.
      try database.write(to: URL(filePath: crashed.data + "/catalogue.sqlite"))
      try log.write(to: URL(filePath: crashed.data + "/catalogue.sqlite-wal"))
      let (catalogue, copies) = try opened(crashed)
      guard losesChanges else {
        #expect(copies.isEmpty)
        return
      }
      #expect(copies == [crashed.data + "/catalogue.before-loss.sqlite"])
      #expect(FileManager.default.contents(atPath: crashed.data + "/catalogue.before-loss.sqlite-wal") == log)
      #expect(!FileManager.default.fileExists(atPath: crashed.data + "/catalogue.before-loss-2.sqlite"))
      #expect(try catalogue.changeToken() > Self.newHistory)
    }
    #expect(try opened(crashed).copies.isEmpty, "only once")
  }

  @Test("a file that is not a log is not taken for a damaged one", arguments: [0, 120] as [UInt8])
  func foreignLog(_ byte: UInt8) throws {
    let (crashed, log) = try crashedLibrary()
    try Data(repeating: byte, count: log.count).write(to: URL(filePath: crashed.data + "/catalogue.sqlite-wal"))
    #expect(try opened(crashed).copies.isEmpty)
  }

  @Test("a refused start or repair does not forget that the log lost changes", arguments: [true, false])
  func refusedAfterLoss(_ isRepair: Bool) throws {
    let (crashed, whole) = try crashedLibrary(after: "DELETE FROM catalogueValue WHERE name = 'contentKey'")
    var log = whole
    log[32 + 100] ^= 1
    try log.write(to: URL(filePath: crashed.data + "/catalogue.sqlite-wal"))
    var copies: [String] = []
    let copy = crashed.data + "/catalogue.before-loss.sqlite"
    #expect(throws: LibraryError.catalogueWithoutKey(path: crashed.data + "/catalogue.sqlite")) {
      if isRepair {
        _ = try CatalogueRepair(dataFolder: crashed.data, removing: RemovalLimit(percent: 50)).run()
      } else {
        _ = try Catalogue(dataFolder: crashed.data, reportLoss: { copies.append($0) })
      }
    }
    #expect(copies == (isRepair ? [] : [copy]))
    #expect(FileManager.default.fileExists(atPath: copy))
    #expect(try revision(crashed) > Self.newHistory)
  }

  @Test("a repair after the loss of changes names the copy of the damaged log")
  func repairedAfterLoss() throws {
    let (crashed, whole) = try crashedLibrary()
    var log = whole
    log[32 + 100] ^= 1
    try log.write(to: URL(filePath: crashed.data + "/catalogue.sqlite-wal"))
    let summary = try CatalogueRepair(dataFolder: crashed.data, removing: RemovalLimit(percent: 50)).run()
    #expect(summary.copyBeforeLoss == crashed.data + "/catalogue.before-loss.sqlite")
    #expect(try revision(crashed) > Self.newHistory)
  }

  @Test("a restore over a catalogue whose log lost changes before uses no token again", arguments: [true, false])
  func restoredAfterLoss(_ hasCopy: Bool) throws {
    let library = try TemporaryLibrary()
    let backup = library.root + "/backup.sqlite"
    do { try library.catalogue().backUp(to: backup) }
    if hasCopy { try Data().write(to: URL(filePath: library.data + "/catalogue.before-loss-2.sqlite")) }
    _ = try CatalogueRestore(dataFolder: library.data).restore(from: backup)
    let isNew = try revision(library) > Self.newHistory
    #expect(isNew == hasCopy)
  }

  @Test("when a restore sets aside a catalogue that has lost changes of its log, the file is complete without it")
  func setAsideAfterLoss() throws {
    let other = try TemporaryLibrary()
    let (crashed, _) = try crashedLibrary()
    let backup = crashed.root + "/backup.sqlite"
    do { try other.catalogue().backUp(to: backup) }
    try Data().write(to: URL(filePath: crashed.data + "/catalogue.before-loss-2.sqlite"))
    let aside = try #require(try CatalogueRestore(dataFolder: crashed.data).restore(from: backup))
    #expect(!FileManager.default.fileExists(atPath: aside + "-wal"))
    let queue = try DatabaseQueue(path: aside)
    #expect(try queue.read { try Int64.fetchOne($0, sql: "SELECT revision FROM library WHERE id = 0") } == 11)
    try queue.close()
  }

  @Test("a database that could not be replaced keeps its path and its log")
  func failedReplacement() throws {
    let (crashed, log) = try crashedLibrary()
    let path = crashed.data + "/catalogue.sqlite"
    #expect(throws: SystemError(code: ENOENT)) {
      try DatabaseFile.replace(path, with: crashed.data + "/missing.sqlite")
    }
    #expect(FileManager.default.contents(atPath: path + "-wal") == log)
    let names = try FileManager.default.contentsOfDirectory(atPath: crashed.data).sorted()
    #expect(names == ["catalogue.sqlite", "catalogue.sqlite-wal"])
    #expect(try revision(crashed) == 11)
  }

  @Test("a database that could not be set aside keeps its path, and all its logs have only their own names")
  func failedSettingAside() throws {
    let library = try TemporaryLibrary()
    try FileManager.default.createDirectory(atPath: library.data, withIntermediateDirectories: true)
    // The new name of the -wal has at most 255 bytes, that of the -journal has more.
    let name = String(repeating: "n", count: 227) + ".sqlite"
    let names = ["", "-journal", "-wal"].map { name + $0 }
    for name in names { try Data(name.utf8).write(to: URL(filePath: "\(library.data)/\(name)")) }
    #expect(throws: SystemError(code: ENAMETOOLONG)) {
      try DatabaseFile.replace("\(library.data)/\(name)", with: "\(library.data)/missing.sqlite")
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: library.data).sorted() == names)
    for name in names { #expect(FileManager.default.contents(atPath: "\(library.data)/\(name)") == Data(name.utf8)) }
  }

  @Test("only the user who runs photod may read the catalogue, also in a folder that others may enter")
  func privacy() throws {
    let library = try TemporaryLibrary()
    try FileManager.default.createDirectory(
      atPath: library.data, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
    func modes() throws -> [Int] {
      try FileManager.default.contentsOfDirectory(atPath: library.data).filter { $0.hasPrefix("catalogue") }.map {
        try FileManager.default.attributesOfItem(atPath: "\(library.data)/\($0)")[.posixPermissions] as? Int ?? 0
      }
    }
    do {
      let catalogue = try library.catalogue()
      try library.scan(catalogue)
      #expect(try modes().count >= 2 && modes().allSatisfy { $0 == 0o600 })
    }
    let path = library.data + "/catalogue.sqlite"
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
    let catalogue = try library.catalogue()
    #expect(try modes().allSatisfy { $0 == 0o600 })
    try library.scan(catalogue)
  }
}
