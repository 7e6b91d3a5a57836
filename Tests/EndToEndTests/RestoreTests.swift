import Foundation
import PhotoFixtures
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// A library that was copied to another place, where each file has another inode, and a catalogue that was restored
/// there.
@Suite("Images after a restore, before a scan", .blocking)
struct RestoreTests {
  private static func picture(_ side: Int) -> [UInt8] {
    JPEGFile { _ in }.encoded(Pixels.orientationCard(width: side, height: side))
  }

  /// Keeps every scan of a data folder from beginning, as another process that scans does.
  private final class ScanBlock {
    private let descriptor: Int32

    init(_ data: String) throws {
      descriptor = open(data + "/scan.lock", O_RDWR | O_CREAT, 0o600)
      try #require(flock(descriptor, LOCK_EX | LOCK_NB) == 0)
    }

    func end() { flock(descriptor, LOCK_UN) }

    deinit { close(descriptor) }
  }

  /// What the copy changed about a file.
  enum Way: String, CaseIterable {
    case copied = "copied with its time"
    case copiedInSeconds = "copied with its time in whole seconds"
    case touched = "copied with another time"
    case otherEnd = "another file of the same size and time"
    case otherSize = "another file of the same time"
    case editedInPlace = "the same file with another time"

    var isRecognised: Bool { self == .copied || self == .copiedInSeconds }
  }

  private func arrive(_ path: String, _ way: Way, from other: String) throws {
    var status = stat()
    try #require(stat(other, &status) == 0)
    var bytes = [UInt8](try Data(contentsOf: URL(filePath: other)))
    var time = status.st_mtim
    switch way {
    case .copied: break
    case .copiedInSeconds: time.tv_nsec = 0
    case .touched, .editedInPlace: time.tv_sec += 60
    case .otherEnd: bytes[bytes.count - 1] ^= 1
    case .otherSize: bytes.append(0)
    }
    if way == .editedInPlace {
      // The second name of the one file.
      try #require(link(other, path) == 0)
    } else {
      try Data(bytes).write(to: URL(filePath: path))
    }
    var times = [time, time]
    try #require(utimensat(AT_FDCWD, path, &times, 0) == 0)
  }

  @Test("a file with the same size, time and fingerprint is served; any other is 503 until it is scanned")
  func recognised() throws {
    let (before, after) = (try TestDaemon.Folders(), try TestDaemon.Folders())
    for i in Way.allCases.indices {
      try TestDaemon.Files(root: before.library).put(Self.picture(40 + i) + [0], "\(i).jpg")
    }
    let copy = before.base + "/copy.sqlite"
    let old = ["--library", before.library, "--data", before.data]
    let scan = try TestDaemon.run(["scan"] + old)
    try #require(scan.status == 0, "\(scan.error)")
    let backup = try TestDaemon.run(["backup", copy] + old)
    try #require(backup.status == 0, "\(backup.error)")
    var frames: [[UInt8]] = []
    do {
      let daemon = try TestDaemon(serving: before)
      for i in Way.allCases.indices {
        let identifier = try daemon.identifier("\(i).jpg")
        let image = try daemon.get("/v1/assets/\(identifier)/image?targetSize=20x20")
        #expect(image.status == 200)
        frames.append(image.body)
      }
    }

    for (i, way) in Way.allCases.enumerated() {
      try arrive("\(after.library)/\(i).jpg", way, from: "\(before.library)/\(i).jpg")
    }
    let restore = try TestDaemon.run(["restore", copy, "--library", after.library, "--data", after.data])
    try #require(restore.status == 0, "\(restore.error)")
    #expect(restore.output.hasPrefix("created the data folder \(after.data)\n"), "\(restore.output)")
    let block = try ScanBlock(after.data)
    let daemon = try TestDaemon(serving: after, arguments: ["--set", "scan.intervalSeconds=0"])
    let scanBefore = try #require(try daemon.get("/readyz").json["firstScan"] as? [String: Any])
    #expect(scanBefore["complete"] as? Bool == false && scanBefore["indexed"] as? Int == frames.count)
    for (i, way) in Way.allCases.enumerated() {
      let identifier = try daemon.identifier("\(i).jpg")
      let image = try daemon.get("/v1/assets/\(identifier)/image?targetSize=20x20")
      #expect(image.status == (way.isRecognised ? 200 : 503), "\(way.rawValue)")
      let metadata = try daemon.get("/v1/assets/\(identifier)/metadata")
      #expect(metadata.status == (way.isRecognised ? 200 : 503), "\(way.rawValue)")
      if way.isRecognised {
        #expect(image.body == frames[i], "\(way.rawValue)")
      } else {
        #expect(image.json["type"] as? String == "/problems/original-changed", "\(way.rawValue)")
      }
    }

    block.end()
    try daemon.requestScan()
    try daemon.until("the first scan is complete") {
      let scan = try #require(try daemon.get("/readyz").json["firstScan"] as? [String: Any])
      return scan["complete"] as? Bool == true
    }
    for (i, way) in Way.allCases.enumerated() {
      let identifier = try daemon.identifier("\(i).jpg")
      let image = try daemon.get("/v1/assets/\(identifier)/image?targetSize=20x20")
      #expect(image.status == 200, "\(way.rawValue)")
    }
  }
}
