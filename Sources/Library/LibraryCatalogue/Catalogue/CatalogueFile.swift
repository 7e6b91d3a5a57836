// The database file itself. SQLite writes to the file that it opened, also after that file was moved or deleted, and then
// the commits are lost. So the path is checked before each commit.

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

  /// - Parameter path: of a file that SQLite has opened. Throws ``ReplacedError`` if there is none.
  init(_ path: String) throws(ReplacedError) {
    guard let number = FileNumber(path) else { throw ReplacedError(path: path) }
    self.path = path
    self.number = number
  }

  /// Throws a fault that stays until the process has opened another file: the file is no longer at its path, or a
  /// damaged page was met. One system call.
  func check() throws {
    try checkPath()
    if hasDamagedPages.load(ordering: .relaxed) {
      throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: "a damaged page was met")
    }
  }

  /// Remembers a damaged page. If a read meets one of the search index, that does not count: only searches fail. A write
  /// that meets it is a change of an asset that can't be stored.
  func note(_ error: any Error, ofWrite isWrite: Bool = false) {
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
