// The files of an SQLite database, their folder, and the file that a copy of one is written to. The catalogue and the
// tokens are databases of two modules that do not know each other.

import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

package enum DatabaseFile {
  /// The suffixes that SQLite appends to the name of a database for its logs.
  static let logSuffixes = ["-journal", "-wal", "-shm"]

  /// Creates a data folder and its missing parents, accessible only by this user. If this fails, `errno` has the
  /// reason.
  package static func makeFolder(_ path: String) -> Bool {
    if mkdir(path, 0o700) == 0 || errno == EEXIST { return true }
    guard errno == ENOENT, let slash = path.lastIndex(of: "/"), slash > path.startIndex else { return false }
    return makeFolder(String(path[..<slash])) && (mkdir(path, 0o700) == 0 || errno == EEXIST)
  }

  /// Removes the logs beside a path that another database gets next: SQLite would apply them to that database.
  package static func removeLogs(of path: String) throws(SystemError) {
    for suffix in logSuffixes {
      if unlink(path + suffix) != 0 && errno != ENOENT { throw SystemError(code: errno) }
    }
  }

  /// Creates a database in one step: it gets its name once it is complete and synced. A database without tables is
  /// therefore a damaged one. Does nothing if the name is taken, also if another process takes it during the call.
  ///
  /// - Parameter write: writes the database to a path at which no file is, and closes it.
  package static func create(_ path: String, write: (_ unfinished: String) throws -> Void) throws {
    if isTaken(path) { return }
    let destination = try CopyDestination(path, waits: true)
    defer { destination.release() }
    if isTaken(path) { return }
    let unfinished = destination.unfinished
    unlink(unfinished)
    do {
      try removeLogs(of: unfinished)
      try write(unfinished)
      try install(unfinished, at: path)
    } catch {
      unlink(unfinished)
      throw error
    }
  }

  /// Moves a complete database, which no process may have open, to its path in a data folder, durably. Replaces the
  /// present database.
  package static func install(_ complete: String, at path: String) throws(SystemError) {
    FileOwner.inherit(complete)
    // Synced before the logs are removed: if the disk fails here, the present database is still complete.
    try DurableFile.sync(complete)
    // Also the logs of a database that was lost.
    try removeLogs(of: path)
    try DurableFile.rename(complete, to: path)
  }

  /// Installs a complete database, and keeps the present one beside it under a free name: `NAME.before-restore.sqlite`,
  /// or one with a number. No process may have either of them open. If this throws, the present database is at its path
  /// again.
  ///
  /// - Parameter path: ends in `.sqlite`.
  /// - Returns: the path of the kept database; `nil` if there was none.
  package static func replace(_ path: String, with complete: String) throws(SystemError) -> String? {
    let aside = try access(path, F_OK) == 0 ? setAside(path) : nil
    do throws(SystemError) {
      try install(complete, at: path)
    } catch {
      if let aside { bringBack(aside, to: path) }
      throw error
    }
    return aside
  }

  /// Gives a database a second, free name, and returns it. The caller then installs another database at the path.
  private static func setAside(_ path: String) throws(SystemError) -> String {
    let name = "\(path.dropLast(".sqlite".count)).before-restore"
    var aside = name + ".sqlite"
    var number = 2
    while ([""] + logSuffixes).contains(where: { access(aside + $0, F_OK) == 0 }) {
      aside = "\(name)-\(number).sqlite"
      number += 1
    }
    // Hard links keep a database and a log that was not checkpointed at the original path until another database is
    // installed. On a file system without links, the path is briefly empty.
    for suffix in ["-wal", "-journal", ""] where suffix.isEmpty || access(path + suffix, F_OK) == 0 {
      if link(path + suffix, aside + suffix) != 0 && rename(path + suffix, aside + suffix) != 0 {
        let error = SystemError(code: errno)
        bringBack(aside, to: path)
        throw error
      }
    }
    return aside
  }

  /// Also after only some of the files were set aside.
  private static func bringBack(_ aside: String, to path: String) {
    for suffix in ["", "-wal", "-journal"] {
      // rename(2) does nothing if both names are links to one file, so the second name is removed afterwards.
      if rename(aside + suffix, path + suffix) == 0 { unlink(aside + suffix) }
    }
  }

  /// Whether a path is taken, also by a broken symbolic link. After another error it counts as taken: opening the file
  /// then reports the error.
  private static func isTaken(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0 || errno != ENOENT
  }

  /// Whether a write-ahead log is beside a database that has none by its header, so that it belongs to another one.
  /// SQLite would apply it nevertheless.
  package static func hasForeignLog(_ path: String) -> Bool {
    var log = stat()
    guard stat(path + "-wal", &log) == 0, log.st_size > 0 else { return false }
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    var header = [UInt8](repeating: 0, count: 20)
    let count = header.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, 0) }
    // The versions for writing and for reading: 1 with a rollback journal, 2 with a write-ahead log
    // (https://www.sqlite.org/fileformat.html#file_format_version_numbers).
    return count == header.count && header[18] == 1 && header[19] == 1
  }

  /// Why a file can't be restored as a copy; `nil` if it is a regular file that can be read. For messages that name the
  /// path.
  package static func obstacle(to path: String) -> String? {
    var status = stat()
    guard stat(path, &status) == 0 else {
      return errno == ENOENT ? "it does not exist" : SystemError(code: errno).description
    }
    if status.st_mode & S_IFMT == S_IFDIR { return "it is a folder" }
    // Opening a pipe waits for its writer.
    if status.st_mode & S_IFMT != S_IFREG { return "it is not a regular file" }
    return access(path, R_OK) == 0 ? nil : SystemError(code: errno).description
  }

  /// The names of a database and its logs.
  package static func names(of database: String) -> [String] { [database] + logSuffixes.map { database + $0 } }

  /// Whether a path is one of the files of a data folder that have these names, also by another path to it.
  package static func isFile(_ path: String, in dataFolder: String, named names: [String]) -> Bool {
    let slash = path.lastIndex(of: "/")
    let name = slash.map { String(path[path.index(after: $0)...]) } ?? path
    let folder = slash.map { String(path[...$0]) } ?? "."
    let isDataFolder = FileNumber(folder).map { $0 == FileNumber(dataFolder) } ?? false
    if isDataFolder && names.contains(name) { return true }
    guard let file = FileNumber(path) else { return false }
    return names.contains { FileNumber(dataFolder + "/" + $0) == file }
  }
}

