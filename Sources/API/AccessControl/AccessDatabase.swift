// `access.sqlite` in the data folder: tokens and signing keys. It is separate from the catalogue, so that restoring a
// catalogue backup does not bring back revoked tokens. The file mode is 0600, because the file contains the signing
// keys. Requests do not read it; they use `AccessRegistry`.
//
// The database queue of GRDB is the only owner of the connection: it runs every read and write on one serial queue.

import DurableFiles
import Foundation
import GRDB
import PhotoModel
import Primitives

#if canImport(Glibc)
  import Glibc
#endif

package final class AccessDatabase: Sendable {
  private static let busySeconds: TimeInterval = 5
  /// The names of the files in a data folder that belong to its tokens.
  package static let fileNames: [String] =
    DatabaseFile.names(of: "access.sqlite") + DatabaseFile.names(of: "access.incoming.sqlite")

  let path: String
  private let dataFolder: String
  /// The file that is open.
  private let number: FileNumber
  private let queue: DatabaseQueue
  let limits: AccessLimits

  /// Opens the database and creates it and its folder if needed. Like all other methods, it blocks while SQLite works.
  package convenience init(dataFolder: String, limits: AccessLimits = AccessLimits()) throws(AccessError) {
    let path = AccessDatabase.path(in: dataFolder)
    do {
      guard DatabaseFile.makeFolder(dataFolder) else {
        let error = SystemError(code: errno)
        throw AccessError.unusable(path: dataFolder, reason: error.description)
      }
      try DatabaseFile.create(path) { unfinished in
        try AccessDatabase.makePrivate(unfinished)
        let queue = try DatabaseQueue(path: unfinished)
        try AccessSchema.migrator.migrate(queue)
        try queue.close()
      }
    } catch {
      throw AccessError(error, path: path)
    }
    try self.init(existingIn: dataFolder, limits: limits)
  }

  /// Opens the database of a data folder that has one.
  init(existingIn dataFolder: String, limits: AccessLimits) throws(AccessError) {
    path = AccessDatabase.path(in: dataFolder)
    self.dataFolder = dataFolder
    self.limits = limits
    do {
      // Identified before SQLite opens the file, so that a file that replaces it later is noticed.
      guard let number = FileNumber(path) else {
        throw AccessError.unusable(path: path, reason: SystemError(code: errno).description)
      }
      self.number = number
      try Self.makePrivate(path)
      FileOwner.inherit(path)
      var configuration = Configuration()
      configuration.label = "access"
      configuration.busyMode = .timeout(Self.busySeconds)
      configuration.prepareDatabase { db in
        // A revocation must survive a power cut, and deleted rows must not remain in free pages.
        try db.execute(sql: "PRAGMA synchronous = FULL; PRAGMA secure_delete = ON")
      }
      queue = try DatabaseQueue(path: path, configuration: configuration)
      if try queue.read({ try AccessSchema.migrator.appliedIdentifiers($0) }).isEmpty {
        throw AccessError.withoutTables(path: path)
      }
      if try queue.read({ try AccessSchema.migrator.hasBeenSuperseded($0) }) { throw AccessError.tooNew(path: path) }
      try AccessSchema.migrator.migrate(queue)
      try queue.write { db in
        if try SigningKey.newest(db).isEmpty { try SigningKey.make(db, at: SystemTime.now) }
      }
    } catch {
      throw AccessError(error, path: path)
    }
  }

  /// Copies the tokens and signing keys into one file that only this user can read, which gets its name once it is
  /// complete and synced. Concurrent readers and writers are not disturbed.
  ///
  /// - Parameters:
  ///   - replaces: an existing file is replaced.
  ///   - copies: notes the copy while it is written.
  package func backUp(
    to file: String, replacing replaces: Bool = false, notedIn copies: UnfinishedCopies = UnfinishedCopies()
  ) throws(AccessError) {
    if DatabaseFile.isFile(file, in: dataFolder, named: Self.fileNames) {
      throw .copyWouldReplaceFileInUse(path: file)
    }
    if !replaces && access(file, F_OK) == 0 { throw .copyExists(path: file) }
    let destination: CopyDestination
    do throws(SystemError) {
      destination = try CopyDestination(file, notedIn: copies)
    } catch {
      throw error.code == EWOULDBLOCK ? .copyUnderWay(path: file) : .unusable(path: file, reason: "\(error)")
    }
    defer { destination.release() }
    do {
      try AccessCopy.make(of: queue, at: destination.unfinished)
      try AccessRestore.check(destination.unfinished)
      if !replaces && access(file, F_OK) == 0 { throw AccessError.copyExists(path: file) }
      try destination.finish()
    } catch {
      unlink(destination.unfinished)
      throw AccessError(error, path: file)
    }
  }

  /// Whether the file was replaced, moved or deleted since it was opened: what other processes write is not in the open
  /// file. One system call.
  var isReplaced: Bool { number.isReplaced(at: path) }

  /// The database that has the path now.
  func reopened() throws(AccessError) -> AccessDatabase {
    try AccessDatabase(existingIn: dataFolder, limits: limits)
  }

  private static func path(in dataFolder: String) -> String { dataFolder + "/access.sqlite" }

  func read<Value>(_ body: (Database) throws -> Value) throws(AccessError) -> Value {
    do { return try queue.read(body) } catch { throw AccessError(error, path: path) }
  }

  func write<Value>(_ body: (Database) throws -> Value) throws(AccessError) -> Value {
    do { return try queue.write(body) } catch { throw AccessError(error, path: path) }
  }

  /// Creates the file with mode 0600 before SQLite writes to it. SQLite gives the journal the mode of the database
  /// file.
  static func makePrivate(_ path: String) throws {
    let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw AccessError.unusable(path: path, reason: String(cString: strerror(errno))) }
    defer { close(descriptor) }
    guard fchmod(descriptor, 0o600) == 0 else {
      throw AccessError.unusable(path: path, reason: "its mode can't be made 0600: \(String(cString: strerror(errno)))")
    }
  }
}
