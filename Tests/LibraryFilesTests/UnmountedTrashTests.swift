import Foundation
import GRDB
import LibraryFixtures
import PhotoFixtures
import PhotoModel
import Testing

@testable import LibraryCatalogue
@testable import LibraryFiles

#if canImport(Glibc)
  import Glibc
#endif

/// A library with the disk `disk2` below its root, which can be unmounted and mounted again with its files.
private final class TwoDisks {
  let library: TemporaryLibrary
  let catalogue: Catalogue
  /// Mounted beside the library; `disk2` is a second place of it.
  private let disk: TemporaryFileSystem
  private var mountPoint: String { library.root + "/" + name }
  private var name = "disk2"

  /// Puts a picture at each path, and scans both disks.
  init(_ names: [String] = ["here.jpg", "there.jpg", "disk2/a.jpg"]) throws {
    library = try TemporaryLibrary()
    disk = try TemporaryFileSystem(at: library.root + "/../disk", bytes: 1 << 20)
    catalogue = try library.catalogue()
    try FileManager.default.createDirectory(atPath: library.root + "/disk2", withIntermediateDirectories: true)
    try mountAgain()
    for (number, name) in names.enumerated() { try library.put(smallJPEG + [UInt8(number)], name) }
    try library.scan(catalogue)
  }

  deinit {
    umount2(mountPoint, Int32(MNT_DETACH))
    disk.unmount()
  }

  func unmount() throws { try #require(umount2(mountPoint, Int32(MNT_DETACH)) == 0) }

  func mountAgain() throws { try #require(mount(disk.path, mountPoint, nil, UInt(MS_BIND), nil) == 0) }

  /// Mounts it in another folder of the library, which is made.
  func mountAgain(as name: String) throws {
    try unmount()
    self.name = name
    try FileManager.default.createDirectory(atPath: mountPoint, withIntermediateDirectories: true)
    try mountAgain()
  }

  func makeReadOnly(_ isReadOnly: Bool) throws {
    let flags = UInt(MS_BIND) | UInt(MS_REMOUNT) | (isReadOnly ? UInt(MS_RDONLY) : 0)
    try #require(mount(disk.path, mountPoint, nil, flags, nil) == 0)
  }

  func identifier(_ path: String) throws -> LocalIdentifier {
    try #require(try catalogue.everything()[path]).localIdentifier
  }

  /// All files of the second disk, mounted or not.
  var diskFiles: Set<String> { library.allFiles(in: disk.path) }
}

@Suite("The trash of a disk that is not mounted", .enabled(if: TemporaryFileSystem.canMount))
struct UnmountedTrashTests {
  private static func states(_ catalogue: Catalogue) throws -> [String] {
    try TrashTests.rows(catalogue, "trash").map { String.fromDatabaseValue($0["state"] ?? .null) ?? "" }
  }

  @Test("an interrupted deletion on a disk that is not mounted is reverted when it is mounted, by a start or a scan")
  func deletion() throws {
    for isRestarted in [true, false] {
      let disks = try TwoDisks()
      let photo = try disks.identifier("disk2/a.jpg")
      let files = try disks.library.files(disks.catalogue)
      try files.prepare([.delete(photo)], for: .local).end()
      #expect(disks.diskFiles.allSatisfy { $0.hasPrefix(".photod-trash/") } && disks.diskFiles.count == 1)
      try disks.unmount()
      try files.recover()
      #expect(try Self.states(disks.catalogue) == ["deleting"])
      // Other disks are in use meanwhile.
      try files.perform([.delete(try disks.identifier("here.jpg"))])
      #expect(try Self.states(disks.catalogue) == ["deleting", "trashed"])
      try disks.mountAgain()
      if isRestarted {
        try files.recover()
      } else {
        try disks.library.scan(disks.catalogue)
        try files.purge()
      }
      #expect(disks.diskFiles == ["a.jpg"])
      #expect(try Self.states(disks.catalogue) == ["trashed"])
      #expect(try disks.identifier("disk2/a.jpg") == photo)
    }
  }

  @Test("an interrupted restoration on a disk that is not mounted is reverted when it is mounted")
  func restoration() throws {
    let disks = try TwoDisks()
    let photo = try disks.identifier("disk2/a.jpg")
    let files = try disks.library.files(disks.catalogue)
    try files.perform([.delete(photo)])
    try files.prepare([.restore(photo)], for: .local).end()
    try disks.unmount()
    try files.recover()
    #expect(try Self.states(disks.catalogue) == ["restoring"])
    try disks.mountAgain()
    try files.recover()
    #expect(try Self.states(disks.catalogue) == ["trashed"])
    try files.perform([.restore(photo)])
    #expect(disks.diskFiles == ["a.jpg"])
  }

  @Test("a deletion whose file another program removed ends at the next start")
  func removedFile() throws {
    let disks = try TwoDisks()
    let files = try disks.library.files(disks.catalogue)
    let photo = try disks.identifier("disk2/a.jpg")
    try files.prepare([.delete(photo)], for: .local).end()
    try FileManager.default.removeItem(atPath: disks.library.root + "/disk2/.photod-trash")
    try files.recover()
    #expect(try Self.states(disks.catalogue).isEmpty)
  }

  @Test("a purge keeps the records of a disk that is not mounted, and removes its files when it is mounted")
  func purge() throws {
    let disks = try TwoDisks()
    let files = try disks.library.files(disks.catalogue)
    try files.perform([.delete(try disks.identifier("disk2/a.jpg")), .delete(try disks.identifier("here.jpg"))])
    try disks.unmount()
    // The disk has no known file now, so this scan no longer records it.
    try disks.library.put(smallPNG, "other.png")
    try disks.library.scan(disks.catalogue)
    let later = Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1000) + 40 * 86_400_000)
    #expect(try files.purge(now: later) == 1)
    #expect(try Self.states(disks.catalogue) == ["trashed"] && disks.diskFiles.count == 1)
    try disks.mountAgain()
    #expect(try files.purge(now: later) == 1)
    #expect(try Self.states(disks.catalogue).isEmpty && disks.diskFiles.isEmpty)
  }

