import Foundation
import GRDB
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// A daemon whose catalogue is taken away or damaged while it has it open.
@Suite("The file of an open catalogue", .blocking)
struct CatalogueFileTests {
  private func daemon(_ folders: TestDaemon.Folders) throws -> TestDaemon {
    try TestDaemon.Files(root: folders.library).put(UploadTests.picture(1), "a.jpg")
    try TestDaemon.succeed(["scan", "--library", folders.library, "--data", folders.data])
    return try TestDaemon(serving: folders)
  }

  private static let creation = #"{"changes": [{"type": "createAlbum", "title": "A"}]}"#

  private func reason(_ daemon: TestDaemon) throws -> String? {
    let readiness = try daemon.get("/readyz")
    #expect(readiness.status == (readiness.json["ready"] as? Bool == true ? 200 : 503))
    return readiness.json["reason"] as? String
  }

  @Test(
    "no change is confirmed while the catalogue's path leads elsewhere", arguments: ["moved", "replaced", "folder"])
  func replaced(_ what: String) throws {
    let folders = try TestDaemon.Folders()
    let daemon = try daemon(folders)
    let path = what == "folder" ? folders.data : folders.data + "/catalogue.sqlite"
    #expect(try daemon.post("/v1/changes", Self.creation).status == 200)
    try #require(rename(path, path + ".away") == 0)
    if what == "replaced" { try Data("x".utf8).write(to: URL(filePath: path)) }
    let refused = try daemon.post("/v1/changes", Self.creation)
    #expect(refused.status == 500 && refused.json["type"] as? String == "/problems/catalogue-failed")
    #expect(try reason(daemon) == "the catalogue was moved, deleted or replaced")
    // SQLite's log belongs to the new file now: there is no way back.
    if what == "replaced" { return }
    if what == "folder" { try? FileManager.default.removeItem(atPath: path) }
    try #require(rename(path + ".away", path) == 0)
    #expect(try daemon.post("/v1/changes", Self.creation).status == 200)
    #expect(try reason(daemon) == nil)
    #expect(
      try folders.catalogue { try Int.fetchOne($0, sql: "SELECT count(*) FROM collection WHERE title = 'A'") } == 2)
  }

  @Test("a daemon is not ready while its file of tokens is away")
  func tokensAway() throws {
    let folders = try TestDaemon.Folders()
    let daemon = try daemon(folders)
    let path = folders.data + "/access.sqlite"
    #expect(try reason(daemon) == nil)
    try #require(rename(path, path + ".away") == 0)
    #expect(try reason(daemon) == "the file of the tokens was moved, deleted or replaced")
    try #require(rename(path + ".away", path) == 0)
    #expect(try reason(daemon) == nil)
  }

  @Test("after a daemon has stopped, the catalogue's file is whole without its log")
  func stopped() throws {
    let folders = try TestDaemon.Folders()
    do {
      let daemon = try daemon(folders)
      #expect(try daemon.post("/v1/changes", Self.creation).status == 200)
      #expect(daemon.terminate() == 0)
    }
    let copy = folders.base + "/copy.sqlite"
    try FileManager.default.copyItem(atPath: folders.data + "/catalogue.sqlite", toPath: copy)
    let queue = try DatabaseQueue(path: copy)
    defer { try? queue.close() }
    #expect(try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM collection WHERE title = 'A'") } == 1)
  }

  @Test("a daemon logs that it creates a catalogue, and refuses an empty one")
  func empty() throws {
    let folders = try TestDaemon.Folders()
    let log = folders.base + "/log"
    for isNew in [true, false] {
      let daemon = try TestDaemon(serving: folders, launcher: "exec \"$@\" 2>'\(log)'")
      #expect(daemon.terminate() == 0)
      let lines = String(decoding: FileManager.default.contents(atPath: log) ?? Data(), as: UTF8.self)
      #expect(lines.contains("created a catalogue") == isNew, "\(lines)")
    }
    for suffix in ["-wal", "-shm"] { unlink(folders.data + "/catalogue.sqlite" + suffix) }
    try Data().write(to: URL(filePath: folders.data + "/catalogue.sqlite"))
    let serve = ["serve", "--library", folders.library, "--data", folders.data, "--listen", "127.0.0.1:0"]
    let refused = try TestDaemon.run(serve)
    #expect(refused.status == 1 && refused.error.contains("catalogue.sqlite is damaged"), "\(refused.error)")
  }

  @Test("a daemon refuses a catalogue that lost its key, in one line that says what to do")
  func withoutKey() throws {
    let folders = try TestDaemon.Folders()
    try TestDaemon.Files(root: folders.library).put(UploadTests.picture(1), "a.jpg")
    try TestDaemon.succeed(["scan", "--library", folders.library, "--data", folders.data])
    try folders.catalogue { try $0.execute(sql: "DELETE FROM catalogueValue WHERE name = 'contentKey'") }
    let serve = ["serve", "--library", folders.library, "--data", folders.data, "--listen", "127.0.0.1:0"]
    let refused = try TestDaemon.run(serve)
    let lines = refused.error.split(separator: "\n").filter { $0.contains("its key is lost") }
    #expect(refused.status == 1 && lines.count == 1, "\(refused.error)")
    #expect(lines.allSatisfy { $0.contains("restore a backup with photod restore") }, "\(refused.error)")
  }

  @Test("a daemon that has met a damaged page, in a read or in a change, is not ready", arguments: [true, false])
  func damaged(_ isRead: Bool) throws {
    let folders = try TestDaemon.Folders()
    do {
      let daemon = try daemon(folders)
      #expect(try daemon.post("/v1/changes", Self.creation).status == 200)
      #expect(daemon.terminate() == 0)
    }
    let table = isRead ? "member" : "changedObject"
    let (album, page, bytes) = try folders.catalogue { db in
      (
        try String.fetchOne(db, sql: "SELECT localIdentifier FROM collection WHERE title = 'A'"),
        try Int.fetchOne(db, sql: "SELECT rootpage FROM sqlite_schema WHERE name = ?", arguments: [table]),
        try Int.fetchOne(db, sql: "PRAGMA page_size")
      )
    }
    let length = try #require(bytes)
    let file = open(folders.data + "/catalogue.sqlite", O_WRONLY)
    defer { close(file) }
    #expect(
      pwrite(file, [UInt8](repeating: 0, count: length), length, off_t((try #require(page) - 1) * length)) == length)
    let daemon = try TestDaemon(serving: folders)
    if isRead {
      #expect(try reason(daemon) == nil)
      #expect(try daemon.get("/v1/collections/\(try #require(album))/assets").status == 500)
    } else {
      #expect(try daemon.post("/v1/changes", Self.creation).status == 500)
    }
    #expect(try reason(daemon) == "the catalogue is damaged")
  }

  @Test(
    "photod check reports a damaged index, which a repair mends; after a lost page it says that a backup is needed",
    arguments: [
      ("primaryFile", 3, true), ("collectionByParent", 3, true), ("search_data", 25, true), ("primaryFile", 3, false),
    ])
  func damagedIndex(_ name: String, _ pictures: Int, _ isRepairable: Bool) throws {
    let folders = try TestDaemon.Folders()
    let options = ["--library", folders.library, "--data", folders.data]
    for number in 1...pictures {
      try TestDaemon.Files(root: folders.library).put(UploadTests.picture(number), "\(number).jpg")
    }
    try TestDaemon.succeed(["scan"] + options)
    let (page, bytes) = try folders.catalogue { db in
      (
        try Int.fetchOne(db, sql: "SELECT rootpage FROM sqlite_schema WHERE name = ?", arguments: [name]),
        try Int.fetchOne(db, sql: "PRAGMA page_size")
      )
    }
    let length = try #require(bytes)
    let start = (try #require(page) - 1) * length
    // The places of the entries in the page, after its header; or all of the page.
    let damage = isRepairable ? [UInt8](repeating: 0xFF, count: 32) : [UInt8](repeating: 0, count: length)
    let file = open(folders.data + "/catalogue.sqlite", O_WRONLY)
    #expect(pwrite(file, damage, damage.count, off_t(isRepairable ? start + 8 : start)) == damage.count)
    close(file)
    let found = try TestDaemon.run(["check"] + options)
    #expect(found.status == 1 && found.output.contains("damaged "), "\(found)")
    let lines = found.output.split(separator: "\n")
    #expect(Set(lines).count == lines.count, "\(found)")
    let repaired = try TestDaemon.run(["check", "--repair"] + options)
    if isRepairable {
      let summary = "checked \(pictures) files: no difference\n"
      #expect(repaired.status == 0 && repaired.output.hasSuffix(summary), "\(repaired)")
      let isOfSearch = name == "search_data"
      #expect(repaired.output.contains("faults in pages and indexes"), "\(repaired)")
      #expect(isOfSearch || !repaired.output.contains("words of the search index"), "\(repaired)")
    } else {
      #expect(repaired.status == 2 && repaired.error.contains("damaged beyond repair"), "\(repaired)")
      #expect(repaired.error.contains("photod restore"), "\(repaired)")
    }
  }

  @Test("a daemon whose search index refuses a change is not ready")
  func damagedSearchIndex() throws {
    let folders = try TestDaemon.Folders()
    #expect(try daemon(folders).terminate() == 0)
    let asset = try folders.catalogue { db in
      try db.execute(sql: "INSERT INTO search (search) VALUES ('delete-all')")
      return try String.fetchOne(db, sql: "SELECT localIdentifier FROM asset")
    }
    let served = try TestDaemon(serving: folders)
    #expect(try reason(served) == nil)
    let title = #"{"changes": [{"type": "updateAsset", "asset": "\#(try #require(asset))", "title": "T"}]}"#
    #expect(try served.post("/v1/changes", title).status == 500)
    #expect(try reason(served) == "the catalogue is damaged")
  }
}
