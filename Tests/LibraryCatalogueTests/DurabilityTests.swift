import Foundation
import GRDB
import LibraryCatalogue
import LibraryFixtures
import PhotoModel
import Synchronization
import Testing

@Suite("Durability")
struct DurabilityTests {
  private final class Statements: Sendable { let all = Mutex<[String]>([]) }

  @Test("the writer's synchronous mode is FULL after the catalogue is opened, so each commit is synced")
  func syncs() throws {
    let (library, statements) = (try TemporaryLibrary(), Statements())
    let catalogue = try Catalogue(dataFolder: library.data) { sql in statements.all.withLock { $0.append(sql) } }
    try library.put(smallJPEG, "a.jpg")
    try library.scan(catalogue)
    let settings = statements.all.withLock { $0.filter { $0.contains("PRAGMA synchronous") } }
    #expect(settings.last?.hasSuffix("= FULL") == true, "\(settings)")
  }

  @Test(
    "if a damaged log loses confirmed changes, one copy is kept, and no token is used again",
    arguments: [0, 1, 2, nil] as [Int?])
  func damagedLog(_ frame: Int?) throws {
    let (library, crashed) = (try TemporaryLibrary(), try TemporaryLibrary())
    let names = ["catalogue.sqlite", "catalogue.sqlite-wal"]
    try FileManager.default.createDirectory(atPath: crashed.data, withIntermediateDirectories: true)
    let catalogue = try library.catalogue()
    let writer = try DatabaseQueue(path: library.data + "/" + names[0])
    for revision in 7..<12 {
      try writer.write { try $0.execute(sql: "UPDATE library SET revision = ?", arguments: [revision]) }
    }
    for name in names {
      try FileManager.default.copyItem(atPath: "\(library.data)/\(name)", toPath: "\(crashed.data)/\(name)")
    }
    try writer.close()
    withExtendedLifetime(catalogue) {}

    let path = crashed.data + "/" + names[1]
    var log = try #require(FileManager.default.contents(atPath: path))
    let frameLength = 24 + 4096
    let frames = (log.count - 32) / frameLength
    #expect(frames >= 5)
    // Without a number: the last frame, which an unfinished commit of a power cut looks like.
    let damaged = frame ?? frames - 1
    log[32 + damaged * frameLength + 100] ^= 1
    try log.write(to: URL(filePath: path))
    let database = try #require(FileManager.default.contents(atPath: crashed.data + "/" + names[0]))

    var found: [String] = []
    try Catalogue(reading: crashed.data).checkConsistency { found.append($0.line) }
    #expect(found.contains { $0.hasPrefix("damaged log") } == (frame != nil), "\(found)")
    for _ in 0..<2 {
      // The second time, the files are as after an opening that failed.
      try database.write(to: URL(filePath: crashed.data + "/" + names[0]))
      try log.write(to: URL(filePath: path))
      let opened = try crashed.catalogue()
      guard frame != nil else {
        #expect(opened.copyBeforeLoss == nil)
        return
      }
      #expect(opened.copyBeforeLoss == crashed.data + "/catalogue.before-loss.sqlite")
      #expect(FileManager.default.contents(atPath: crashed.data + "/catalogue.before-loss.sqlite-wal") == log)
      #expect(!FileManager.default.fileExists(atPath: crashed.data + "/catalogue.before-loss-2.sqlite"))
      #expect(try opened.changeToken() > 1_000_000_000_000, "above all tokens of the lost changes")
    }
    #expect(try crashed.catalogue().copyBeforeLoss == nil, "only once")
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