/// The identity of a file, whichever path leads to it.
package struct FileNumber: Sendable, Equatable {
  private let device: UInt64
  private let inode: UInt64

  /// `nil`: the path leads to no file, or it is not known where; `errno` has the reason.
  package init?(_ path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    (device, inode) = (UInt64(status.st_dev), UInt64(status.st_ino))
  }

  /// Whether a path leads to another file now, or to none. Another failure, such as of a network file system, says
  /// nothing about the file.
  package func isReplaced(at path: String) -> Bool {
    guard let current = FileNumber(path) else { return errno == ENOENT || errno == ENOTDIR }
    return current != self
  }
}

/// The destination of a copy, for one writer at a time: a second one would overwrite what the first one has written.
package struct CopyDestination: Sendable {
  /// The file that is written; it gets the name of the destination once it is complete. A killed process leaves it, and
  /// the next copy overwrites it; in a data folder, the next start removes it (``UnfinishedCopies``).
  package let unfinished: String
  private let path: String
  private let lockPath: String
  /// The descriptor of an empty file. On network file systems, flock(2) on the copy itself would exclude SQLite too.
  private let lock: Int32
  private let copies: UnfinishedCopies

  /// Throws ``SystemError`` with EWOULDBLOCK while another copy to this path is written.
  ///
  /// - Parameters:
  ///   - waits: wait until the other copy is complete, instead.
  ///   - copies: notes the copy until ``release()``.
  package init(
    _ path: String, waits: Bool = false, notedIn copies: UnfinishedCopies = UnfinishedCopies()
  ) throws(SystemError) {
    self.path = path
    unfinished = path + ".partial"
    lockPath = path + ".partial-lock"
    self.copies = copies
    lock = try Self.locked(lockPath, waits ? LOCK_EX : LOCK_EX | LOCK_NB)
    copies.begin(unfinished)
  }

  /// Gives the complete copy the name of the destination, durably, after SQLite's logs of a former file are removed. A
  /// signal that ends the command is handled only after this.
  package func finish() throws {
    try copies.finish(unfinished) {
      try DatabaseFile.removeLogs(of: path)
      try DurableFile.rename(unfinished, to: path)
    }
  }

  /// Lets others write to the destination. Call it once.
  package func release() {
    copies.end(unfinished)
    // Unlink the file before it is unlocked. Otherwise another process could lock it just before it loses its name, and
    // a third process could then lock a new file with this name.
    unlink(lockPath)
    flock(lock, LOCK_UN)
    close(lock)
  }

  private static func locked(_ path: String, _ operation: Int32) throws(SystemError) -> Int32 {
    while true {
      let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
      guard descriptor >= 0 else { throw SystemError(code: errno) }
      // A killed process leaves the file behind, and others must be able to open it.
      FileOwner.inherit(path)
      if flock(descriptor, operation) != 0 {
        let code = errno
        close(descriptor)
        if code == EINTR { continue }
        throw SystemError(code: code)
      }
      var (opened, named) = (stat(), stat())
      if fstat(descriptor, &opened) == 0, stat(path, &named) == 0, opened.st_ino == named.st_ino { return descriptor }
      // Its former owner removed it between the two calls.
      close(descriptor)
    }
  }
}
