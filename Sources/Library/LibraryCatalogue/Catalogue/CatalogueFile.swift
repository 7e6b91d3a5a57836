// SQLite writes to the file that it opened, even after that file was moved or deleted, and then commits are lost. So
// the path is checked before each commit.

import DurableFiles
import GRDB
import PhotoModel
import Synchronization

#if canImport(Glibc)
  import Glibc
#endif

/// The open file of a catalogue, and whether it can still be relied on.
final class CatalogueFile: TransactionObserver, Sendable {
  /// Another file, or none, has the path of the open catalogue.
  struct ReplacedError: Error, CustomStringConvertible {
    let path: String

    var description: String { "\(path) is not the open catalogue" }
  }

  private let path: String
  private let number: FileNumber
  private let hasDamagedPages = Atomic<Bool>(false)

  /// - Parameter path: the path that SQLite has opened. Throws ``ReplacedError`` if no file is there any more.
  init(_ path: String) throws(ReplacedError) {
    guard let number = FileNumber(path) else { throw ReplacedError(path: path) }
    self.path = path
    self.number = number
  }

  /// Throws if the file is no longer at its path, or if a damaged page was met. Either fault lasts until the catalogue
  /// is opened again. One system call.
  func check() throws {
    try checkPath()
    if hasDamagedPages.load(ordering: .relaxed) {
      throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: "a damaged page was met")
    }
  }

  /// Remembers that an error reports a damaged page. A damaged page of the search index counts only if a write meets
  /// it: then changes of assets can't be stored, while a failed read only fails searches.
  func recordDamage(in error: any Error, ofWrite isWrite: Bool = false) {
    guard let error = error as? DatabaseError else { return }
    let isDamaged = error.resultCode == .SQLITE_CORRUPT || error.resultCode == .SQLITE_NOTADB
    if isDamaged && (isWrite || error.extendedResultCode != .SQLITE_CORRUPT_VTAB) {
      hasDamagedPages.store(true, ordering: .relaxed)
    }
  }

  private func checkPath() throws(ReplacedError) {
    if number.isReplaced(at: path) { throw ReplacedError(path: path) }
  }

  // MARK: TransactionObserver

  func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { false }
  func databaseDidChange(with event: DatabaseEvent) {}
  /// The transaction fails with this error and is rolled back.
  func databaseWillCommit() throws { try checkPath() }
  func databaseDidCommit(_ db: Database) {}
  func databaseDidRollback(_ db: Database) {}
}
