import DiskCache
import Foundation
import GRDB
import Logging
import Synchronization
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// A test's own cache folder, with a manual clock, a disk that can refuse writes, and a recorded log.
///
/// `@unchecked Sendable` because its fields are constants; mutable state is in a `Mutex`.
final class TemporaryCache: @unchecked Sendable {
  struct State {
    var now = ContinuousClock.now
    var freeBytes: Int64? = .max
    var boot: String? = "this boot"
    var refuse: @Sendable (DiskStep) -> Int32 = { _ in 0 }
    var steps = 0
    var lines: [(level: Logger.Level, message: String)] = []
  }

  let base: String
  let folder: String
  let state = Mutex(State())

  init() throws {
    var template = Array((FileManager.default.temporaryDirectory.path + "/photod-disk-XXXXXX").utf8CString)
    base = String(cString: try #require(mkdtemp(&template)))
    folder = base + "/cache"
  }

  deinit { try? FileManager.default.removeItem(atPath: base) }

  func open(
    capacityBytes: Int64 = 1 << 30, frame: UInt32 = 1, derivative: UInt32 = 1,
    limits: DiskStoreLimits = DiskStoreLimits()
  ) -> DiskStore {
    DiskStore(
      folder: folder, capacityBytes: capacityBytes, epochs: DiskStore.Epochs(frame: frame, derivative: derivative),
      limits: limits, logger: Logger(label: "test") { _ in KeptLog(cache: self) }, environment: environment)
  }

  private var environment: DiskEnvironment {
    DiskEnvironment(
      now: { self.state.withLock { $0.now } }, freeBytes: { _ in self.state.withLock { $0.freeBytes } },
      bootIdentifier: { self.state.withLock { $0.boot } },
      injectedError: { step in
        let refuse = self.state.withLock {
          $0.steps += 1
          return $0.refuse
        }
        return refuse(step)
      })
  }

  func advance(_ time: Duration) { state.withLock { $0.now += time } }

  func refuse(_ body: @escaping @Sendable (DiskStep) -> Int32) { state.withLock { $0.refuse = body } }

  var lines: [String] { state.withLock { $0.lines.map { "\($0.level) \($0.message)" } } }

  /// Paths below the folder of all regular files in groups' folders, with their sizes.
  func entryFiles() throws -> [String: Int] {
    var files: [String: Int] = [:]
    let all = FileManager.default.enumerator(atPath: folder)
    while let path = all?.nextObject() as? String {
      guard path.split(separator: "/").count == 3 else { continue }
      files[path] = try FileManager.default.attributesOfItem(atPath: folder + "/" + path)[.size] as? Int ?? 0
    }
    return files
  }

  /// The space of all files in whole blocks, including the file that is being written.
  func diskBytes() throws -> Int64 {
    let partial = contents("entry.partial")?.count ?? 0
    return try (entryFiles().values + [partial]).reduce(0) { $0 + Int64(($1 + 4095) / 4096 * 4096) }
  }

  /// The only entry's file.
  func onlyFile() throws -> String {
    let files = try entryFiles()
    #expect(files.count == 1)
    return try #require(files.keys.first)
  }

  func contents(_ path: String) -> [UInt8]? {
    FileManager.default.contents(atPath: folder + "/" + path).map(Array.init)
  }

  func put(_ bytes: [UInt8], _ path: String) throws {
    let whole = folder + "/" + path
    try FileManager.default.createDirectory(
      atPath: (whole as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
    try Data(bytes).write(to: URL(filePath: whole))
  }

  func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: folder + "/" + path) }

  /// The index of a store that is closed or whose process is dead.
  func index<Value>(_ body: (Database) throws -> Value) throws -> Value {
    let queue = try DatabaseQueue(path: folder + "/index.sqlite")
    defer { try? queue.close() }
    return try queue.writeWithoutTransaction(body)
  }

  /// Files and rows by path, which should be equal; checks that the totals equal the sums of the rows.
  func rows() throws -> Set<String> {
    try index { db in
      var paths: Set<String> = []
      for row in try Row.fetchAll(db, sql: "SELECT kind, epoch, printf('%016x%016x', high, low) AS name FROM entry") {
        let (kind, epoch, name) = (row["kind"] as Int, row["epoch"] as Int, row["name"] as String)
        paths.insert("\(kind == 1 ? "frame" : "derivative")-\(epoch)/\(name.prefix(2))/\(name.dropFirst(2))")
      }
      let wrong = try Int.fetchOne(
        db,
        sql: """
          SELECT count(*) FROM total WHERE (entries, bytes) IS NOT (
            SELECT count(*), ifnull(sum(bytes), 0) FROM entry WHERE kind = total.kind AND epoch = total.epoch)
          """)
      #expect(wrong == 0, "a total is not what its rows come to")
      return paths
    }
  }
}

private struct KeptLog: LogHandler {
  let cache: TemporaryCache
  var logLevel = Logger.Level.trace
  var metadata: Logger.Metadata = [:]

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    cache.state.withLock { $0.lines.append((event.level, event.message.description)) }
  }
}

/// An entry by its number: the same as in `disk-cache-writer`.
enum Sample {
  static func key(_ number: Int) -> DiskStore.Key { DiskStore.Key(digestOf: Array("\(number)".utf8)) }

  static func bytes(_ number: Int) -> [UInt8] {
    let count = 500 + number * 7919 % 20_000
    // They repeat after 256. Joining blocks is fast without optimization too.
    var bytes = (0..<256).map { UInt8(truncatingIfNeeded: number &+ $0 &* 31) }
    while bytes.count < count { bytes += bytes }
    return Array(bytes.prefix(count))
  }

  static func cost(_ number: Int) -> Int64 { EntryCost.bytes(of: 500 + number * 7919 % 20_000) }
}

extension DiskStore {
  func store(_ number: Int, _ kind: Kind = .frame) {
    store(Sample.bytes(number), info: [UInt8(truncatingIfNeeded: number)], for: Sample.key(number), kind)
  }

  /// Stores an entry and waits until it is on disk.
  func keep(_ number: Int, _ kind: Kind = .frame) {
    store(number, kind)
    waitUntilIdle()
  }

  /// Whether the entry is found. Checks that it is what was stored.
  func finds(_ number: Int, _ kind: Kind = .frame) -> Bool {
    guard let entry = entry(for: Sample.key(number), kind) else { return false }
    #expect(entry.bytes == Sample.bytes(number), "another's bytes for \(number)")
    #expect(entry.info == [UInt8(truncatingIfNeeded: number)] || entry.info == [1])
    return true
  }
}

/// A point where a thread waits until it is released.
final class Gate: Sendable {
  private let condition = Mutex(false)
  private let waiters = DispatchSemaphore(value: 0)

  func shut() { condition.withLock { $0 = true } }

  func open() {
    condition.withLock { $0 = false }
    waiters.signal()
  }

  /// For one thread at a time.
  func pass() {
    while condition.withLock({ $0 }) { waiters.wait() }
  }
}

/// A value that closures share.
final class Shared<Value: Sendable>: Sendable {
  let value: Mutex<Value>

  init(_ value: Value) { self.value = Mutex(value) }
}
