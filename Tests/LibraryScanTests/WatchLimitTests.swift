import Foundation
import LibraryFixtures
import LibraryFolder
import LibraryScan
import PhotoFixtures
import PhotoModel
import Synchronization
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// Which files a watcher scans at once, which it waits for, and which it leaves to full scans.
@Suite("Watching within limits")
struct WatchLimitTests {
  @Test("a file is indexed as soon as it has no writer, however fresh it is")
  func writers() throws {
    let watched = try WatchedLibrary(settleTime: .seconds(3600))
    let writer = open(watched.at("a.jpg"), O_CREAT | O_WRONLY, 0o600)
    let bytes = picture(1)
    #expect(write(writer, bytes, 300) == 300)
    watched.settle(for: .seconds(60))
    #expect(try watched.identifiers().isEmpty)
    // A second writer opens and closes the file while the first one still writes.
    watched.write([0], "a.jpg", 0)
    watched.settle(for: .seconds(60))
    #expect(try watched.identifiers().isEmpty)
    _ = bytes.withUnsafeBytes { pwrite(writer, $0.baseAddress!, $0.count, 0) }
    close(writer)
    #expect(watched.settle(for: .seconds(1)).map(\.probed) == [1])
    #expect(try watched.catalogue.everything()["a.jpg"]?.pixelSize == PixelSize(width: 32, height: 24))
    try watched.put(picture(2), "b.jpg")
    #expect(watched.settle(for: .milliseconds(100)).map(\.probed) == [1])
    // A new hard link is never opened, so no close event follows.
    #expect(link(watched.at("b.jpg"), watched.at("c.jpg")) == 0)
    watched.settle(for: .milliseconds(100))
    #expect(try watched.identifiers().count == 3)
  }

  @Test("a moved file keeps its asset although its event is dropped with others, for a full scan")
  func droppedArrival() throws {
    let library = try TemporaryLibrary()
    let (root, outside) = (library.root, library.data)
    let isArmed = Atomic(false)
    var environment = LibraryEnvironment.system
    environment.now = {
      // The scan of the free path begins.
      if isArmed.exchange(false, ordering: .relaxed) {
        _ = rename(outside + "/x.jpg", root + "/z.jpg")
        for number in 1...4 { try? Data(picture(number)).write(to: URL(filePath: root + "/\(number).jpg")) }
      }
      return LibraryEnvironment.system.now()
    }
    var options = LibraryWatcher.Options()
    options.paths = 2
    let watched = try WatchedLibrary(options, removal: 100, environment: environment, in: library) {
      try $0.put(picture(0), "a.jpg")
      try $0.put(picture(9), "keep.jpg")
    }
    let before = try #require(try watched.identifiers()["a.jpg"])
    watched.move("a.jpg", outside + "/x.jpg")
    isArmed.store(true, ordering: .relaxed)
    watched.settle()
    #expect(try watched.identifiers()["z.jpg"] == before)
    #expect(watched.rescans > 0)
    try watched.expectNothingLeft()
  }