  @Test("an interrupted purge of a disk that is not mounted continues when it is mounted")
  func interruptedPurge() throws {
    let disks = try TwoDisks()
    let files = try disks.library.files(disks.catalogue)
    try files.perform([.delete(try disks.identifier("disk2/a.jpg"))])
    try disks.catalogue.pool.write { try $0.execute(sql: "UPDATE trash SET state = 'purging'") }
    try disks.unmount()
    try files.recover()
    #expect(try Self.states(disks.catalogue) == ["purging"] && disks.diskFiles.count == 1)
    try disks.mountAgain()
    try files.recover()
    #expect(try Self.states(disks.catalogue).isEmpty && disks.diskFiles.isEmpty)
  }

  @Test(
    "to delete an asset of a disk that is not mounted is refused, at the top of the disk and below",
    arguments: ["disk2/a.jpg", "disk2/x/a.jpg"])
  func refused(_ path: String) throws {
    let disks = try TwoDisks(["here.jpg", path])
    let files = try disks.library.files(disks.catalogue)
    let photo = try disks.identifier(path)
    try disks.unmount()
    #expect(throws: FileChangeFailure(index: 1, reason: .diskMissing(Array(path.utf8)))) {
      try files.perform([.delete(try disks.identifier("here.jpg")), .delete(photo)])
    }
    #expect(try Self.states(disks.catalogue).isEmpty && disks.library.allFiles == ["here.jpg"])
    try disks.mountAgain()
    #expect(try disks.library.scan(disks.catalogue).probed == 0)
    #expect(try disks.identifier(path) == photo)
    // A file that another program removed counts as deleted.
    unlink(disks.library.root + "/" + path)
    try files.perform([.delete(photo)])
    #expect(try disks.catalogue.everything().keys.contains(path) == false)
  }

  @Test("to restore an asset of a disk that is not mounted is refused, and possible once it is mounted")
  func refusedRestoration() throws {
    let disks = try TwoDisks()
    let photo = try disks.identifier("disk2/a.jpg")
    let files = try disks.library.files(disks.catalogue)
    try files.perform([.delete(photo)])
    try disks.unmount()
    #expect(throws: FileChangeFailure(index: 0, reason: .diskMissing(Array("disk2/a.jpg".utf8)))) {
      try files.perform([.restore(photo)])
    }
    try disks.mountAgain()
    try files.perform([.restore(photo)])
    #expect(try disks.identifier("disk2/a.jpg") == photo)
  }

  @Test("after a scan, the trash of a disk that is mounted under another name can be restored")
  func otherMountPoint() throws {
    let disks = try TwoDisks(["here.jpg", "disk2/a.jpg", "disk2/b.jpg"])
    let (photo, other) = (try disks.identifier("disk2/a.jpg"), try disks.identifier("disk2/b.jpg"))
    let files = try disks.library.files(disks.catalogue)
    try files.perform([.delete(photo), .delete(try disks.identifier("here.jpg"))])
    try disks.mountAgain(as: "archive")
    try disks.library.scan(disks.catalogue)
    #expect(try disks.identifier("archive/b.jpg") == other)
    try files.perform([.restore(photo)])
    #expect(try disks.identifier("archive/a.jpg") == photo && disks.diskFiles == ["a.jpg", "b.jpg"])
    #expect(try Self.states(disks.catalogue) == ["trashed"], "that of the other disk has stayed")
  }

  @Test("a file that can't be looked up is not dropped from an asset that is restored")
  func unreadableFile() throws {
    let disks = try TwoDisks(["here.jpg", "disk2/a.jpg"])
    let photo = try disks.identifier("here.jpg")
    // As a scan stores the video of a live photo.
    try disks.library.put([1, 2, 3], "disk2/here.mov")
    try disks.catalogue.pool.write { db in
      try db.execute(
        sql: """
          INSERT INTO file (asset, role, path, inode, size, modified)
          SELECT asset, 'pairedVideo', CAST('disk2/here.mov' AS BLOB), 1, 3, 1 FROM file
          WHERE path = CAST('here.jpg' AS BLOB)
          """)
    }
    let files = try disks.library.files(disks.catalogue)
    try files.perform([.delete(photo)])
    try disks.unmount()
    #expect(throws: FileChangeFailure.self) { try files.perform([.restore(photo)]) }
    try disks.mountAgain()
    try files.perform([.restore(photo)])
    #expect(disks.diskFiles == ["a.jpg", "here.mov"])
  }

  @Test("nothing is stored below the mount point of a missing disk, where it would count as a sign of the disk")
  func uploads() throws {
    let disks = try TwoDisks(["here.jpg", "disk2/2021/07/a.jpg"])
    let photo = try disks.identifier("disk2/2021/07/a.jpg")
    let template = try UploadTemplate("disk2/{year}/{month}/{name}")
    let files = try disks.library.files(disks.catalogue) { $0.template = template }
    try disks.unmount()
    let target = Array("disk2/2021/07/new.jpg".utf8)
    let refusal = LibraryFilesError.diskMissing(target)
    #expect(throws: refusal) { try files.upload(UploadTests.dated, "new.jpg") }
    let staged = try files.staged(UploadTests.dated, "new.jpg")
    #expect(throws: refusal) { try files.addStaged(staged, for: .local) }
    try disks.library.put(smallPNG, "disk2/put.png")
    #expect(throws: FileChangeFailure(index: 0, reason: .diskMissing(Array("disk2/put.png".utf8)))) {
      try files.prepare([.create(path: Array("disk2/put.png".utf8))], for: .local)
    }
    #expect(unlink(disks.library.root + "/disk2/put.png") == 0)
    try disks.library.scan(disks.catalogue)
    try disks.mountAgain()
    #expect(try disks.identifier("disk2/2021/07/a.jpg") == photo)
    #expect(try files.addStaged(staged, for: .local).asset.original.path == target)
  }

  @Test("a purge that fails for one asset does not stop those of other disks, and no change of them")
  func failingPurge() throws {
    let disks = try TwoDisks()
    let files = try disks.library.files(disks.catalogue)
    try files.perform([.delete(try disks.identifier("disk2/a.jpg")), .delete(try disks.identifier("here.jpg"))])
    try disks.makeReadOnly(true)
    let later = Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1000) + 40 * 86_400_000)
    _ = try files.purge(now: later)
    #expect(try Self.states(disks.catalogue) == ["purging"] && disks.diskFiles.count == 1)
    let there = try disks.identifier("there.jpg")
    try files.perform([.delete(there)])
    try files.perform([.restore(there)])
    try files.recover()
    try disks.makeReadOnly(false)
    _ = try files.purge(now: later)
    #expect(try Self.states(disks.catalogue).isEmpty && disks.diskFiles.isEmpty)
  }
}
