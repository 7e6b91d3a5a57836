import Foundation
import GRDB
import LibraryCatalogue
import PhotoFixtures
import PhotoModel
import Testing

@testable import PhotoAPI

#if canImport(Glibc)
  import Glibc
#endif

/// Change lists on a full or read-only disk.
@Suite("Change lists and storage faults", .blocking)
struct ChangeStorageTests {
  private struct StorageFixture {
    let folders: TestDaemon.Folders
    let daemon: TestDaemon
    let assets: [String]

    /// - Parameter mount: puts a disk below one of the folders.
    init(_ mount: (TestDaemon.Folders) throws -> Void = { _ in }, arguments: [String] = []) throws {
      folders = try TestDaemon.Folders()
      try mount(folders)
      for number in 0..<2 {
        try TestDaemon.Files(root: folders.library).put(UploadTests.picture(number), "\(number).jpg")
      }
      let scan = try TestDaemon.run(["scan", "--library", folders.library, "--data", folders.data])
      #expect(scan.status == 0, "\(scan.error)")
      daemon = try TestDaemon(serving: folders, arguments: ["--set", "cache.diskBytes=0"] + arguments)
      assets = [try daemon.identifier("0.jpg"), try daemon.identifier("1.jpg")]
    }

    func perform(_ entry: String) throws -> TestDaemon.Response {
      try daemon.post("/v1/changes", "{\"changes\": [\(entry)]}")
    }

    func delete(_ index: Int) throws -> TestDaemon.Response {
      try perform(#"{"type": "deleteAsset", "asset": "\#(assets[index])"}"#)
    }

    func restore(_ index: Int) throws -> TestDaemon.Response {
      try perform(#"{"type": "restoreAsset", "asset": "\#(assets[index])"}"#)
    }

    /// Everything that a change list can change.
    func state() throws -> [String] {
      // Placeholders are made in the background.
      let assets = try daemon.get("/v1/assets?fields=localIdentifier,revision,isFavorite")
      let collections = try daemon.get("/v1/collections?type=album&limit=1000")
      let trash = try daemon.get("/v1/trash")
      return [assets, collections, trash].map { String(decoding: $0.body, as: UTF8.self) }
        + TestDaemon.files(in: folders.library).sorted()
    }
  }

  @Test(
    "a full disk answers 507, nothing changes, and changes work again once there is space",
    .enabled(if: TemporaryFileSystem.canMount))
  func full() throws {
    var disk: TemporaryFileSystem?
    let world = try StorageFixture({ disk = try TemporaryFileSystem(at: $0.data, bytes: 16 << 20) })
    defer { withExtendedLifetime(disk) {} }
    #expect(try world.delete(0).status == 200)
    let filler = try #require(disk).fill()
    let title = String(repeating: "x", count: 500)
    var done = 0
    var answer = try world.perform(#"{"type": "createAlbum", "title": "\#(title)"}"#)
    while answer.status == 200, done < 1000 {
      done += 1
      answer = try world.perform(#"{"type": "createAlbum", "title": "\#(title)"}"#)
    }
    #expect(answer.status == 507 && answer.json["type"] as? String == "/problems/insufficient-storage")
    let before = try world.state()
    #expect(
      try (world.daemon.get("/v1/collections?type=album&limit=1000").json["collections"] as? [Any])?.count == done)
    // The intents can't be written, so no file has moved; neither can the row of an upload.
    let upload = try world.daemon.upload(UploadTests.picture(5))
    for answer in [try world.delete(1), try world.restore(0), upload] {
      #expect(answer.status == 507 && answer.json["type"] as? String == "/problems/insufficient-storage")
    }
    #expect(try world.state() == before)
    unlink(filler)
    for answer in [try world.delete(1), try world.restore(0), try world.restore(1)] { #expect(answer.status == 200) }
    #expect(TestDaemon.files(in: world.folders.library) == ["0.jpg", "1.jpg"])
    #expect(try world.folders.catalogue { try String.fetchAll($0, sql: "PRAGMA integrity_check") } == ["ok"])
  }

  @Test(
    "a read-only library refuses file changes with 409, and accepts changes of the catalogue",
    arguments: TemporaryFileSystem.canMount ? ["its setting", "its disk"] : ["its setting"])
  func readOnly(_ why: String) throws {
    var disk: TemporaryFileSystem?
    let world = try StorageFixture(
      { if why == "its disk" { disk = try TemporaryFileSystem(at: $0.library, bytes: 1 << 20) } },
      arguments: why == "its disk" ? [] : ["--set", "readOnly=true"])
    if why == "its disk" { #expect(try world.delete(1).status == 200) }
    try disk?.remount(readOnly: true)
    let before = try world.state()
    var refused = [try world.delete(0)]
    if why == "its disk" { refused.append(try world.restore(1)) }
    for answer in refused {
      #expect(answer.status == 409 && answer.json["type"] as? String == "/problems/library-read-only", "\(answer.json)")
      #expect(answer.json["index"] as? Int == 0)
    }
    #expect(try world.state() == before)
    let favorite = try world.perform(#"{"type": "updateAsset", "asset": "\#(world.assets[0])", "isFavorite": true}"#)
    #expect(favorite.status == 200)
    try disk?.remount(readOnly: false)
  }

  @Test("a read-only catalogue is reported as a read-only library, and a failing one as an internal error")
  func catalogue() {
    func problem(_ reason: AssetSourceError) -> Problem { Problem(ChangeListError(.source(reason))) }
    #expect(problem(.storageFailed(.readOnly, "")) == .libraryReadOnly)
    #expect(problem(.storageFailed(.full, "")) == .insufficientStorage)
    #expect(Problem(ChangeListError(.files(.catalogue(.storageFailed(.readOnly, ""))))) == .libraryReadOnly)
    // Of an upload.
    #expect(Problem(LibraryFilesError.catalogue(.storageFailed(.full, ""))) == .insufficientStorage)
    #expect(Problem(LibraryFilesError.catalogue(.storageFailed(.readOnly, ""))) == .libraryReadOnly)
    #expect(problem(.storageFailed(.failing, "")).status == 500)
  }

  @Test("a change or an upload that waited too long for other callers is to be sent again")
  func busy() {
    let catalogue = AssetSourceError.storageFailed(.busy, "")
    for answer in [
      Problem(LibraryFilesError.busy), Problem(ChangeListError(.files(.busy))), Problem(catalogue),
      Problem(LibraryFilesError.catalogue(catalogue)), Problem(ChangeListError(.source(catalogue))),
    ] {
      #expect(answer.status == 503 && answer.kind == "overloaded" && answer.fields["Retry-After"] != nil)
    }
  }

  @Test("while another process moves files, changes of the catalogue go on, and SIGTERM ends a waiting scan")
  func heldLock() throws {
    let world = try StorageFixture()
    let lock = open(world.folders.data + "/files.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    defer { close(lock) }
    // Waits for the first scan.
    try #require(flock(lock, LOCK_EX) == 0)
    try TestDaemon.Files(root: world.folders.library).put(UploadTests.picture(2), "2.jpg")
    try world.daemon.requestScan()
    let favorite = try world.perform(#"{"type": "updateAsset", "asset": "\#(world.assets[0])", "isFavorite": true}"#)
    #expect(favorite.status == 200)
    #expect(world.daemon.terminate() == 0)
  }
}