  @Test("files that are deleted while events are dropped for a full scan are removed by that scan")
  func droppedDeletions() throws {
    var options = LibraryWatcher.Options()
    options.paths = 2
    let watched = try WatchedLibrary(options, removal: 100) { library in
      for number in 0..<8 { try library.put(picture(number), "\(number).jpg") }
    }
    for number in 1..<8 { #expect(unlink(watched.at("\(number).jpg")) == 0) }
    watched.settle()
    #expect(try watched.identifiers().keys.sorted() == ["0.jpg"])
    #expect(watched.rescans == 1)
    try watched.expectNothingLeft()
  }

  @Test("a file with a writable mapping is not indexed yet")
  func mapping() throws {
    let watched = try WatchedLibrary()
    let bytes = picture(1)
    let descriptor = open(watched.at("a.jpg"), O_CREAT | O_RDWR, 0o600)
    ftruncate(descriptor, bytes.count)
    let page = try #require(mmap(nil, bytes.count, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0))
    close(descriptor)
    watched.settle()
    #expect(try watched.identifiers().isEmpty)
    page.copyMemory(from: bytes, byteCount: bytes.count)
    munmap(page, bytes.count)
    watched.settle(for: .seconds(1))
    #expect(try watched.identifiers().count == 1)
  }

  @Test(
    "a file appended to ten times a second is scanned every two seconds, and completely at the end")
  func backOff() throws {
    let watched = try WatchedLibrary()
    try watched.put(picture(1), "a.jpg")
    var scans = watched.settle(for: .milliseconds(100)).count
    #expect(scans == 1)
    for _ in 0..<600 {
      watched.write([1], "a.jpg", O_APPEND)
      scans += watched.settle(for: .milliseconds(100)).count
    }
    #expect(scans > 20 && scans < 45, "\(scans)")
    // Another file is not delayed by that.
    try watched.put(picture(2), "b.jpg")
    watched.settle(for: .milliseconds(100))
    #expect(try watched.identifiers().count == 2)
    watched.settle(for: .seconds(2))
    try watched.expectNothingLeft()
  }

  @Test("continuing events delay a scan by five times the debounce time at most, and cause one scan")
  func gathering() throws {
    let watched = try WatchedLibrary()
    var scans: [ScanProgress] = []
    for i in 0..<50 {
      try watched.put(picture(i), "\(i).jpg")
      scans += watched.settle(for: .milliseconds(50))
    }
    scans += watched.settle()
    // A process that another test starts holds the open file for a moment, which looks like a writer: the file needs one
    // more scan.
    let held = scans.map(\.unsettled).reduce(0, +)
    #expect(scans.count >= 5 && scans.count <= 5 + held, "\(scans.map(\.probed)), \(held) files held")
    #expect(scans.map(\.probed).reduce(0, +) == 50)
  }

  @Test(
    "a RAW file and its picture, and the parts of a live photo, become one asset in either order",
    arguments: [true, false])
  func pairs(_ isTogether: Bool) throws {
    let date = "2024:05:06 07:08:09"
    let exif = EXIFBlock {
      $0.make = "Maker"
      $0.dateTimeOriginal = date
      $0.offsetTimeOriginal = "+00:00"
    }
    let jpeg = JPEGFile { $0.exif = exif }.encoded(Pixels.orientationCard(width: 32, height: 24))
    let raw = TIFFPicture.nef(
      TIFFPicture.Details {
        $0.make = "NIKON CORPORATION"
        $0.dateTimeOriginal = date
        $0.offsetTimeOriginal = "+00:00"
      }
    ).bytes
    let video = MovieFile {
      $0.created = 3_797_824_089
      $0.duration = 1800
    }.bytes
    let watched = try WatchedLibrary()
    let names = [
      ("1.JPG", jpeg), ("1.NEF", raw), ("2.NEF", raw), ("2.JPG", jpeg), ("3.JPG", jpeg), ("3.MOV", video),
      ("4.MOV", video), ("4.JPG", jpeg),
    ]
    for (name, bytes) in names {
      try watched.put(bytes, name)
      if !isTogether { watched.settle() }
    }
    watched.settle()
    #expect(Set(try watched.identifiers().keys) == ["1.JPG", "2.JPG", "3.JPG", "4.JPG"])
    // The picture is deleted; the other file becomes the primary file.
    unlink(watched.at("1.JPG"))
    watched.settle()
    #expect(Set(try watched.identifiers().keys) == ["1.NEF", "2.JPG", "3.JPG", "4.JPG"])
    try watched.expectNothingLeft()
  }

  @Test("lost events and too many paths cause a full scan, and deleted folders are no longer watched")
  func overflow() throws {
    var options = LibraryWatcher.Options()
    options.paths = 50
    let watched = try WatchedLibrary(options, removal: 100) { try $0.put(picture(0), "f/a.jpg") }
    #expect(watched.watcher.statistics.folders == 2)
    for i in 0..<200 { try watched.put(picture(i), "f/\(i).jpg") }
    watched.settle()
    #expect(watched.rescans >= 1 && watched.watcher.statistics.overflows == 0)
    try watched.expectNothingLeft()
    let before = watched.rescans
    // A change without an event, because the queue overflowed.
    try watched.put(picture(5), "g/h/b.jpg")
    watched.move("f", "i")
    watched.watcher.handle([FolderEvent(watch: -1, kinds: .overflow)])
    watched.settle()
    #expect(watched.rescans == before + 1 && watched.watcher.statistics.overflows == 1)
    #expect(watched.watcher.statistics.folders == 4)
    try watched.expectNothingLeft()
  }

  @Test("folders beyond watch.maximumFolders are not watched, and files renamed into them are not lost")
  func folders() throws {
    var options = LibraryWatcher.Options()
    options.folders = 3
    let watched = try WatchedLibrary(options, removal: 100) { library in
      for (i, name) in ["a/1.jpg", "b/2.jpg", "c/3.jpg", "d/e/4.jpg"].enumerated() {
        try library.put(picture(i), name)
      }
    }
    #expect(watched.watcher.statistics.folders == 3 && watched.watcher.statistics.unwatchedFolders == 3)
    let before = try watched.identifiers()
    try watched.put(picture(9), "d/e/new.jpg")
    try watched.put(picture(10), "b/new.jpg")
    watched.settle()
    #expect(try Set(watched.identifiers().keys) == Set(before.keys).union(["b/new.jpg"]) && watched.rescans == 0)
    watched.move("a/1.jpg", "d/e/1.jpg")
    watched.settle()
    #expect(watched.rescans == 1)
    let after = try watched.identifiers()
    #expect(after["d/e/1.jpg"] == before["a/1.jpg"] && after["d/e/new.jpg"] != nil)
    // After one folder is deleted, another can be watched.
    try FileManager.default.removeItem(atPath: watched.at("a"))
    watched.settle()
    #expect(watched.watcher.statistics.folders == 2)
  }

  @Test("renaming the root removes nothing; a new folder in its place is scanned and watched")
  func rootReplaced() throws {
    let watched = try WatchedLibrary { library in
      for i in 0..<30 { try library.put(picture(i), "f/\(i).jpg") }
    }
    let before = try watched.identifiers()
    #expect(rename(watched.root, watched.root + "-away") == 0)
    watched.settle(for: .seconds(5))
    #expect(watched.rescans == 1 && watched.watcher.statistics.folders == 0)
    #expect(try watched.identifiers() == before)
    #expect(rename(watched.root + "-away", watched.root) == 0)
    watched.watcher.handle([FolderEvent(watch: -1, kinds: .overflow)])
    watched.settle()
    #expect(try watched.identifiers() == before && watched.watcher.statistics.folders == 2)
    try watched.put(picture(77), "f/new.jpg")
    watched.settle()
    #expect(try watched.identifiers().count == 31)
  }

  @Test("scans of changed paths have the same removal limit as full scans, at once or in small steps")
  func removals() throws {
    let watched = try WatchedLibrary { library in
      for i in 0..<100 { try library.put(picture(i), "\(i % 10)/\(i).jpg") }
    }
    for folder in 0..<10 {
      try FileManager.default.removeItem(atPath: watched.at("\(folder)"))
      watched.settle()
    }
    // Half of the files were removed, and no more.
    #expect(try watched.identifiers().count == 50)
    // All files at once, so that the root is empty.
    let other = try WatchedLibrary(removal: 100) { library in
      for i in 0..<30 { try library.put(picture(i), "f/\(i).jpg") }
    }
    try FileManager.default.removeItem(atPath: other.at("f"))
    other.settle()
    #expect(try other.identifiers().count == 30, "an empty root is no library whose files were all deleted")
  }

  @Test("unmounting a watched disk removes nothing", .enabled(if: TemporaryFileSystem.canMount))
  func unmounted() throws {
    let library = try TemporaryLibrary()
    let disk = try TemporaryFileSystem(at: library.root + "/disk", bytes: 1 << 20)
    let watched = try WatchedLibrary(in: library) { library in
      try library.put(picture(0), "here.jpg")
      for i in 0..<10 { try library.put(picture(i), "disk/\(i).jpg") }
    }
    let before = try watched.identifiers()
    #expect(before.count == 11)
    disk.unmount()
    try watched.put(picture(50), "new.jpg")
    watched.settle()
    #expect(watched.rescans >= 1)
    #expect(try watched.identifiers().filter { $0.key != "new.jpg" } == before)
    #expect(try watched.identifiers().count == 12)
  }

  @Test("a file that is moved during a full scan to a folder already scanned keeps its asset")
  func arrivesMeanwhile() throws {
    // The walk has passed "a" when the file is moved there from "z".
    let moved = Moved()
    var environment = LibraryEnvironment.system
    environment.device = { path, folder in
      if path == Array("m".utf8) { moved.happen() }
      return folder.device
    }
    let watched = try WatchedLibrary(removal: 100, environment: environment) { library in
      for (i, name) in ["a/0.jpg", "m/1.jpg", "z/2.jpg", "z/3.jpg"].enumerated() { try library.put(picture(i), name) }
    }
    let before = try watched.identifiers()
    moved.action = { [root = watched.root] in _ = rename(root + "/z/3.jpg", root + "/a/3.jpg") }
    watched.watcher.handle([FolderEvent(watch: -1, kinds: .overflow)])
    watched.settle()
    #expect(try watched.identifiers()["a/3.jpg"] == before["z/3.jpg"])
  }

  /// An action that runs once during a scan.
  ///
  /// `@unchecked Sendable` because it is set before the scan, and used by that scan only.
  private final class Moved: @unchecked Sendable {
    var action: (() -> Void)?

    func happen() {
      action?()
      action = nil
    }
  }
}
