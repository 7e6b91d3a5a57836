import Foundation
import GRDB
import ImageCodec
import LibraryFixtures
import LibraryFolder
import Logging
import PhotoFixtures
import PhotoModel
import Synchronization
import Testing

@testable import LibraryCatalogue
@testable import LibraryFiles
@testable import LibraryScan

#if canImport(Glibc)
  import Glibc
#endif

extension LibraryFiles {
  func upload(
    _ bytes: [UInt8], _ name: String? = nil, for principal: Principal = .local
  ) throws -> UploadedAsset {
    let file = try receive(length: Int64(bytes.count))
    for start in stride(from: 0, to: bytes.count, by: 1000) {
      try file.write(Array(bytes[start..<min(start + 1000, bytes.count)]))
    }
    return try add(file, named: name, for: principal)
  }
}

@Suite("Uploads")
struct UploadTests {
  static let dated = JPEGFile { $0.exif = EXIFBlock { $0.dateTimeOriginal = "2021:07:04 23:30:00" } }
    .encoded(Pixels.orientationCard(width: 32, height: 24))

  @Test(
    "filenames from clients become safe filenames",
    arguments: [
      ("a.jpg", "a.jpg"), ("../../etc/passwd", "passwd.jpg"), ("/abs/olute.png", "olute.png"), ("..", "upload.jpg"),
      ("C:\\Users\\me\\b.jpg", "b.jpg"), ("", "upload.jpg"), (".hidden", "hidden.jpg"), ("...a..jpg..", "a..jpg"),
      ("a\0b\u{1}\n.jpg", "ab.jpg"), ("\u{202E}gpj.exe.jpg", "gpj.exe.jpg"), ("con.jpg", "_con.jpg"),
      ("NUL", "_NUL.jpg"),
      ("com1.tar.gz", "_com1.tar.gz"), ("a<b>:\"|?*.jpg", "a_b______.jpg"), ("  a .jpg  ", "a .jpg"),
      ("noending", "noending.jpg"), ("a/", "a.jpg"), ("e\u{301}.jpg", "\u{E9}.jpg"),
      ("\u{1F469}\u{200D}.jpg", "\u{1F469}.jpg"), ("\u{6CC}\u{200C}\u{62E}.jpg", "\u{6CC}\u{200C}\u{62E}.jpg"),
      ("a.averyveryverylongending", "a.averyveryverylongending.jpg"), ("%2e%2e%2f.jpg", "%2e%2e%2f.jpg"),
      (".photod-trash", "photod-trash.jpg"), ("-rf.jpg", "-rf.jpg"),
    ])
  func names(_ name: String, _ expected: String) {
    #expect(String(decoding: UploadFilename.file(name, fileExtension: "jpg"), as: UTF8.self) == expected)
  }

  @Test("a long name is truncated between characters, and keeps its extension")
  func longNames() {
    for count in [240, 250, 251, 252, 253, 300, 5000] {
      for character in ["a", "\u{E9}", "\u{20AC}", "\u{1F600}"] {
        let name = UploadFilename.file(String(repeating: character, count: count) + ".jpeg", fileExtension: "jpg")
        #expect(name.count <= 255 && name.suffix(5).elementsEqual(".jpeg".utf8))
        #expect(String(validating: name, as: UTF8.self) != nil)
        for number in [2, 10, 9999] {
          let other = LibraryPath.alternative(number, to: name)
          #expect(other.count <= 255 && other.suffix(5).elementsEqual(".jpeg".utf8) && other != name)
          #expect(String(validating: other, as: UTF8.self) != nil)
        }
      }
    }
  }

