import Foundation
import GRDB
import ImageCodec
import LibraryFixtures
import Logging
import PhotoModel
import Testing

@testable import LibraryCatalogue
@testable import LibraryFiles

#if canImport(Glibc)
  import Glibc
#endif

/// What a start does after a process ended during a deletion, a restoration or a purge.
extension TrashTests {
  /// The state of the files when a process ends between two steps: none moved, some moved, or all moved.
  enum Halt: CaseIterable { case beforeMoving, between, behindMoving }

  /// A library of three assets of which two are being deleted or restored, as an ended process leaves it.
  private static func halted(
    _ halt: Halt, restoring isRestoring: Bool
  ) throws -> (TemporaryLibrary, Catalogue, [LocalIdentifier], Set<[String: DatabaseValue]>) {
    let library = try TemporaryLibrary()
    for name in ["a.jpg", "b.jpg", "c.jpg"] { try library.put(smallJPEG, "x/\(name)") }
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let everything = try catalogue.everything()
    let moving = ["x/a.jpg", "x/b.jpg"].map { everything[$0]!.localIdentifier }
    try Self.album(catalogue, [(moving[0], 5), (moving[1], 6)], key: moving[1])
    let kept = try Self.lasting(catalogue, "asset").union(Self.lasting(catalogue, "member"))
    let files = try library.files(catalogue)
    if isRestoring { try files.perform(moving.map { .delete($0) }) }
    let prepared = try files.prepare(moving.map { isRestoring ? .restore($0) : .delete($0) }, for: .local)
    prepared.end()
    // Moves the files to where they are at that step.
    let places = try catalogue.pool.read { db in
      try Row.fetchAll(db, sql: "SELECT path, trashPath FROM trashFile ORDER BY trash").map { row in
        (String(decoding: row[0] as Data, as: UTF8.self), String(decoding: row[1] as Data, as: UTF8.self))
      }
    }
    for (path, trashPath) in places.prefix(halt == .beforeMoving ? 2 : halt == .between ? 1 : 0) {
      let (from, to) = isRestoring ? (path, trashPath) : (trashPath, path)
      try FileManager.default.createDirectory(
        atPath: ((library.root + "/" + to) as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
      #expect(rename(library.root + "/" + from, library.root + "/" + to) == 0)
    }
    return (library, catalogue, moving, kept)
  }

  @Test("an interrupted deletion is reverted at the next start", arguments: Halt.allCases, [false, true])
  func recoveredDeletion(_ halt: Halt, _ isScannedBefore: Bool) throws {
    let (library, catalogue, _, kept) = try Self.halted(halt, restoring: false)
    // As `photod scan` does before the daemon is started again.
    if isScannedBefore { try library.scan(catalogue) }
    let files = try library.files(catalogue)
    try files.recover()
    #expect(library.allFiles == ["x/a.jpg", "x/b.jpg", "x/c.jpg"])
    #expect(try Self.lasting(catalogue, "asset").union(Self.lasting(catalogue, "member")) == kept)
    #expect(try Self.rows(catalogue, "trash").isEmpty)
    #expect(try library.scan(catalogue).probed == 0)
    #expect(try catalogue.pool.read { try String.fetchAll($0, sql: "PRAGMA integrity_check") } == ["ok"])
    try files.recover()
  }

  @Test(
    "the same change list after an interruption recovers without a restart", arguments: Halt.allCases,
    [false, true])
  func sameAgain(_ halt: Halt, isRestoring: Bool) throws {
    let (library, catalogue, moving, _) = try Self.halted(halt, restoring: isRestoring)
    let files = try library.files(catalogue)
    try files.perform(moving.map { isRestoring ? .restore($0) : .delete($0) })
    let inLibrary = Set(library.allFiles.filter { !$0.hasPrefix(".photod-trash/") })
    #expect(
      inLibrary == (isRestoring ? ["x/a.jpg", "x/b.jpg", "x/c.jpg"] : ["x/c.jpg"]) && library.allFiles.count == 3)
    let states = try Self.rows(catalogue, "trash").map { $0["state"] }
    #expect(states == Array(repeating: "trashed".databaseValue, count: isRestoring ? 0 : 2))
    #expect(try library.scan(catalogue).probed == 0)
  }

  @Test(
    "an interrupted restoration is reverted at the next start, and can be repeated", arguments: Halt.allCases)
  func recoveredRestoration(_ halt: Halt) throws {
    let (library, catalogue, moving, kept) = try Self.halted(halt, restoring: true)
    let files = try library.files(catalogue)
    try files.recover()
    #expect(
      Set(library.allFiles.filter { !$0.hasPrefix(".photod-trash/") }) == ["x/c.jpg"] && library.allFiles.count == 3)
    #expect(
      try Self.rows(catalogue, "trash").map { $0["state"] } == ["trashed".databaseValue, "trashed".databaseValue])
    try library.scan(catalogue)
    try files.perform(moving.map { .restore($0) })
    #expect(try Self.lasting(catalogue, "asset").union(Self.lasting(catalogue, "member")) == kept)
  }

  /// Refuses commits, as if the disk of the catalogue failed.
  final class CommitFault: TransactionObserver {
    private let code: ResultCode

    init(_ code: ResultCode = .SQLITE_IOERR) { self.code = code }

    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { false }
    func databaseDidChange(with event: DatabaseEvent) {}
    func databaseWillCommit() throws { throw DatabaseError(resultCode: code) }
    func databaseDidCommit(_ db: Database) {}
    func databaseDidRollback(_ db: Database) {}
  }

  /// A library with one picture, whose deletion or restoration is prepared: its file has been moved.
  private static func prepared(
    _ library: TemporaryLibrary, _ isRestoring: Bool
  ) throws -> (catalogue: Catalogue, files: LibraryFiles, before: Set<String>, change: PendingFileChanges) {
    try library.put(smallJPEG, "x/a.jpg")
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let asset = try #require(try catalogue.everything()["x/a.jpg"]).localIdentifier
    let files = try library.files(catalogue)
    if isRestoring { try files.perform([.delete(asset)]) }
    let before = library.allFiles
    return (catalogue, files, before, try files.prepare([isRestoring ? .restore(asset) : .delete(asset)], for: .local))
  }

  @Test(
    "while the catalogue can't be written, a failed change and a recovery leave its files where they are",
    arguments: [false, true])
  func unwritableCatalogue(_ isRestoring: Bool) throws {
    let library = try TemporaryLibrary()
    let (catalogue, files, before, prepared) = try Self.prepared(library, isRestoring)
    let moved = library.allFiles
    #expect(moved != before)
    let fault = CommitFault()
    catalogue.pool.add(transactionObserver: fault, extent: .databaseLifetime)
    files.revert(prepared, commitFailure: .storageFailed(.failing, ""))
    #expect(library.allFiles == moved)
    #expect(throws: LibraryFilesError.self) { try files.recover() }
    #expect(library.allFiles == moved)
    catalogue.pool.remove(transactionObserver: fault)
    try files.recover()
    #expect(library.allFiles == before)
    #expect(try Self.rows(catalogue, "trash").count == (isRestoring ? 1 : 0))
    #expect(try library.scan(catalogue).probed == 0)
  }

  @Test(
    "a change that fails because the catalogue's disk is full leaves its files where they were, before a recovery",
    arguments: [false, true])
  func fullDisk(_ isRestoring: Bool) throws {
    let library = try TemporaryLibrary()
    let (catalogue, files, before, prepared) = try Self.prepared(library, isRestoring)
    let fault = CommitFault(.SQLITE_FULL)
    catalogue.pool.add(transactionObserver: fault, extent: .databaseLifetime)
    files.revert(prepared, commitFailure: .storageFailed(.full, ""))
    #expect(library.allFiles == before)
    catalogue.pool.remove(transactionObserver: fault)
    try files.recover()
    #expect(library.allFiles == before)
    #expect(try Self.rows(catalogue, "trash").count == (isRestoring ? 1 : 0))
    #expect(try library.scan(catalogue).probed == 0)
  }

  @Test("a file that has taken the path of a trashed one stays when an interrupted restoration is reverted")
  func otherFile() throws {
    let (library, catalogue, moving, _) = try Self.halted(.behindMoving, restoring: true)
    // As after a catalogue was restored that was copied during the restoration.
    unlink(library.root + "/x/a.jpg")
    try library.put(smallPNG, "x/a.jpg")
    let files = try library.files(catalogue)
    try files.recover()
    #expect(try Data(contentsOf: URL(filePath: library.root + "/x/a.jpg")) == Data(smallPNG))
    #expect(Set(library.allFiles.filter { !$0.hasPrefix(".photod-trash/") }) == ["x/a.jpg", "x/c.jpg"])
    #expect(try Self.rows(catalogue, "trash").allSatisfy { $0["state"] == "trashed".databaseValue })
    try files.perform([.restore(moving[1])])
    #expect(library.allFiles == ["x/a.jpg", "x/b.jpg", "x/c.jpg"])
  }

  @Test("an interrupted restoration in a moved library is reverted: each file has another inode")
  func movedLibrary() throws {
    let (library, catalogue, moving, _) = try Self.halted(.behindMoving, restoring: true)
    for path in ["x/a.jpg", "x/b.jpg"].map({ library.root + "/" + $0 }) {
      var status = stat()
      try #require(stat(path, &status) == 0)
      let bytes = try Data(contentsOf: URL(filePath: path))
      #expect(rename(path, path + ".old") == 0)
      try bytes.write(to: URL(filePath: path))
      var times = [status.st_atim, status.st_mtim]
      #expect(utimensat(AT_FDCWD, path, &times, 0) == 0)
      unlink(path + ".old")
    }
    let files = try library.files(catalogue)
    try files.recover()
    #expect(Set(library.allFiles.filter { !$0.hasPrefix(".photod-trash/") }) == ["x/c.jpg"])
    try files.perform(moving.map { .restore($0) })
    #expect(library.allFiles == ["x/a.jpg", "x/b.jpg", "x/c.jpg"])
  }

  @Test("an interrupted purge is completed at the next start")
  func recoveredPurge() throws {
    let library = try TemporaryLibrary()
    for name in ["a.jpg", "b.jpg"] { try library.put(smallJPEG, name) }
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let files = try library.files(catalogue)
    try files.perform(try catalogue.everything().values.map { .delete($0.localIdentifier) })
    try catalogue.pool.write { db in
      try db.execute(sql: "UPDATE trash SET state = 'purging' WHERE id = (SELECT min(id) FROM trash)")
    }
    try files.recover()
    #expect(library.allFiles.count == 1)
    #expect(try Self.rows(catalogue, "trash").count == 1)
  }

  @Test("a restored backup that was made during a restoration moves no file, and keeps the trash for its whole time")
  func backupDuringRestoration() throws {
    let library = try TemporaryLibrary()
    let copy = library.data + "/../copy.sqlite"
    for name in ["a.jpg", "b.jpg"] { try library.put(smallJPEG + Array(name.utf8), name) }
    let restored: LocalIdentifier
    do {
      let catalogue = try library.catalogue()
      try library.scan(catalogue)
      let files = try library.files(catalogue)
      let everything = try catalogue.everything()
      let (a, b) = (everything["a.jpg"]!.localIdentifier, everything["b.jpg"]!.localIdentifier)
      try files.perform([.delete(a), .delete(b)])
      try catalogue.pool.write { try $0.execute(sql: "UPDATE trash SET deletedDate = 1") }
      restored = a
      let prepared = try files.prepare([.restore(a)], for: .local)
      try catalogue.backUp(to: copy)
      try catalogue.change { db, token in
        var writer = try AssetWriter(db, token: token)
        _ = try prepared.commit(0, &writer)
        try writer.finish()
      }
      prepared.end()
    }
    _ = try CatalogueRestore(dataFolder: library.data).restore(from: copy)
    let catalogue = try library.catalogue()
    let files = try library.files(catalogue)
    try files.recover()
    try library.scan(catalogue)
    #expect(try files.purge() == 0)
    #expect(try catalogue.everything().keys.sorted() == ["a.jpg"])
    let trashed = library.allFiles.filter { $0.hasPrefix(".photod-trash/") }
    #expect(trashed.count == 1 && trashed.allSatisfy { $0.hasSuffix("/b.jpg") })
    // The restoration was committed after the backup.
    #expect(try catalogue.everything()["a.jpg"]?.localIdentifier == restored)
    #expect(try Self.rows(catalogue, "trash").map { $0["state"] } == ["trashed".databaseValue])
  }
}
