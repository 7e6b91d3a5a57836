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
}
