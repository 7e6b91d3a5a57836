// Databases and copies of them are written under another name, and get their own once they are complete:
//
//     NAME.sqlite.partial     a new database, a backup, or the copy before a repair or an update
//     NAME.incoming.sqlite    a database that a restore puts in place
//
// If a process is killed, its copies in a data folder are removed when the catalogue is next opened for writing. If a
// signal ends a backup or a restore, its copies are removed at once.

import Synchronization

#if canImport(Glibc)
  import Glibc
#endif

/// The copies that a command is writing. A lock for each copy keeps other processes from writing it.
package final class UnfinishedCopies: Sendable {
  private static let partialSuffix = ".partial"

  private let paths = Mutex<Set<String>>([])

  package init() {}

  /// Notes a copy. Call it with the lock of the copy, before its file exists.
  package func begin(_ path: String) { paths.withLock { _ = $0.insert(path) } }

  /// Forgets a copy, which may have its final name now. Call it before the lock of the copy ends.
  package func end(_ path: String) { paths.withLock { _ = $0.remove(path) } }

  /// Gives a complete copy its place. A signal that ends the command is handled only after this.
  ///
  /// - Parameter install: leaves no file at the path.
  package func finish(_ path: String, _ install: () throws -> Void) throws {
    try paths.withLock { paths throws(any Error) in
      try install()
      paths.remove(path)
    }
  }

  /// Removes a copy that failed.
  package func discard(_ path: String) {
    Self.remove(path)
    end(path)
  }

  /// Removes all copies, and calls `exit`, which ends the process, with the lock held: the command can neither begin
  /// nor finish one.
  package func removeAll(andExit exit: () -> Void) {
    paths.withLock { paths in
      for path in paths { Self.remove(path) }
      exit()
    }
  }

  /// Removes the copies that killed processes have left in a data folder.
  ///
  /// The caller has the folder's locks for using and for opening the catalogue, so no restore, repair or update writes
  /// one. A backup and a new database have a lock of their own.
  ///
  /// - Parameter databases: the names of the databases without `.sqlite`, with which the names of their copies begin.
  package static func removeAbandoned(in dataFolder: String, of databases: [String]) {
    guard let listing = opendir(dataFolder) else { return }
    defer { closedir(listing) }
    var found: Set<String> = []
    while let entry = readdir(listing) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if let copy = nameOfCopy(with: name, of: databases) { found.insert(copy) }
    }
    for name in found {
      let path = dataFolder + "/" + name
      guard name.hasSuffix(partialSuffix) else {
        remove(path)
        continue
      }
      guard let destination = try? CopyDestination(String(path.dropLast(partialSuffix.count))) else { continue }
      remove(path)
      destination.release()
    }
  }

  /// The name of the unfinished copy to which a file belongs: the copy itself, a log of it, or its lock.
  private static func nameOfCopy(with name: String, of databases: [String]) -> String? {
    guard let database = databases.first(where: { name.hasPrefix($0 + ".") }) else { return nil }
    let suffix = companionSuffixes.first { name.hasSuffix($0) } ?? ""
    let copy = String(name.dropLast(suffix.count))
    return copy == database + ".incoming.sqlite" || copy.hasSuffix(".sqlite" + partialSuffix) ? copy : nil
  }

  /// The suffixes of the files beside a copy: its logs, and the lock of ``CopyDestination``.
  private static let companionSuffixes = DatabaseFile.logSuffixes + ["-lock"]

  private static func remove(_ path: String) {
    for suffix in [""] + companionSuffixes { unlink(path + suffix) }
  }
}
