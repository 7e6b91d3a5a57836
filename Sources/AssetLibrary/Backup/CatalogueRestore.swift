// Puts a copy of a catalogue in the place of the present one. A kill at any moment leaves one or the other, whole; the
// present one stays beside it.

import GRDB
import LibraryFolder

#if canImport(Glibc)
  import Glibc
#endif

package struct CatalogueRestore {
  private let dataFolder: String

  package init(dataFolder: String) {
    self.dataFolder = dataFolder
  }

  /// - Returns: where the present catalogue is now; `nil`: there was none.
  package func restore(from path: String) throws(AssetLibraryError) -> String? {
    guard Catalogue.makeFolder(dataFolder) else {
      throw .unusable(dataFolder, SystemError(code: errno))
    }
    let use = try DataFolderUse(dataFolder, alone: true)
    defer { withExtendedLifetime(use) {} }
    let present = Catalogue.path(in: dataFolder)
    let incoming = dataFolder + "/catalogue.incoming.sqlite"
    do {
      let source = try Self.checked(path)
      try CopiedCatalogue.make(of: source, at: incoming)
      try source.close()
    } catch let error as AssetLibraryError {
      throw error
    } catch {
      unlink(incoming)
      throw .notACatalogue(path: path, CopiedCatalogue.reason(error))
    }
    do {
      let token = settle(present)
      // Changes are counted on from the later of the two: a revision that was given out is never another's.
      let copy = try DatabaseQueue(path: incoming)
      try copy.write { db in
        try db.execute(
          sql: "UPDATE library SET value = max(value, ?) + 1 WHERE key = 'token'", arguments: [token ?? 0])
        // What came behind a token of before is not what the copy's history says.
        guard try db.tableExists("changedObject") else { return }
        for table in ["changedObject", "changedMember", "change"] { try db.execute(sql: "DELETE FROM \(table)") }
        try db.execute(
          sql: """
            UPDATE library SET value = (SELECT value FROM library WHERE key = 'token') WHERE key = 'historyStart'
            """)
        // Their own history is as old as the copy: they are made again for whoever asks with one.
        if try db.tableExists("limitedLibrary") { try db.execute(sql: "DELETE FROM limitedLibrary") }
      }
      try copy.close()
      let kept = access(present, F_OK) == 0 ? try setAside(present) : nil
      try DurableFile.put(incoming, inPlaceOf: present)
      return kept
    } catch {
      unlink(incoming)
      throw AssetLibraryError(Catalogue.translated(error), dataFolder: dataFolder)
    }
  }

  /// Opens a copy, if it is a sound catalogue that this photod can use.
  private static func checked(_ path: String) throws -> DatabaseQueue {
    var configuration = Configuration()
    configuration.readonly = true
    let source = try DatabaseQueue(path: path, configuration: configuration)
    try source.read { db in
      guard try db.tableExists("grdb_migrations"), try db.tableExists("library"), try db.tableExists("asset"),
        try Row.fetchOne(db, sql: "SELECT 1 FROM library WHERE key = 'contentKey'") != nil
      else { throw CopiedCatalogue.Unsound(description: "it is no catalogue of photod") }
      if try CatalogueSchema.migrator.hasBeenSuperseded(db) { throw AssetLibraryError.catalogueTooNew(path: path) }
      try CopiedCatalogue.examine(db)
    }
    return source
  }

  /// Brings what the present catalogue's log holds into its file. `nil`: there is none, or it can't be read; then its
  /// log stays with it.
  private func settle(_ present: String) -> Int64? {
    guard access(present, F_OK) == 0, let queue = try? DatabaseQueue(path: present) else { return nil }
    let token = try? queue.writeWithoutTransaction { db in
      try db.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)")
      return try Int64.fetchOne(db, sql: "SELECT value FROM library WHERE key = 'token'")
    }
    try? queue.close()
    return token ?? nil
  }

  /// Gives the present catalogue a second name, under which it stays: a free one.
  private func setAside(_ present: String) throws -> String {
    var aside = dataFolder + "/catalogue.before-restore.sqlite"
    var number = 2
    while access(aside, F_OK) == 0 {
      aside = "\(dataFolder)/catalogue.before-restore-\(number).sqlite"
      number += 1
    }
    // A log that could not be brought into the file must not meet the new one.
    if access(present + "-wal", F_OK) == 0, rename(present + "-wal", aside + "-wal") != 0 {
      throw SystemError(code: errno)
    }
    unlink(present + "-shm")
    // Linked, so that there is a catalogue at every moment; a file system without links has one a moment later.
    if link(present, aside) != 0 && rename(present, aside) != 0 { throw SystemError(code: errno) }
    return aside
  }
}
