import AssetLibrary
import Synchronization
import Testing

@Suite("Durability")
struct DurabilityTests {
  private final class Statements: Sendable { let all = Mutex<[String]>([]) }

  @Test("each commit is synced: the last word about that, behind all that opening a catalogue does, is FULL")
  func syncs() throws {
    let (library, statements) = (try TemporaryLibrary(), Statements())
    let catalogue = try Catalogue(dataFolder: library.data) { sql in statements.all.withLock { $0.append(sql) } }
    try library.put(smallJPEG, "a.jpg")
    try library.scan(catalogue)
    let settings = statements.all.withLock { $0.filter { $0.contains("PRAGMA synchronous") } }
    #expect(settings.last?.hasSuffix("= FULL") == true, "\(settings)")
  }
}
