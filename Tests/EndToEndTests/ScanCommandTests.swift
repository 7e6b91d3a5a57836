import Foundation
import PhotoFixtures
import Testing

/// What `photod scan` refuses, and why.
@Suite("The scan command", .blocking)
struct ScanCommandTests {
  private static let picture = JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 32, height: 24))

  private static func arguments(_ folders: TestDaemon.Folders) -> [String] {
    ["scan", "--library", folders.library, "--data", folders.data]
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
      #expect(other.status != 0 && other.error.contains("--set timeZone="), "\(other)")
      // The daemon's own scan may be running.
      try daemon.until("a scan with the daemon's zone is accepted") { try TestDaemon.run(arguments).status == 0 }
    }
    let later = try TestDaemon.run(vienna)
    #expect(later.status == 0, "\(later)")
  }
}
