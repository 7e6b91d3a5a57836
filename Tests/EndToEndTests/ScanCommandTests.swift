import Foundation
import PhotoFixtures
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// What `photod scan` refuses, and why.
@Suite("The scan command", .blocking)
struct ScanCommandTests {
  private static let picture = JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 32, height: 24))

  private static func arguments(_ folders: TestDaemon.Folders) -> [String] {
    ["scan", "--library", folders.library, "--data", folders.data]
  }

  /// Scans as a user who may not read everything, as root may.
  private static func scanAsUser(_ folders: TestDaemon.Folders) throws -> (status: Int32, error: String) {
    let withoutRights = "exec setpriv --bounding-set=-dac_override,-dac_read_search \"$@\""
    return try TestDaemon.run(arguments(folders), inShell: geteuid() == 0 ? withoutRights : "exec \"$@\"")
  }

  @Test("while a daemon serves the library, a scan with another time zone is refused, and afterwards it is not")
  func otherTimeZone() throws {
    let folders = try TestDaemon.Folders()
    try TestDaemon.Files(root: folders.library).put(Self.picture, "a.jpg")
    let arguments = Self.arguments(folders)
    #expect(try TestDaemon.run(arguments).status == 0)
    let vienna = arguments + ["--set", "timeZone=Europe/Vienna"]
    do {
      let daemon = try TestDaemon(serving: folders)
      let other = try TestDaemon.run(vienna)
      #expect(other.status != 0 && other.error.contains("--set timeZone=UTC)"), "\(other)")
      // The daemon's own scan may be running.
      try daemon.until("a scan with the daemon's zone is accepted") { try TestDaemon.run(arguments).status == 0 }
    }
    let later = try TestDaemon.run(vienna)
    #expect(later.status == 0, "\(later)")
  }

  @Test(
    "a library whose folder may not be read or entered is reported as that, before and after its first scan",
    arguments: [0o000, 0o600] as [mode_t], [true, false])
  func unreadableLibrary(_ mode: mode_t, _ wasScanned: Bool) throws {
    let folders = try TestDaemon.Folders()
    try TestDaemon.Files(root: folders.library).put(Self.picture, "a.jpg")
    if wasScanned { #expect(try TestDaemon.run(Self.arguments(folders)).status == 0) }
    #expect(chmod(folders.library, mode) == 0)
    defer { chmod(folders.library, 0o755) }
    let scan = try Self.scanAsUser(folders)
    #expect(scan.status != 0 && scan.error.contains("can't be read (Permission denied)"), "\(scan)")
    #expect(!scan.error.contains("mounted"), "\(scan)")
  }

  @Test(
    "a disk below the library whose folder may not be read is reported as that, and its assets are kept",
    .enabled(if: TemporaryFileSystem.canMount))
  func unreadableDisk() throws {
    let folders = try TestDaemon.Folders()
    let disk = try TemporaryFileSystem(at: folders.library + "/disk", bytes: 1 << 20)
    defer { disk.unmount() }
    let files = TestDaemon.Files(root: folders.library)
    try files.put(Self.picture, "a.jpg")
    try files.put(Self.picture + [1], "disk/b.jpg")
    #expect(try TestDaemon.run(Self.arguments(folders)).status == 0)
    #expect(chmod(disk.path, 0o000) == 0)
    let scan = try Self.scanAsUser(folders)
    #expect(scan.status == 0 && scan.error.contains("1 missing but kept"), "\(scan)")
    #expect(scan.error.contains("disk can't be read") && scan.error.contains("Permission denied"), "\(scan)")
    #expect(!scan.error.contains("disk not mounted"), "\(scan)")
  }
}
