import Foundation
import Logging
import ObjectStores
import PhotoFixtures
import PhotoModel
import Synchronization
import Testing

@testable import OriginalDownloads

#if canImport(Glibc)
  import Glibc
#endif

@Suite("Originals to keep") struct KeptOriginalsTests {
  /// What the catalogue would say, and how often it was asked.
  private final class List: Sendable {
    private let state = Mutex<(list: KeptOriginalList, reads: Int, limits: (Int64, Int))>(
      (KeptOriginalList(), 0, (0, 0)))

    var limits: (Int64, Int) { state.withLock { $0.limits } }
    var reads: Int { state.withLock { $0.reads } }

    func set(_ names: [ObjectKey], size: Int, leftOut: Int = 0) {
      state.withLock { state in
        state.list.originals = names.map { OriginalFile(path: $0.bytes, identity: DownloadHarness.identity(size)) }
        state.list.leftOut = leftOut
      }
    }

    func read(_ bytes: Int64, _ files: Int) -> KeptOriginalList {
      state.withLock { state in
        state.reads += 1
        state.limits = (bytes, files)
        return state.list
      }
    }
  }

  private static let bytes = [UInt8](repeating: 7, count: 300_000)

  private let list = List()
  private let clock = ManualDownloadClock()
  private let harness: DownloadHarness
  private let kept: KeptOriginals

  init() throws {
    harness = try DownloadHarness {
      $0.windowBytesPerSecond = 0
      $0.windowDownloads = 1
    }
    var limits = KeptOriginals.Limits()
    limits.downloads = 1
    for name in ["a", "b", "c", "d"] as [ObjectKey] {
      harness.store.set(name, ObjectIdentity(size: 300_000, version: .entityTag("\"v1\"")))
    }
    kept = KeptOriginals(
      harness.downloads, diskBytes: 1_000_000, limits: limits, clock: clock.clock,
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    ) { [list] in list.read($0, $1) }
  }

  private func send(_ number: Int) -> ObjectKey {
    let read = harness.store.nextRead(number)
    read.begin()
    read.send(Self.bytes)
    read.end()
    return read.key
  }

  private func until(_ isSo: () -> Bool) throws {
    try eventually("after \(kept.counts), the expected state", isSo)
  }

  @Test func `The missing ones are downloaded one after the other, and stay when others need room`() throws {
    list.set(["b", "a"], size: 300_000, leftOut: 3)
    kept.update()
    #expect(list.limits == (750_000, 100_000))
    #expect(send(0) == "b")
    #expect(send(1) == "a")
    try until { kept.counts == KeptOriginals.Counts(local: 2, missing: 0, leftOut: 3) }
    try harness.download("c", Self.bytes, read: 2)
    try harness.download("d", Self.bytes, read: 3)
    let identity = DownloadHarness.identity(300_000)
    func local() -> [ObjectKey] { ["a", "b", "c", "d"].filter { harness.downloads.isLocal($0, identity) } }
    #expect(local() == ["a", "b", "d"])
    // What is no longer in the list goes like all others.
    list.set(["a"], size: 300_000)
    kept.libraryDidChange()
    kept.libraryDidChange()
    #expect(clock.waitingCount == 1)
    clock.advance(.seconds(1))
    try until { kept.counts == KeptOriginals.Counts(local: 1, missing: 0, leftOut: 0) }
    #expect(list.reads == 2)
    // The next update begins after this one has unpinned what left the list.
    kept.libraryDidChange()
    clock.advance(.seconds(1))
    try until { list.reads == 3 }
    try harness.download("c", Self.bytes, read: 4)
    #expect(local() == ["a", "c", "d"])
  }

  @Test(
    arguments: [
      .unsupported, .accessDenied(.forbidden), .malformed(.wrongChecksum), .limitExceeded(.objectBytes),
    ] as [ObjectStoreError])
  func `Originals that can't be downloaded stop no other one, and are tried again`(_ error: ObjectStoreError) throws {
    list.set(["a", "b", "c"], size: 300_000)
    kept.update()
    for (number, key) in (["a", "b"] as [ObjectKey]).enumerated() {
      let read = harness.store.nextRead(number)
      #expect(read.key == key)
      read.end(.failure(error))
    }
    #expect(send(2) == "c")
    try until { kept.counts == KeptOriginals.Counts(local: 1, missing: 2, leftOut: 0) }
    // A change of the library does not try them again, as each may cost a whole download.
    list.set(["a", "b", "d"], size: 300_000)
    kept.update()
    #expect(send(3) == "d")
    try until { kept.counts == KeptOriginals.Counts(local: 1, missing: 2, leftOut: 0) }
    #expect(clock.waitingCount == 1)
    clock.advance(.seconds(3600))
    #expect(send(4) == "a")
    #expect(harness.store.nextRead(5).key == "b")
  }

  @Test func `After the limit was lowered they stay, and others go`() throws {
    try harness.download("a", Self.bytes, read: 0)
    // As if it had been read long before the others.
    let name = try #require(harness.names.first)
    let old = timeval(tv_sec: 1_000_000_000, tv_usec: 0)
    let result = utimes("\(harness.path)/\(name)", [old, old])
    #expect(result == 0)
    try harness.download("b", Self.bytes, read: 1)
    try harness.download("c", Self.bytes, read: 2)
    let smaller = try DownloadHarness.open(harness.store, harness.path) { $0.diskBytes = 700_000 }
    list.set(["a"], size: 300_000)
    let later = KeptOriginals(
      smaller, diskBytes: 700_000, limits: KeptOriginals.Limits(), clock: clock.clock,
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    ) { [list] in list.read($0, $1) }
    later.update()
    #expect(smaller.isLocal("a", DownloadHarness.identity(300_000)))
    #expect(smaller.counts.originals == 2 && harness.names.count == 2)
  }

  @Test func `A window comes before them, and a download of what is no longer to be kept ends`() throws {
    list.set(["a", "b"], size: 300_000)
    kept.update()
    let first = harness.store.nextRead(0)
    let window = TestWaiter()
    _ = harness.join("c", 300_000, window, priority: .window)
    list.set(["b"], size: 300_000)
    kept.update()
    #expect(send(1) == "c")
    #expect(try window.wait() == Self.bytes)
    #expect(send(2) == "b")
    try until { kept.counts.local == 1 }
    #expect(harness.downloads.counts.ended.abandoned == 1)
    first.end()
  }

  @Test func `After a failure of the store nothing is asked for a minute, and a missing object is left out`() throws {
    list.set(["none", "a", "b"], size: 300_000)
    kept.update()
    harness.store.nextRead(0).end(.failure(.unreachable(.notConnected)))
    try until { clock.waitingCount == 1 }
    #expect(kept.counts == KeptOriginals.Counts(local: 1, missing: 2, leftOut: 0) || kept.counts.missing <= 3)
    #expect(harness.store.readCount == 1)
    clock.advance(.seconds(60))
    // The one that failed comes last: the failure may be its own.
    #expect(send(1) == "b")
    #expect(send(2) == "a")
    let identity = DownloadHarness.identity(300_000)
    try until { harness.downloads.isLocal("a", identity) && harness.downloads.isLocal("b", identity) }
  }
}
