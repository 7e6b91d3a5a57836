// The database file itself. SQLite writes to the file that it opened, also after that was moved or deleted, and then
// nobody finds the commits again: so each one is preceded by a look at the path.

import GRDB
import Synchronization

#if canImport(Glibc)
  import Glibc
#endif

/// The open file of a catalogue, and whether it can still be relied on.
final class CatalogueFile: TransactionObserver, Sendable {
  /// Another file, or none, has the path of the open catalogue.
  struct Replaced: Error, CustomStringConvertible {
    let path: String

    var description: String { "\(path) is not the open catalogue" }
  }

  private let path: String
  private let device: dev_t
  private let inode: ino_t
  private let hasDamagedPages = Atomic<Bool>(false)

  /// - Parameter path: of a file that SQLite has opened. Throws ``Replaced`` if there is none.
  init(_ path: String) throws(Replaced) {
    var status = stat()
    guard stat(path, &status) == 0 else { throw Replaced(path: path) }
    self.path = path
    device = status.st_dev
    inode = status.st_ino
  }

  /// Throws a fault that stays until the process has opened another file: the file is not at its path any more, or a
  /// read met a damaged page. One system call.
  func check() throws {
    try checkPath()
    if hasDamagedPages.load(ordering: .relaxed) {
      throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: "a read met a damaged page")
    }
  }

  /// Remembers a damaged page. A damaged search index is none: only searches fail.
  func note(_ error: any Error) {
    guard let error = error as? DatabaseError else { return }
    let isDamaged = error.resultCode == .SQLITE_CORRUPT || error.resultCode == .SQLITE_NOTADB
    if isDamaged && error.extendedResultCode != .SQLITE_CORRUPT_VTAB {
      hasDamagedPages.store(true, ordering: .relaxed)
    }
  }

  private func checkPath() throws(Replaced) {
    var status = stat()
    let isThere = stat(path, &status) == 0
    // Another failure, such as of a network file system, says nothing about the file.
    if isThere ? status.st_dev != device || status.st_ino != inode : errno == ENOENT || errno == ENOTDIR {
      throw Replaced(path: path)
    }
  }

  // MARK: TransactionObserver

  func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { false }
  func databaseDidChange(with event: DatabaseEvent) {}
  /// The transaction fails with this error and is rolled back.
  func databaseWillCommit() throws { try checkPath() }
  func databaseDidCommit(_ db: Database) {}
  func databaseDidRollback(_ db: Database) {}
}
