import Foundation
import GRDB
import PhotoFixtures
import Testing

/// A catalogue that a newer photod wrote: this one refuses it, and writes nothing to it.
@Suite("A catalogue of a newer photod", .blocking)
struct NewerCatalogueTests {
  private static let migration = "INSERT INTO grdb_migrations VALUES ('99: from the future')"

  /// The catalogue's files, byte by byte, except the index of the log (-shm), which every reader writes.
  private func files(_ folders: TestDaemon.Folders, hasLog: Bool) throws -> [String: Data] {
    let names = try FileManager.default.contentsOfDirectory(atPath: folders.data).filter {
      $0.hasPrefix("catalogue") && !(hasLog && $0.hasSuffix("-shm"))
    }
    return Dictionary(
      uniqueKeysWithValues: try names.map { ($0, try Data(contentsOf: URL(filePath: folders.data + "/" + $0))) })
  }

  /// A catalogue as a newer photod leaves it when it ends, or, with a log, when it is killed.
  private func newer(hasLog: Bool) throws -> TestDaemon.Folders {
    let folders = try TestDaemon.Folders()
    let picture = JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 32, height: 24))
    try TestDaemon.Files(root: folders.library).put(picture, "a.jpg")
    let scan = try TestDaemon.run(["scan", "--library", folders.library, "--data", folders.data])
    try #require(scan.status == 0, "\(scan.error)")
    guard hasLog else {
      try folders.catalogue { try $0.execute(sql: Self.migration) }
      return folders
    }
    let path = folders.data + "/catalogue.sqlite"
    let queue = try DatabaseQueue(path: path)
    try queue.write { try $0.execute(sql: Self.migration) }
    var copies: [(path: String, bytes: Data)] = []
    for suffix in ["", "-wal"] { copies.append((path + suffix, try Data(contentsOf: URL(filePath: path + suffix)))) }
    try queue.close()
    for copy in copies { try copy.bytes.write(to: URL(filePath: copy.path)) }
    return folders
  }

  @Test(
    "is refused with its path, and its files are not changed", arguments: ["serve", "scan", "check"], [false, true])
  func untouched(_ command: String, hasLog: Bool) throws {
    let folders = try newer(hasLog: hasLog)
    let before = try files(folders, hasLog: hasLog)
    #expect(Set(before.keys) == (hasLog ? ["catalogue.sqlite", "catalogue.sqlite-wal"] : ["catalogue.sqlite"]))
    let listen = command == "serve" ? ["--listen", "127.0.0.1:0"] : []
    let refused = try TestDaemon.run([command, "--library", folders.library, "--data", folders.data] + listen)
    #expect(refused.status != 0)
    #expect(refused.error.contains("catalogue.sqlite was written by a newer photod"), "\(refused.error)")
    #expect(try files(folders, hasLog: hasLog) == before)
  }
}
