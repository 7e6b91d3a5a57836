import LibraryCatalogue
import LibraryFixtures
import LibraryFolder
import LibraryScan
import PhotoModel
import Synchronization
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// Long enough that a file written by the test is still fresh, even on a slow machine.
private let settleTime = Duration.seconds(3600)

/// When the first scan is complete: once each file that was held back, because it may still be written, was rechecked.
@Suite("The first scan")
struct FirstScanTests {
  private func expect(
    _ catalogue: Catalogue, complete isComplete: Bool, indexed: Int, _ comment: String = "",
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    #expect(
      try catalogue.scanState(for: .local) == ScanState(isFirstScanComplete: isComplete, indexedCount: indexed),
      "\(comment)", sourceLocation: sourceLocation)
  }

  @Test("in a watched library, the first scan is complete once a fresh file has been rechecked")
  func watched() throws {
    let watched = try WatchedLibrary(settleTime: settleTime) { try $0.put(picture(1), "a.jpg") }
    try expect(watched.catalogue, complete: false, indexed: 0)
    watched.settle(for: .seconds(60))
    try expect(watched.catalogue, complete: false, indexed: 0)
    watched.settle()
    try expect(watched.catalogue, complete: true, indexed: 1)
  }

  @Test("in a watched library without fresh files, the first scan is complete at once")
  func nothingFresh() throws {
    let watched = try WatchedLibrary { try $0.put(picture(1), "a.jpg") }
    try expect(watched.catalogue, complete: true, indexed: 1)
  }

  @Test("in a watched library, a file that is written for hours does not keep the first scan incomplete")
  func writtenForHours() throws {
    var writer: Int32 = -1
    let watched = try WatchedLibrary(settleTime: settleTime) { library in
      try library.put(picture(1), "a.jpg")
      try library.put(picture(2), "b.jpg")
      writer = open(library.root + "/a.jpg", O_WRONLY)
    }
    try #require(writer >= 0)
    try expect(watched.catalogue, complete: false, indexed: 0)
    watched.settle()
    try expect(watched.catalogue, complete: true, indexed: 1)
    close(writer)
    watched.settle()
    try expect(watched.catalogue, complete: true, indexed: 2)
  }

  @Test("in a watched library, a full scan before a file has settled does not count as its recheck")
  func scannedAgainTooEarly() throws {
    let watched = try WatchedLibrary(settleTime: settleTime) { try $0.put(picture(1), "a.jpg") }
    watched.watcher.handle([FolderEvent(watch: -1, kinds: .overflow)])
    watched.settle(for: .seconds(60))
    #expect(watched.rescans == 1)
    try expect(watched.catalogue, complete: false, indexed: 0)
    watched.settle()
    try expect(watched.catalogue, complete: true, indexed: 1)
  }

  @Test("in a watched library, the first scan waits for fresh files beyond the limit of remembered files")
  func beyondTheLimitWatched() throws {
    // In addition to the watcher's clock, which moves by itself.
    let passed = Passed()
    var environment = LibraryEnvironment.system
    environment.now = { LibraryEnvironment.system.now() + passed.nanoseconds.load(ordering: .relaxed) }
    let watched = try WatchedLibrary(settleTime: settleTime, deferralLimit: 2, environment: environment) { library in
      for i in 0..<5 { try library.put(picture(i), "\(i).jpg") }
    }
    try expect(watched.catalogue, complete: false, indexed: 0)
    watched.settle(for: .seconds(60))
    try expect(watched.catalogue, complete: false, indexed: 0)
    passed.nanoseconds.store(Int64(settleTime / .nanoseconds(1)), ordering: .relaxed)
    watched.settle()
    try expect(watched.catalogue, complete: true, indexed: 5)
  }

  private final class Passed: Sendable { let nanoseconds = Atomic<Int64>(0) }

  @Test("without a watch, a second walk indexes fresh files beyond the limit of remembered files")
  func beyondTheLimit() throws {
    let library = try TemporaryLibrary()
    for i in 0..<5 { try library.put(picture(i), "\(i).jpg") }
    let catalogue = try library.catalogue()
    let clock = ManualClock()
    let progress = try library.scan(
      catalogue, settleTime: settleTime, deferralLimit: 2, environment: clock.environment())
    #expect(progress.files == 5 && progress.probed == 5 && progress.unsettled == 0)
    #expect(clock.waited.count == 1)
    try expect(catalogue, complete: true, indexed: 5)
  }

  @Test("without a watch, a file that changes while the scan waits is left to the next scan")
  func grows() throws {
    let library = try TemporaryLibrary()
    try library.put(picture(1), "a.jpg")
    let catalogue = try library.catalogue()
    let path = library.root + "/a.jpg"
    let before = Mutex<Bool?>(nil)
    let progress = try library.scan(
      catalogue, settleTime: settleTime,
      environment: ManualClock().environment { _ in
        before.withLock { $0 = try? catalogue.scanState(for: .local).isFirstScanComplete }
        let descriptor = open(path, O_WRONLY | O_APPEND)
        write(descriptor, [1, 2, 3], 3)
        close(descriptor)
      })
    let wasComplete = before.withLock { $0 }
    #expect(progress.unsettled == 1 && wasComplete == false)
    try expect(catalogue, complete: true, indexed: 0)
  }

  @Test(
    "a first scan that is stopped is continued by the next one, unless that one reads files in another way",
    arguments: ["UTC", "Asia/Tokyo"])
  func stopped(_ timeZone: String) throws {
    let library = try TemporaryLibrary()
    for (number, name) in ["a.jpg", "b.jpg", "z/c.jpg"].enumerated() { try library.put(picture(number), name) }
    let catalogue = try library.catalogue()
    let stop = StopFlag()
    var environment = LibraryEnvironment.system
    environment.device = { folder, opened in
      if folder == Array("z".utf8) { stop.raise() }
      return opened.device
    }
    try library.scan(catalogue, environment: environment, stop: stop)
    let state = try catalogue.scanState(for: .local)
    #expect(!state.isFirstScanComplete && state.indexedCount >= 2)
    let read = try library.scan(catalogue, timeZone: timeZone).probed
    #expect(read == (timeZone == "UTC" ? 3 - state.indexedCount : 3))
    try expect(catalogue, complete: true, indexed: 3)
    #expect(try library.scan(catalogue, timeZone: timeZone).probed == 0)
  }

  @Test("after a restore, the first scan is incomplete until a scan has run")
  func restored() throws {
    let library = try TemporaryLibrary()
    try library.put(picture(1), "a.jpg")
    let copy = library.data + "/../copy.sqlite"
    do {
      let catalogue = try library.catalogue()
      try library.scan(catalogue)
      try expect(catalogue, complete: true, indexed: 1)
      try catalogue.backUp(to: copy)
    }
    try library.put(picture(2), "b.jpg")
    _ = try CatalogueRestore(dataFolder: library.data).restore(from: copy)
    let catalogue = try library.catalogue()
    try expect(catalogue, complete: false, indexed: 1)
    try library.scan(catalogue)
    try expect(catalogue, complete: true, indexed: 2)
  }
}
