import Foundation
import ObjectStores
import PhotoFixtures
import PhotoModel
import Synchronization
import Testing

@testable import OriginalDownloads

extension ObjectKey: ExpressibleByStringLiteral {
  public init(stringLiteral text: String) {
    guard let key = ObjectKey(text) else { preconditionFailure("\(text) is no key") }
    self = key
  }
}

/// Downloads from a stub store into a temporary folder.
final class DownloadHarness: Sendable {
  /// The content of an original.
  static let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }

  let store = StubStore()
  let downloads: OriginalDownloads
  let path: String

  init(
    clock: DownloadClock = .system, _ change: (inout OriginalDownloads.Limits) -> Void = { _ in }
  ) throws {
    path = FileManager.default.temporaryDirectory.appendingPathComponent("originals-\(UUID().uuidString)").path
    downloads = try Self.open(store, path, clock: clock, change)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  static func open(
    _ store: any ObjectStore, _ path: String, clock: DownloadClock = .system,
    _ change: (inout OriginalDownloads.Limits) -> Void = { _ in }
  ) throws -> OriginalDownloads {
    var limits = OriginalDownloads.Limits()
    limits.diskBytes = 1_000_000
    change(&limits)
    return try OriginalDownloads(store: store, path: path, limits: limits, clock: clock)
  }

  private static func object(_ size: Int, _ tag: String) -> ObjectIdentity {
    ObjectIdentity(size: Int64(size), version: .entityTag(tag))
  }

  /// The identity in the catalogue.
  static func identity(_ size: Int, _ tag: String = "\"v1\"") -> FileIdentity {
    FileIdentity(ObjectPage.Entry(key: "any", identity: object(size, tag), modified: 1_600_000_000))
  }

  func join(
    _ key: ObjectKey, _ size: Int, _ waiter: TestWaiter, priority: OriginalDownloads.Priority = .request
  ) -> OriginalDownloads.Ticket {
    store.set(key, Self.object(size, "\"v1\""))
    return downloads.join(key, Self.identity(size), priority: priority, waiter)
  }

  /// Downloads an original, as the read of this number.
  func download(_ key: ObjectKey, _ bytes: [UInt8], read number: Int) throws {
    let waiter = TestWaiter()
    _ = join(key, bytes.count, waiter)
    let read = store.nextRead(number)
    read.begin()
    read.send(bytes)
    read.end()
    #expect(try waiter.wait() == bytes)
  }

  /// Waits until the counts are as expected.
  func until(_ isSo: (OriginalDownloads.Counts) -> Bool) throws {
    try eventually("after \(downloads.counts), the expected state") { isSo(downloads.counts) }
  }

  var names: [String] {
    (FileManager.default.enumerator(atPath: path)?.allObjects as? [String] ?? []).filter { $0.count > 2 }
  }
}

final class TestWaiter: OriginalWaiter {
  private struct State {
    var available: [Int64] = []
    var result: Result<any FileByteSource, DownloadError>?
    var ends = 0
  }

  private let state = Mutex(State())
  private let ended = DispatchSemaphore(value: 0)
  private let progressed = DispatchSemaphore(value: 0)

  var ends: Int { state.withLock { $0.ends } }

  func downloadProgressed(_ original: ArrivingOriginal) {
    state.withLock { $0.available.append(original.availableBytes) }
    progressed.signal()
  }

  func downloadEnded(_ result: Result<any FileByteSource, DownloadError>) {
    state.withLock { state in
      state.result = result
      state.ends += 1
    }
    ended.signal()
  }

  /// Waits until at least this many bytes are here.
  func waitForBytes(_ count: Int64) {
    while (state.withLock { $0.available.last ?? 0 }) < count { progressed.wait() }
  }

  /// The bytes of the original.
  func wait() throws -> [UInt8] {
    ended.wait()
    let file = try state.withLock { $0.result }?.get()
    return try file.map { try $0.bytes(at: 0, count: Int($0.size)) } ?? []
  }
}
