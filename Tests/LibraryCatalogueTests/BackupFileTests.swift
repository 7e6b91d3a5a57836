import Dispatch
import DurableFiles
import Foundation
import GRDB
import LibraryFixtures
import PhotoModel
import Testing

@testable import LibraryCatalogue

#if canImport(Glibc)
  import Glibc
#endif

/// Files beside a backup or a catalogue, or at their path.
@Suite("Files of backups and restores")
struct BackupFileTests {
  private func assets(_ file: String) throws -> Int {
    let queue = try DatabaseQueue(path: file)
    defer { try? queue.close() }
    return try queue.read { db in
      #expect(try String.fetchAll(db, sql: "PRAGMA integrity_check") == ["ok"])
      return try Int.fetchOne(db, sql: "SELECT count(*) FROM asset") ?? -1
    }
  }

  private func revision(_ library: TemporaryLibrary) throws -> Int64 {
    let queue = try DatabaseQueue(path: library.data + "/catalogue.sqlite")
    defer { try? queue.close() }
    return try queue.read { try Int64.fetchOne($0, sql: "SELECT revision FROM library WHERE id = 0") ?? -1 }
  }

  private func fill(_ library: TemporaryLibrary, _ names: Range<Int>) throws {
    for name in names { try library.put(smallJPEG + Array("\(name)".utf8), "\(name).jpg") }
  }

  private func contents(_ path: String) throws -> Data { try Data(contentsOf: URL(filePath: path)) }

  /// The names that begin with the name of a copy.
  private func files(of copy: String) throws -> [String] {
    let url = URL(filePath: copy)
    return try FileManager.default.contentsOfDirectory(atPath: url.deletingLastPathComponent().path)
      .filter { $0.hasPrefix(url.lastPathComponent) }.sorted()
  }

  @Test("of two backups to one file at once, the second is refused; what a killed one left is overwritten")
  func twoAtOnce() throws {
    let library = try TemporaryLibrary()
    try fill(library, 0..<20)
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let copy = library.data + "/copy.sqlite"
    let lock = open(copy + ".partial-lock", O_RDWR | O_CREAT, 0o600)
    try #require(flock(lock, LOCK_EX | LOCK_NB) == 0)
    #expect(throws: LibraryError.copyUnderWay(path: copy)) { try catalogue.backUp(to: copy) }
    #expect(try files(of: copy) == ["copy.sqlite.partial-lock"])
    close(lock)
    try Data("a part of a copy".utf8).write(to: URL(filePath: copy + ".partial"))
    try catalogue.backUp(to: copy)
    #expect(try assets(copy) == 20)

    DispatchQueue.concurrentPerform(iterations: 12) { _ in
      do throws(LibraryError) {
        try catalogue.backUp(to: copy, replacing: true)
      } catch {
        if error != .copyUnderWay(path: copy) { Issue.record(error) }
      }
    }
    #expect(try assets(copy) == 20)
    #expect(try files(of: copy) == ["copy.sqlite"])
  }

  @Test("a backup removes the logs of the file that it replaces")
  func logsBesideBackup() throws {
    let library = try TemporaryLibrary()
    try fill(library, 0..<5)
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let copy = library.data + "/copy.sqlite"
    for suffix in ["-wal", "-shm", "-journal"] {
      try contents(library.data + "/catalogue.sqlite-wal").write(to: URL(filePath: copy + suffix))
    }
    try catalogue.backUp(to: copy, replacing: true)
    #expect(try files(of: copy) == ["copy.sqlite"])
  }

