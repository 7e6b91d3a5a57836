import Foundation
import LibraryFolder
import PhotoFixtures
import PhotoModel
import Synchronization
import Testing

/// Originals that are in the cloud until the test lets them arrive.
final class CloudOriginals: OriginalDownloader {
  final class Wait: OriginalWait {
    let isUrgent: Bool
    let onBytes: @Sendable (any ArrivingSource) -> Void
    let ended: @Sendable (Result<any FileByteSource, OriginalDownloadError>) -> Void
    private let wasCancelled = Atomic<Bool>(false)
    private let isOverdue = Atomic<Bool>(false)

    init(
      _ isUrgent: Bool, _ onBytes: @escaping @Sendable (any ArrivingSource) -> Void,
      _ ended: @escaping @Sendable (Result<any FileByteSource, OriginalDownloadError>) -> Void
    ) { (self.isUrgent, self.onBytes, self.ended) = (isUrgent, onBytes, ended) }

    var isCancelled: Bool { wasCancelled.load(ordering: .relaxed) }
    func cancel() { wasCancelled.store(true, ordering: .relaxed) }
    var hasExpired: Bool { isOverdue.load(ordering: .relaxed) }
    func expire() { isOverdue.store(true, ordering: .relaxed) }
  }

  /// Passed before a wait that is not urgent is returned.
  let gate = Gate()
  private let folder: LibraryFolder
  private let path: String
  private let waits = Mutex<[Wait]>([])

  init() throws {
    path = FileManager.default.temporaryDirectory.path + "/photod-cloud-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    folder = try LibraryFolder(path: path)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  var store: OriginalStore {
    OriginalStore(downloader: self) { original throws(OriginalStoreError) in throw .inCloud }
  }

  func isLocal(_ original: OriginalFile) -> Bool { false }
  func head(of original: OriginalFile) -> (any ByteSource)? { nil }

  func download(
    _ original: OriginalFile, isUrgent: Bool, onBytes: @escaping @Sendable (any ArrivingSource) -> Void,
    ended: @escaping @Sendable (Result<any FileByteSource, OriginalDownloadError>) -> Void
  ) -> any OriginalWait {
    let wait = Wait(isUrgent, onBytes, ended)
    waits.withLock { $0.append(wait) }
    if !isUrgent { gate.pass() }
    return wait
  }

  /// Returns when as many waits have begun.
  func waits(_ count: Int) async throws -> [Wait] {
    try await eventually("\(count) downloads") { waits.withLock { $0.count >= count } }
    return waits.withLock { $0 }
  }

  func file(_ bytes: [UInt8]) throws -> any FileByteSource {
    let name = UUID().uuidString
    try Data(bytes).write(to: URL(filePath: path + "/" + name))
    return try folder.open(Array(name.utf8))
  }
}

/// An original whose bytes arrive when the test says so.
final class ArrivingBytes: ArrivingSource {
  /// Passed before each read.
  let gate = Gate()
  private let bytes: MemoryByteSource
  private let available: Atomic<Int64>
  private let end = Atomic<Int64>(0)
  private let isReplaced = Atomic<Bool>(false)

  init(_ bytes: [UInt8], available: Int = 0) {
    self.bytes = MemoryByteSource(bytes)
    self.available = Atomic(Int64(available))
  }

  var size: Int64 { bytes.size }
  var availableBytes: Int64 { available.load(ordering: .acquiring) }
  /// The end of the last bytes that were read.
  var readBytes: Int64 { end.load(ordering: .relaxed) }

  var isUnchanged: Bool { !isReplaced.load(ordering: .acquiring) }

  /// Other bytes have taken the place of those that arrived.
  func replace() { isReplaced.store(true, ordering: .releasing) }

  /// Adds bytes to those that have arrived, and notifies a wait.
  func arrive(_ count: Int, _ wait: CloudOriginals.Wait) {
    available.store(Int64(count), ordering: .releasing)
    wait.onBytes(self)
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> ByteRead {
    gate.pass()
    guard offset < size else { return .end }
    let count = Int(availableBytes - offset)
    guard count > 0 else { return .notYet }
    let read = bytes.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(count)), at: offset)
    if case .bytes(let got) = read { end.max(offset + Int64(got), ordering: .relaxed) }
    return read
  }
}
