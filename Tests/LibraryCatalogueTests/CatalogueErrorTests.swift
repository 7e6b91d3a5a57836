import GRDB
import PhotoModel
import Testing

@testable import LibraryCatalogue

@Suite("Texts of errors")
struct CatalogueErrorTests {
  @Test("an error of the catalogue reads as a sentence in the log, without SQLite's text for no error")
  func texts() {
    let full = Catalogue.translated(DatabaseError(resultCode: .SQLITE_FULL, message: "not an error"))
    #expect(full == .storageFailed(.full, "SQLite error 13"))
    #expect("\(full)" == "\(StorageFault.full) (SQLite error 13)")
    let locked = Catalogue.translated(DatabaseError(resultCode: .SQLITE_BUSY, message: "database is locked"))
    #expect(locked == .storageFailed(.busy, "SQLite error 5: database is locked"))
    let other = Catalogue.translated(DatabaseError(resultCode: .SQLITE_MISMATCH, message: "datatype mismatch"))
    #expect("\(other)" == "the catalogue failed: SQLite error 20: datatype mismatch")
    let damaged = Catalogue.translated(DatabaseError(resultCode: .SQLITE_CORRUPT, message: "malformed"))
    #expect("\(damaged)".contains("photod check --repair"), "a repair loses less than a backup does")
    #expect("\(AssetSourceError.noSuchAsset(LocalIdentifier("x")))" == "there is no asset x")
  }
}