  @Test(
    "a path template gives the path of an upload",
    arguments: [
      ("{year}/{month}/{name}", "2021/07/IMG.JPG"), ("{name}", "IMG.JPG"),
      ("{year}-{month}-{day} {stem}.{ext}", "2021-07-04 IMG.jpg"),
      ("in/{camera}/{name}", "in/X_T5/IMG.JPG"), ("{stem}", "IMG.JPG"),
    ])
  func templates(_ text: String, _ path: String) throws {
    let template = try UploadTemplate(text)
    // 18,812 days after 1970-01-01 is 2021-07-04.
    let made = template.path(for: Array("IMG.JPG".utf8), day: 18_812, camera: "X/T5")
    #expect(String(decoding: made, as: UTF8.self) == path)
  }

  @Test(
    "the path has the day at the picture's own offset, or else in the library's time zone",
    arguments: [
      ("UTC", "2024:01:01 00:30:00", "+01:00"), ("Asia/Tokyo", "2024:01:01 23:30:00", "-08:00"),
      ("Europe/Vienna", "2024:01:01 00:30:00", nil),
    ] as [(String, String, String?)])
  func days(_ zone: String, _ date: String, _ offset: String?) throws {
    let library = try TemporaryLibrary()
    let template = try UploadTemplate("{year}/{month}/{day}/{name}")
    let files = try library.files(try library.catalogue(), timeZone: zone) {
      $0.template = template
    }
    let block = EXIFBlock { ($0.dateTimeOriginal, $0.offsetTimeOriginal) = (date, offset) }
    let bytes = JPEGFile { $0.exif = block }.encoded(Pixels.orientationCard(width: 32, height: 24))
    #expect(try files.upload(bytes, "a.jpg").asset.original.displayPath == "2024/01/01/a.jpg")
  }

  @Test(
    "invalid path templates are refused",
    arguments: [
      "", "/{name}", "{year}/", "{year}//{name}", "../{name}", "{year}/..", "{nam}", "{name", "name}", ".x/{name}",
      "{year}", "a\\{name}",
      "a\n{name}",
    ])
  func badTemplates(_ text: String) {
    #expect(throws: UploadTemplate.MalformedTemplate.self) { try UploadTemplate(text) }
  }

  @Test("an upload becomes an asset in the folder of its date, and a scan finds nothing new")
  func place() throws {
    let library = try TemporaryLibrary()
    let catalogue = try library.catalogue()
    let files = try library.files(catalogue)
    let upload = try files.upload(Self.dated, "../IMG_1.JPG")
    #expect(upload.isNew && upload.asset.original.displayPath == "2021/07/IMG_1.JPG")
    #expect(library.allFiles == ["2021/07/IMG_1.JPG"])
    #expect(try catalogue.everything()["2021/07/IMG_1.JPG"]?.localIdentifier == upload.asset.localIdentifier)
    let progress = try library.scan(catalogue)
    #expect(progress.probed == 1, "the first scan reads everything")
    #expect(try catalogue.everything().values.map(\.localIdentifier) == [upload.asset.localIdentifier])
    #expect(try library.scan(catalogue).probed == 0)
    let again = try files.upload(smallPNG, "IMG_1.JPG")
    #expect(again.isNew && again.asset.uniformTypeIdentifier == "public.png")
    let third = try files.upload(Self.dated + [0], "IMG_1.JPG")
    #expect(third.asset.original.displayPath == "2021/07/IMG_1-2.JPG")
  }

  @Test("the number of a name is found by as many statements however many files have the name, and a lost file's too")
  func sameName() throws {
    let library = try TemporaryLibrary()
    let lookups = Atomic<Int>(0)
    let catalogue = try Catalogue(
      dataFolder: library.data,
      traced: { sql in if sql.contains("WHERE path = ") { lookups.add(1, ordering: .relaxed) } })
    let files = try library.files(catalogue)
    var counts: [Int] = []
    for number in 1...40 {
      lookups.store(0, ordering: .relaxed)
      let asset = try files.upload(Self.dated + [UInt8(number)], "a.jpg").asset
      #expect(asset.original.displayPath == (number == 1 ? "2021/07/a.jpg" : "2021/07/a-\(number).jpg"))
      counts.append(lookups.load(ordering: .relaxed))
    }
    #expect(counts[39] == counts[11], "\(counts)")
    try FileManager.default.removeItem(atPath: library.root + "/2021/07/a-25.jpg")
    let returned = try files.upload(Self.dated + [25], "a.jpg").asset
    #expect(returned.original.displayPath == "2021/07/a-25.jpg")
    // The catalogue does not know of this file.
    try library.put(smallPNG, "2021/07/a-41.jpg")
    let next = try files.upload(Self.dated + [41], "a.jpg").asset
    #expect(next.original.displayPath == "2021/07/a-42.jpg")
  }

