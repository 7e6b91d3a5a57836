import Foundation
import LibraryCatalogue
import LibraryFixtures
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
