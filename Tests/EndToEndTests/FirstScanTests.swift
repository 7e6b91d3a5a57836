import Foundation
import PhotoFixtures
import Testing

/// The state of the first scan in `/readyz`.
@Suite("The first scan, as /readyz reports it", .blocking)
struct FirstScanTests {
  private static let picture = JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 32, height: 24))

  @Test(
    "a folder copied just before the start is indexed when the first scan is complete, without periodic scans",
    arguments: [true, false])
  func copiedJustBefore(isWatched: Bool) throws {
    let folders = try TestDaemon.Folders()
    let files = TestDaemon.Files(root: folders.library)
    for i in 0..<3 { try files.put(Self.picture + [UInt8(i)], "copied/\(i).jpg") }
    let daemon = try TestDaemon(
      serving: folders, arguments: ["--set", "watch.enabled=\(isWatched)", "--set", "scan.intervalSeconds=0"],
      environment: ["PHOTOD_SCAN_SETTLE_SECONDS": "2"])
    var scan: [String: Any] = [:]
    try daemon.until("the first scan is complete") {
      let ready = try daemon.get("/readyz")
      #expect(ready.status == 200 && ready.json["ready"] as? Bool == true)
      scan = try #require(ready.json["firstScan"] as? [String: Any])
      return scan["complete"] as? Bool == true
    }
    #expect(scan["indexed"] as? Int == 3)
  }
}
