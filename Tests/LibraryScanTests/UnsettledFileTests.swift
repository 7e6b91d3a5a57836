import Foundation
import LibraryCatalogue
import LibraryFixtures
import PhotoFixtures
import PhotoModel
import Synchronization
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// Long enough that a file written by the test is still fresh, even on a slow machine.
private let settleTime = Duration.seconds(3600)

@Suite("Files that are still being written")
struct UnsettledFileTests {
  private func append(_ bytes: [UInt8], to path: String) {
    let descriptor = open(path, O_WRONLY | O_APPEND)
    #expect(write(descriptor, bytes, bytes.count) == bytes.count)
    close(descriptor)
  }

  @Test("a fresh file is indexed at the end of the scan, once it has settled")
  func taken() throws {
    let library = try TemporaryLibrary()
    try library.put(smallJPEG, "a.jpg")
    try library.put(smallPNG, "b/b.png")
    let catalogue = try library.catalogue()
    let clock = ManualClock()
    let progress = try library.scan(catalogue, settleTime: settleTime, environment: clock.environment())
    #expect(progress.files == 2 && progress.probed == 2 && progress.unsettled == 0)
    #expect(try catalogue.everything().count == 2)
    // Once for both files, until the later one has settled.
    #expect(clock.waited.count == 1)
    #expect(clock.waited.allSatisfy { $0 > 3_540_000_000_000 && $0 < 3_660_000_000_000 })
    // They are known, so the scan does not wait for them.
    #expect(chmod(library.root + "/a.jpg", 0o400) == 0)
    #expect(try library.scan(catalogue, settleTime: settleTime, environment: clock.environment()).probed == 0)
    #expect(clock.waited.count == 1)
  }

  @Test("files with old or future dates do not wait, and no file does with a settle time of 0")
  func old() throws {
    let library = try TemporaryLibrary()
    try library.put(smallJPEG, "a.jpg")
    let clock = ManualClock()
    try library.scan(library.catalogue(), environment: clock.environment())
    clock.advance(.seconds(4000))
    for (name, seconds) in [("b.jpg", 1_000_000_000), ("c.jpg", 4_000_000_000), ("d.jpg", 13_569_465_600)] {
      try library.put(smallJPEG, name)
      var times = [timespec(tv_sec: seconds, tv_nsec: 0), timespec(tv_sec: seconds, tv_nsec: 0)]
      #expect(utimensat(AT_FDCWD, library.root + "/" + name, &times, 0) == 0)
    }
    #expect(try library.scan(library.catalogue(), settleTime: settleTime, environment: clock.environment()).probed == 3)
    #expect(clock.waited.isEmpty)
  }

  @Test("a file that changes during the wait is left to the next scan")
  func growing() throws {
    let library = try TemporaryLibrary()
    let catalogue = try library.catalogue()
    let half = smallJPEG.count / 2
    try library.put(smallPNG, "known.jpg")
    try library.scan(catalogue)
    let before = try #require(try catalogue.everything()["known.jpg"])
    for name in ["new.jpg", "known.jpg"] { try library.put(Array(smallJPEG[..<half]), name) }
    let clock = ManualClock()
    let root = library.root
    let progress = try library.scan(
      catalogue, settleTime: settleTime,
      environment: clock.environment { _ in
        for name in ["new.jpg", "known.jpg"] { append(Array(smallJPEG[half...]), to: root + "/" + name) }
      })
    #expect(progress.unsettled == 2 && progress.probed == 0 && progress.removed == 0)
    #expect(try catalogue.everything() == ["known.jpg": before])
    clock.advance(settleTime)
    let next = try library.scan(catalogue, settleTime: settleTime, environment: clock.environment())
    #expect(next.unsettled == 0 && next.probed == 2 && next.unreadable == 0)
    let after = try catalogue.everything()
    #expect(after.count == 2 && after["known.jpg"]?.localIdentifier == before.localIdentifier)
    #expect(after["known.jpg"]?.pixelSize == PixelSize(width: 32, height: 24))
  }

  @Test("a file that is written in place and gets its old date back is recognised by its change time")
  func datedBack() throws {
    let library = try TemporaryLibrary()
    try library.put(smallJPEG, "a.jpg")
    let path = library.root + "/a.jpg"
    let progress = try library.scan(
      library.catalogue(), settleTime: settleTime,
      environment: ManualClock().environment { _ in
        var status = stat()
        stat(path, &status)
        let descriptor = open(path, O_WRONLY)
        // A file system's clock advances in milliseconds; before that, the times are equal.
        repeat {
          write(descriptor, smallPNG, 8)
          var now = stat()
          fstat(descriptor, &now)
          if now.st_ctim.tv_nsec != status.st_ctim.tv_nsec { break }
        } while true
        var times = [status.st_atim, status.st_mtim]
        futimens(descriptor, &times)
        close(descriptor)
      })
    #expect(progress.unsettled == 1 && progress.probed == 0)
  }

  @Test("a renamed file is fresh by its change time, and keeps its asset")
  func renamed() throws {
    let library = try TemporaryLibrary()
    try library.put(smallJPEG, "a.jpg")
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let before = try #require(try catalogue.everything()["a.jpg"])
    #expect(rename(library.root + "/a.jpg", library.root + "/z.jpg") == 0)
    let progress = try library.scan(catalogue, settleTime: settleTime, environment: ManualClock().environment())
    #expect(progress.moved == 1 && progress.removed == 0)
    #expect(try catalogue.everything()["z.jpg"]?.localIdentifier == before.localIdentifier)
  }

  @Test("while a new file is being written, a missing file that it may be a copy of is kept")
  func onItsWay() throws {
    let library = try TemporaryLibrary()
    let large = JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 200, height: 160))
    try library.put(large, "large.jpg")
    try library.put(Array("a note".utf8), "small.txt")
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let before = try #require(try catalogue.everything()["large.jpg"])
    unlink(library.root + "/large.jpg")
    unlink(library.root + "/small.txt")
    try library.put(Array(large[..<(large.count / 2)]), "copy.jpg")
    let root = library.root
    let progress = try library.scan(
      catalogue, settleTime: settleTime,
      environment: ManualClock().environment { _ in
        append(Array(large[(large.count / 2)...]), to: root + "/copy.jpg")
      })
    #expect(progress.unsettled == 1 && progress.kept == 1 && progress.removed == 1)
    #expect(try catalogue.everything() == ["large.jpg": before])
  }

  @Test("a scan that is stopped while it waits removes nothing")
  func stopped() throws {
    let library = try TemporaryLibrary()
    try library.put(smallJPEG, "a.jpg")
    try library.put(smallJPEG, "gone.jpg")
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    unlink(library.root + "/gone.jpg")
    try library.put(smallPNG, "b.png")
    let progress = try library.scan(
      catalogue, settleTime: settleTime, environment: ManualClock().environment { $0.raise() })
    #expect(progress.probed == 0 && progress.removed == 0)
    #expect(Set(try catalogue.everything().keys) == ["a.jpg", "gone.jpg"])
  }
}