  @Test("a folder that is a link out of the library is named, and nothing is stored through it")
  func linkedFolder() throws {
    let (library, outside) = (try TemporaryLibrary(), try TemporaryLibrary())
    let files = try library.files(try library.catalogue())
    let kept = try files.upload(smallPNG, "kept.png").asset.localIdentifier
    for folder in ["2021", ".photod-staged", ".photod-trash"] {
      #expect(symlink(outside.root, library.root + "/" + folder) == 0)
    }
    #expect(throws: LibraryFilesError.linkedFolder(Array("2021".utf8))) { try files.upload(Self.dated, "a.jpg") }
    #expect(throws: LibraryFilesError.linkedFolder(Array(".photod-staged".utf8))) {
      try files.stage(named: nil, length: nil, for: .local)
    }
    #expect(throws: FileChangeFailure(index: 0, reason: .linkedFolder(Array(".photod-trash".utf8)))) {
      try files.perform([.delete(kept)])
    }
    #expect(outside.allFiles.isEmpty)
  }

  @Test("identical content returns the existing asset if the sender may see it; equal fingerprints are not enough")
  func duplicates() throws {
    let library = try TemporaryLibrary()
    // Equal first and last bytes, and different bytes between them.
    var large = Array(smallJPEG[..<(smallJPEG.count - 2)]) + [UInt8](repeating: 7, count: 10_000) + [0xFF, 0xD9]
    try library.put(Array(large), "a.jpg")
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let first = try catalogue.everything()["a.jpg"]!.localIdentifier
    let files = try library.files(catalogue)
    let same = try files.upload(Array(large), "b.jpg")
    #expect(!same.isNew && same.asset.localIdentifier == first)
    large[large.startIndex + smallJPEG.count + 5000] = 8
    let other = try files.upload(Array(large), "c.jpg")
    #expect(other.isNew && other.asset.localIdentifier != first)
    let stranger = Principal(name: "s", scopes: [.read, .write], visibility: .collections([LocalIdentifier("none")]))
    let own = try files.upload(Array(large), "d.jpg", for: stranger)
    #expect(own.isNew && own.asset.localIdentifier != other.asset.localIdentifier)
    #expect(library.allFiles.count == 3)
  }

  @Test(
    "an upload that is not a picture leaves no file",
    arguments: [
      [UInt8]("#!/bin/sh".utf8), [], [0xFF, 0xD8, 0xFF], [UInt8](repeating: 0, count: 5000),
    ])
  func refused(_ bytes: [UInt8]) throws {
    let library = try TemporaryLibrary()
    let files = try library.files(try library.catalogue())
    #expect(throws: LibraryFilesError.self) { try files.upload(bytes, "a.jpg") }
    #expect(library.allFiles.isEmpty)
  }

  @Test("an abandoned upload leaves no file, neither does one of an ended process")
  func letGo() throws {
    let library = try TemporaryLibrary()
    let files = try library.files(try library.catalogue())
    var file: IncomingFile? = try files.receive(length: nil)
    try file?.write([1, 2, 3])
    #expect(file?.size == 3)
    file = nil
    #expect(library.allFiles.isEmpty)
    try library.put([1, 2, 3], ".photod-uploads/left")
    try files.recover()
    #expect(library.allFiles.isEmpty)
  }

  @Test("an upload or a deletion that waits too long for another caller changes nothing, and works after that one")
  func busy() throws {
    let library = try TemporaryLibrary()
    let catalogue = try library.catalogue()
    let files = try library.files(catalogue) { $0.lockTimeout = .zero }
    var other = try DataFolderLock.forFiles(of: catalogue.dataFolder)
    #expect(throws: LibraryFilesError.busy) { try files.upload(Self.dated, "a.jpg") }
    #expect(library.allFiles.isEmpty)
    other.unlock()
    let asset = try files.upload(Self.dated, "a.jpg").asset.localIdentifier
    other = try DataFolderLock.forFiles(of: catalogue.dataFolder)
    #expect(throws: FileChangeFailure(index: 0, reason: .busy)) { try files.perform([.delete(asset)]) }
    let stop = StopFlag()
    stop.raise()
    #expect(throws: LibraryFilesError.busy) { try files.purge(stop: stop) }
    #expect(library.allFiles == ["2021/07/a.jpg"])
    other.unlock()
    try files.perform([.delete(asset)])
    #expect(try catalogue.everything().isEmpty)
  }

  @Test(
    "an upload to a full disk fails, keeps the reserve free, and leaves no partial file",
    .enabled(if: TemporaryFileSystem.canMount))
  func full() throws {
    let library = try TemporaryLibrary()
    let disk = try TemporaryFileSystem(at: library.root, bytes: 300 << 10)
    let catalogue = try library.catalogue()
    let files = try library.files(catalogue) { $0.reserveBytes = 0 }
    let large = smallJPEG + [UInt8](repeating: 1, count: 400 << 10)
    #expect(throws: LibraryFilesError.insufficientStorage) { try files.upload(large, "a.jpg") }
    var unannounced: IncomingFile? = try files.receive(length: nil)
    #expect(throws: LibraryFilesError.insufficientStorage) {
      for start in stride(from: 0, to: large.count, by: 65_536) {
        try unannounced?.write(Array(large[start..<min(start + 65_536, large.count)]))
      }
    }
    unannounced = nil
    let careful = try library.files(catalogue) { $0.reserveBytes = 1 << 20 }
    #expect(throws: LibraryFilesError.insufficientStorage) { try careful.upload(smallJPEG, "a.jpg") }
    #expect(library.allFiles.isEmpty)
    #expect(try catalogue.everything().isEmpty)
    try disk.remount(readOnly: true)
    #expect(throws: LibraryFilesError.readOnly) { try files.upload(smallJPEG, "a.jpg") }
  }

  @Test(
    "an upload to another disk is copied completely, and that disk has its own trash",
    .enabled(if: TemporaryFileSystem.canMount))
  func otherDisk() throws {
    let library = try TemporaryLibrary()
    let disk = try TemporaryFileSystem(at: library.root + "/2021", bytes: 1 << 20)
    defer { withExtendedLifetime(disk) {} }
    let catalogue = try library.catalogue()
    let files = try library.files(catalogue)
    let asset = try files.upload(Self.dated, "a.jpg").asset
    #expect(library.allFiles(in: disk.path) == ["07/a.jpg"])
    try files.perform([.delete(asset.localIdentifier)])
    #expect(library.allFiles(in: disk.path).allSatisfy { $0.hasPrefix(".photod-trash/") })
    #expect(library.allFiles(in: disk.path).count == 1 && library.allFiles.isEmpty)
    try files.perform([.restore(asset.localIdentifier)])
    #expect(library.allFiles(in: disk.path) == ["07/a.jpg"])
  }

  /// Makes the assets of the catalogue unreadable after each commit.
  final class ReadFault: TransactionObserver {
    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { true }
    func databaseDidChange(with event: DatabaseEvent) {}
    func databaseDidRollback(_ db: Database) {}
    func databaseDidCommit(_ db: Database) {
      // The observer sees this commit too; then the row is gone.
      if db.changesCount > 0 { try? db.execute(sql: "DELETE FROM libraryAsset") }
    }
  }

  @Test("an upload whose asset can't be read after its commit keeps its file")
  func unreadableAsset() throws {
    let library = try TemporaryLibrary()
    let catalogue = try library.catalogue()
    let files = try library.files(catalogue)
    catalogue.pool.add(transactionObserver: ReadFault(), extent: .databaseLifetime)
    #expect(throws: LibraryFilesError.self) { try files.upload(Self.dated, "a.jpg") }
    #expect(library.allFiles == ["2021/07/a.jpg"])
    #expect(try catalogue.knownFile(at: Array("2021/07/a.jpg".utf8)) != nil)
  }

  @Test("two concurrent uploads of the same content are one asset")
  func atOnce() throws {
    let library = try TemporaryLibrary()
    let catalogue = try library.catalogue()
    let files = try library.files(catalogue)
    let found = Mutex<[(LocalIdentifier, Bool)]>([])
    DispatchQueue.concurrentPerform(iterations: 8) { _ in
      guard let upload = try? files.upload(Self.dated, "a.jpg") else { return }
      found.withLock { $0.append((upload.asset.localIdentifier, upload.isNew)) }
    }
    let all = found.withLock { $0 }
    #expect(all.count == 8 && Set(all.map(\.0)).count == 1 && all.filter(\.1).count == 1)
    #expect(library.allFiles.count == 1)
  }

  @Test("concurrent scans and uploads make one asset of each file")
  func whileScanning() throws {
    let library = try TemporaryLibrary()
    let catalogue = try library.catalogue()
    let files = try library.files(catalogue)
    let stop = Atomic<Bool>(false)
    let scans = DispatchQueue(label: "scans")
    let scanner = try LibraryScanner(
      catalogue: catalogue, directory: library.root, timeZone: "UTC", maximumRemovalPercent: 50, limits: CodecLimits(),
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    scans.async { while !stop.load(ordering: .relaxed) { _ = try? scanner.scan() } }
    var identifiers: Set<LocalIdentifier> = []
    for i in 0..<60 {
      identifiers.insert(try files.upload(Self.dated + [UInt8(i)], "a\(i).jpg").asset.localIdentifier)
      // The highest row number is freed, and would be used again.
      if i % 10 == 9 {
        try files.perform([.delete(try files.upload(smallPNG + [UInt8(i)], "x.png").asset.localIdentifier)])
      }
    }
    stop.store(true, ordering: .relaxed)
    scans.sync {}
    let everything = try catalogue.everything()
    #expect(everything.count == 60 && Set(everything.values.map(\.localIdentifier)) == identifiers)
    try library.scan(catalogue)
    #expect(Set(try catalogue.everything().values.map(\.localIdentifier)) == identifiers)
  }

  @Test("what root uploads and stages belongs to the owner of the folder", .enabled(if: geteuid() == 0))
  func owner() throws {
    let library = try TemporaryLibrary()
    let files = try library.files(try library.catalogue())
    try #require(chown(library.root, 12_345, 12_346) == 0)
    _ = try files.upload(Self.dated, "a.jpg")
    try files.staged(Self.dated + [0])
    let names = try FileManager.default.subpathsOfDirectory(atPath: library.root)
    #expect(Set(["2021", "2021/07", "2021/07/a.jpg", ".photod-staged"]).isSubset(of: names) && names.count == 5)
    for name in names {
      var status = stat()
      let path = library.root + "/" + name
      #expect(lstat(path, &status) == 0 && status.st_uid == 12_345 && status.st_gid == 12_346, "\(name)")
    }
  }

  @Test("no upload is written through a link that leaves the library")
  func link() throws {
    let library = try TemporaryLibrary()
    let outside = try TemporaryLibrary()
    #expect(symlink(outside.root, library.root + "/2021") == 0)
    let files = try library.files(try library.catalogue())
    #expect(throws: LibraryFilesError.self) { try files.upload(Self.dated, "a.jpg") }
    #expect(outside.allFiles.isEmpty)
  }
}
