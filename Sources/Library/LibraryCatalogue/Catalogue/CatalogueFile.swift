// SQLite writes to the file that it opened, even after that file was moved or deleted, and then commits are lost. So
// the path is checked before each commit.
//
// SQLite reports a read error of the disk (EIO) in the same way as a damaged page. A read error ends when the disk
// works again, so the error number of the file distinguishes the two.

import DurableFiles
import GRDB
import GRDBSQLite
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

  /// Runs a read or a write of a connection, and throws its errors as ``checked(_:of:isWrite:)`` returns them.
  func checkingErrors<Value>(of db: Database, isWrite: Bool = false, _ body: () throws -> Value) throws -> Value {
    do { return try body() } catch { throw checked(error, of: db, isWrite: isWrite) }
  }

  /// Remembers that an error reports a damaged page. A damaged page of the search index counts only if a write meets
  /// it: then changes of assets can't be stored, while a failed read only fails searches.
  ///
  /// - Parameter db: the connection that has just failed.
  /// - Returns: the error, or SQLITE_IOERR_READ if the disk failed to read the page.
  func checked(_ error: any Error, of db: Database, isWrite: Bool = false) -> any Error {
    guard let failure = error as? DatabaseError else { return error }
    guard failure.resultCode == .SQLITE_CORRUPT || failure.resultCode == .SQLITE_NOTADB else { return error }
    if let reason = db.takeReadFailure() { return DatabaseError(resultCode: .SQLITE_IOERR_READ, message: "\(reason)") }
    if isWrite || failure.extendedResultCode != .SQLITE_CORRUPT_VTAB {
      hasDamagedPages.store(true, ordering: .relaxed)
    }
    return error
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

extension Database {
  /// The error numbers of pread(2) that SQLite reports as damaged pages: `unixRead` in its os_unix.c.
  private static let readFailures: Set<Int32> = [EIO, ENXIO, ERANGE]
  /// An offset beyond the end of any catalogue.
  private static let beyondEnd: Int64 = 1 << 40

  /// The read error of the disk, in the database's file or its log, on this connection since the last call; `nil` if
  /// there was none. Clears it.
  fileprivate func takeReadFailure() -> SystemError? {
    var failure: SystemError?
    for part in [SQLITE_FCNTL_FILE_POINTER, SQLITE_FCNTL_JOURNAL_POINTER] {
      var pointer: UnsafeMutablePointer<sqlite3_file>?
      guard sqlite3_file_control(sqliteConnection, "main", part, &pointer) == SQLITE_OK, let file = pointer,
        let methods = file.pointee.pMethods
      else { continue }
      var code: Int32 = 0
      let result = methods.pointee.xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &code)
      if result == SQLITE_OK, Self.readFailures.contains(code) { failure = SystemError(code: code) }
      // SQLite keeps the number until another call fails or a read reaches the end of the file. This read clears it;
      // otherwise, a damaged page that is met later would be taken for a read error.
      var byte: UInt8 = 0
      _ = methods.pointee.xRead(file, &byte, 1, Self.beyondEnd)
    }
    return failure
  }
}