  @Test("a restore refuses a backup with the log of another database, and takes a copied catalogue with its own")
  func logsBesideCopy() throws {
    let library = try TemporaryLibrary()
    let (copy, plain) = (library.data + "/copy.sqlite", library.data + "/plain.sqlite")
    do {
      try fill(library, 0..<5)
      let catalogue = try library.catalogue()
      try library.scan(catalogue)
      try catalogue.backUp(to: copy)
      try fill(library, 5..<7)
      try library.scan(catalogue)
      let log = try contents(library.data + "/catalogue.sqlite-wal")
      try contents(library.data + "/catalogue.sqlite").write(to: URL(filePath: plain))
      for path in [copy, plain] { try log.write(to: URL(filePath: path + "-wal")) }
      withExtendedLifetime(catalogue) {}
    }
    #expect {
      try CatalogueRestore(dataFolder: library.data).restore(from: copy)
    } throws: {
      guard case LibraryError.notACatalogue(copy, let reason)? = $0 as? LibraryError else { return false }
      return reason.contains("\(copy)-wal")
    }
    _ = try CatalogueRestore(dataFolder: library.data).restore(from: plain)
    #expect(try assets(library.data + "/catalogue.sqlite") == 7)
    unlink(copy + "-wal")
    _ = try CatalogueRestore(dataFolder: library.data).restore(from: copy)
    #expect(try assets(library.data + "/catalogue.sqlite") == 5)
  }

  @Test(
    "a restore says of a file that is no backup why, and makes no data folder",
    arguments: [
      ("missing", "it does not exist"), ("folder", "it is a folder"), ("picture", "it is not a photod catalogue"),
      ("half", "it is incomplete or damaged"),
    ])
  func reasons(_ name: String, _ reason: String) throws {
    let library = try TemporaryLibrary()
    let path = library.data + "/" + name
    try fill(library, 0..<20)
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    try catalogue.backUp(to: library.data + "/half")
    let whole = try contents(library.data + "/half")
    try whole.prefix(whole.count / 2).write(to: URL(filePath: library.data + "/half"))
    try Data(smallJPEG).write(to: URL(filePath: library.data + "/picture"))
    #expect(mkdir(library.data + "/folder", 0o700) == 0)
    let other = library.data + "/other"
    #expect(throws: LibraryError.notACatalogue(path: path, reason)) {
      try CatalogueRestore(dataFolder: other).restore(from: path)
    }
    #expect(!FileManager.default.fileExists(atPath: other))
  }

  @Test("what root restores belongs to the owner of the data folder", .enabled(if: geteuid() == 0))
  func owner() throws {
    let library = try TemporaryLibrary()
    let (copy, folder) = (library.data + "/copy.sqlite", library.data + "/restored")
    try fill(library, 0..<3)
    do {
      let catalogue = try library.catalogue()
      try library.scan(catalogue)
      try catalogue.backUp(to: copy)
    }
    try #require(mkdir(folder, 0o700) == 0 && chown(folder, 12_345, 12_346) == 0)
    for _ in 0..<2 { _ = try CatalogueRestore(dataFolder: folder).restore(from: copy) }
    let catalogue = try Catalogue(dataFolder: folder)
    let names = try FileManager.default.contentsOfDirectory(atPath: folder)
    #expect(Set(["catalogue.sqlite", "catalogue.sqlite-wal", "use.lock"]).isSubset(of: names))
    for name in names {
      var status = stat()
      #expect(lstat(folder + "/" + name, &status) == 0 && status.st_uid == 12_345 && status.st_gid == 12_346, "\(name)")
    }
    withExtendedLifetime(catalogue) {}
  }

  @Test("the log of a lost catalogue is not applied to the restored one")
  func logOfLostCatalogue() throws {
    let library = try TemporaryLibrary()
    let (copy, present) = (library.data + "/copy.sqlite", library.data + "/catalogue.sqlite")
    let log: Data
    do {
      try fill(library, 0..<5)
      let catalogue = try library.catalogue()
      try library.scan(catalogue)
      try catalogue.backUp(to: copy)
      try fill(library, 5..<9)
      try library.scan(catalogue)
      log = try contents(present + "-wal")
      withExtendedLifetime(catalogue) {}
    }
    unlink(present)
    try log.write(to: URL(filePath: present + "-wal"))
    #expect(try CatalogueRestore(dataFolder: library.data).restore(from: copy) == nil)
    #expect(try files(of: present) == ["catalogue.sqlite"])
    #expect(try assets(present) == 5)
  }

  @Test("a backup refuses to replace a file that photod uses, by whatever path")
  func filesInUse() throws {
    let library = try TemporaryLibrary()
    try fill(library, 0..<1)
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let (link, hardLink) = (library.data + "/../link", library.data + "/hard-link.sqlite")
    #expect(symlink(library.data, link) == 0)
    #expect(Glibc.link(library.data + "/catalogue.sqlite", hardLink) == 0)
    let names = ["catalogue.sqlite", "catalogue.sqlite-wal", "catalogue.sqlite-journal", "use.lock"]
    for path in names.flatMap({ [library.data + "/" + $0, link + "/./" + $0] }) + [hardLink] {
      #expect(throws: LibraryError.copyWouldReplaceFileInUse(path: path)) {
        try catalogue.backUp(to: path, replacing: true)
      }
    }
    try catalogue.backUp(to: library.data + "/catalogue.sqlite.copy")
  }

  @Test("a restore over a new catalogue, begun after the loss of a disk, uses no revision of the lost one again")
  func otherCatalogue() throws {
    let library = try TemporaryLibrary()
    let copy = library.data + "/../copy.sqlite"
    do {
      try fill(library, 0..<3)
      let catalogue = try library.catalogue()
      try library.scan(catalogue)
      try catalogue.backUp(to: copy)
      for name in 3..<12 {
        try fill(library, name..<name + 1)
        try library.scan(catalogue)
      }
    }
    let last = try revision(library)
    #expect(rename(library.data, library.data + "-lost") == 0)
    do { try library.scan(library.catalogue()) }
    try #require(try revision(library) < last)
    _ = try CatalogueRestore(dataFolder: library.data).restore(from: copy)
    #expect(try revision(library) > last)
  }

  @Test("a backup does not replace that of another catalogue, such as of one that was lost and begun again")
  func backupOfAnotherCatalogue() throws {
    let library = try TemporaryLibrary()
    let copy = library.data + "/../copy.sqlite"
    do {
      try fill(library, 0..<3)
      let catalogue = try library.catalogue()
      try library.scan(catalogue)
      try catalogue.backUp(to: copy)
    }
    let former = try contents(copy)
    #expect(rename(library.data, library.data + "-lost") == 0)
    do {
      let catalogue = try library.catalogue()
      try library.scan(catalogue)
      #expect(throws: LibraryError.copyOfAnotherCatalogue(path: copy)) {
        try catalogue.backUp(to: copy, replacing: true)
      }
      #expect(try contents(copy) == former)
      #expect(try files(of: copy) == ["copy.sqlite"])
      try catalogue.backUp(to: library.data + "/second.sqlite", replacing: true)
    }
    _ = try CatalogueRestore(dataFolder: library.data).restore(from: copy)
    // A restored catalogue keeps its identity, so its backups may be replaced.
    try library.catalogue().backUp(to: copy, replacing: true)
    #expect(try contents(copy) != former)
    #expect(try assets(copy) == 3)
  }

  @Test(
    "a catalogue without tables is refused and left untouched, until it is restored", arguments: ["empty", "log lost"])
  func withoutTables(_ what: String) throws {
    let library = try TemporaryLibrary()
    let (copy, present) = (library.data + "/copy.sqlite", library.data + "/catalogue.sqlite")
    do {
      try fill(library, 0..<3)
      let catalogue = try library.catalogue()
      try library.scan(catalogue)
      try catalogue.backUp(to: copy)
    }
    for suffix in ["", "-wal", "-shm"] { unlink(present + suffix) }
    if what == "empty" {
      for suffix in ["", "-wal"] { try Data(suffix.utf8).write(to: URL(filePath: present + suffix)) }
    } else {
      try DatabasePool(path: present).close()
    }
    let before = try files(of: present).map { try contents(library.data + "/" + $0) }
    #expect(throws: LibraryError.catalogueWithoutTables(path: present)) { try library.catalogue() }
    #expect(throws: LibraryError.catalogueWithoutTables(path: present)) { try Catalogue(reading: library.data) }
    #expect(try files(of: present).map { try contents(library.data + "/" + $0) } == before)
    _ = try CatalogueRestore(dataFolder: library.data).restore(from: copy)
    #expect(try assets(present) == 3)
  }

  @Test("a new catalogue gets its name once it has its tables; what a killed process left is overwritten")
  func unfinishedCatalogue() throws {
    let library = try TemporaryLibrary()
    let present = library.data + "/catalogue.sqlite"
    try FileManager.default.createDirectory(atPath: library.data, withIntermediateDirectories: true)
    for suffix in [".partial", ".partial-journal", ".partial-lock", "-wal"] {
      try Data("of a killed process".utf8).write(to: URL(filePath: present + suffix))
    }
    try fill(library, 0..<3)
    do { try library.scan(library.catalogue()) }
    #expect(try files(of: present).allSatisfy { !$0.contains("partial") })
    #expect(try assets(present) == 3)
  }

  @Test("the next start removes the unfinished copies of killed processes, but not one that is being written")
  func abandonedCopies() throws {
    let library = try TemporaryLibrary()
    try fill(library, 0..<3)
    do { try library.scan(library.catalogue()) }
    let abandoned = [
      "catalogue.incoming.sqlite", "catalogue.incoming.sqlite-journal", "access.incoming.sqlite",
      "access.incoming.sqlite-journal", "catalogue.before-repair.sqlite.partial",
      "catalogue.before-repair-2.sqlite.partial-journal", "catalogue.before-1.sqlite.partial",
      "catalogue.copy.sqlite.partial", "catalogue.copy.sqlite.partial-lock", "access.sqlite.partial-wal",
    ]
    let kept = [
      "catalogue.before-repair.sqlite", "catalogue.before-restore.sqlite", "access.before-restore.sqlite",
      "catalogue.written.sqlite.partial", "catalogue.written.sqlite.partial-journal", "notes.partial", "copy.sqlite",
    ]
    for name in abandoned + kept { try Data("a copy".utf8).write(to: URL(filePath: library.data + "/" + name)) }
    let destination = try CopyDestination(library.data + "/catalogue.written.sqlite")
    func left() throws -> Set<String> { Set(try FileManager.default.contentsOfDirectory(atPath: library.data)) }
    do {
      // While it runs, a restore or a repair may be writing them.
      let restore = try DataFolderLock.forRestore(of: library.data)
      #expect(throws: LibraryError.restoreUnderWay(path: library.data)) { try library.catalogue() }
      #expect(try left().isSuperset(of: abandoned))
      restore.unlock()
    }
    _ = try Catalogue(reading: library.data)
    #expect(try left().isSuperset(of: abandoned), "a reader removes nothing")
    _ = try library.catalogue()
    #expect(try left().isDisjoint(with: abandoned))
    #expect(try left().isSuperset(of: kept + ["catalogue.written.sqlite.partial-lock"]))
    destination.release()
    #expect(try assets(library.data + "/catalogue.sqlite") == 3)
  }

  @Test("the end of a command removes only the copies that it is writing")
  func endedCommand() throws {
    let library = try TemporaryLibrary()
    try FileManager.default.createDirectory(atPath: library.data, withIntermediateDirectories: true)
    let copies = UnfinishedCopies()
    let (written, finished, other) = ("written.sqlite", "finished.sqlite", "other.sqlite")
    var destinations: [String: CopyDestination] = [:]
    for name in [written, finished, other] {
      let path = library.data + "/" + name
      destinations[name] =
        try name == other ? CopyDestination(path) : CopyDestination(path, notedIn: copies)
      for suffix in ["", "-journal"] { try Data("a copy".utf8).write(to: URL(filePath: path + ".partial" + suffix)) }
    }
    destinations[finished]?.release()
    copies.removeAll {}
    let left = try FileManager.default.contentsOfDirectory(atPath: library.data).sorted()
    #expect(
      left == [
        "finished.sqlite.partial", "finished.sqlite.partial-journal", "other.sqlite.partial",
        "other.sqlite.partial-journal", "other.sqlite.partial-lock",
      ])
    for name in [written, other] { destinations[name]?.release() }
  }

  @Test("a restore refuses a pipe and does not wait for its writer")
  func restoredPipe() throws {
    let library = try TemporaryLibrary()
    let copy = library.root + "/copy.sqlite"
    try #require(mkfifo(copy, 0o600) == 0)
    // With a writer at the other end, a restore that opens the pipe fails with another reason instead of waiting
    // forever.
    let writer = open(copy, O_RDWR | O_CLOEXEC)
    defer { close(writer) }
    #expect(throws: LibraryError.notACatalogue(path: copy, "it is not a regular file")) {
      try CatalogueRestore(dataFolder: library.data).restore(from: copy)
    }
  }

  @Test("a copy without the key that identifies the catalogue is no backup")
  func withoutKey() throws {
    let library = try TemporaryLibrary()
    let catalogue = try library.catalogue()
    try catalogue.pool.write { try $0.execute(sql: "DELETE FROM catalogueValue WHERE name = 'contentKey'") }
    let copy = library.data + "/copy.sqlite"
    #expect(throws: LibraryError.self) { try catalogue.backUp(to: copy) }
    #expect(try files(of: copy) == [])
    // Without its key, an open catalogue has no name for the trash and computes no content versions.
    #expect(throws: AssetSourceError.self) { try catalogue.uniqueName() }
    try library.put(smallJPEG, "a.jpg")
    #expect(throws: LibraryError.self) { try library.scan(catalogue) }
    #expect(try catalogue.fileCount() == 0)
  }
}
