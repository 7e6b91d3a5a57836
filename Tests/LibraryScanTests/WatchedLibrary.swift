import Dispatch
import Foundation
import ImageCodec
import LibraryCatalogue
import LibraryFixtures
import LibraryScan
import Logging
import PhotoModel
import Synchronization
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// A watched library with a manual clock, which moves only in `settle`.
final class WatchedLibrary {
  let library: TemporaryLibrary
  let catalogue: Catalogue
  let watcher: LibraryWatcher
  private let time: Time
  /// The maximum time that `settle` moves the clock by, because a library that is refused repeatedly never settles.
  /// Real time is not counted.
  private let patience: Int64
  /// The results of the scans of changed paths.
  private let scans: Scans

  private final class Time: Sendable { let now = Atomic<Int64>(0) }

  private final class Scans: Sendable {
    let done = Mutex<[ScanProgress]>([])
    let everything = Atomic<Int>(0)
    let watcher = Mutex<Weak?>(nil)

    struct Weak: Sendable { weak var watcher: LibraryWatcher? }
  }

  var root: String { library.root }
  /// Number of full scans that the watcher requested.
  var rescans: Int { scans.everything.load(ordering: .relaxed) }

  init(
    _ options: LibraryWatcher.Options = LibraryWatcher.Options(), settleTime: Duration = .zero,
    deferralLimit: Int = 10_000, removal: Int = 50,
    environment: LibraryEnvironment = .system, clock: WatchClock? = nil, in library: TemporaryLibrary? = nil,
    _ fill: (TemporaryLibrary) throws -> Void = { _ in }
  ) throws {
    let library = try library ?? TemporaryLibrary()
    self.library = library
    try fill(library)
    catalogue = try library.catalogue()
    let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let scanner = try LibraryScanner(
      catalogue: catalogue, directory: library.root, timeZone: "UTC", maximumRemovalPercent: removal,
      settleTime: settleTime,
      deferralLimit: deferralLimit, limits: CodecLimits(), environment: environment, logger: logger)
    let (time, scans) = (Time(), Scans())
    patience = clock == nil ? 3600 * 1_000_000_000 : .max
    self.time = time
    self.scans = scans
    let queue = DispatchQueue(label: "photod.scan")
    watcher = try LibraryWatcher(
      scanner: scanner, scanQueue: queue, options: options,
      clock: clock ?? .manual { time.now.load(ordering: .relaxed) }, logger: logger,
      scanned: { progress in scans.done.withLock { $0.append(progress) } },
      requestFullScan: {
        scans.everything.add(1, ordering: .relaxed)
        // A refusal is only logged.
        _ = try? scans.watcher.withLock { $0?.watcher }?.runFullScan()
      })
    scans.watcher.withLock { $0 = Scans.Weak(watcher: watcher) }
    _ = try queue.sync { [watcher] in try watcher.runFullScan() }
  }

  deinit { watcher.end() }

  var now: Int64 { time.now.load(ordering: .relaxed) }

  func advance(_ duration: Duration) { time.now.add(Int64(duration / .nanoseconds(1)), ordering: .relaxed) }

  /// Runs all scans that are due, and moves the clock to later ones.
  ///
  /// - Parameter duration: scans that are due later are not run.
  /// - Returns: the results of the scans of changed paths.
  @discardableResult
  func settle(for duration: Duration? = nil) -> [ScanProgress] {
    scans.done.withLock { $0 = [] }
    let end = duration.map { now + Int64($0 / .nanoseconds(1)) } ?? now + patience
    watcher.catchUp(until: end) { [time] due in
      if due > time.now.load(ordering: .relaxed) { time.now.store(due, ordering: .relaxed) }
    }
    if duration != nil { time.now.store(end, ordering: .relaxed) }
    return scans.done.withLock { $0 }
  }

  /// The identifiers of all assets, by path.
  func identifiers() throws -> [String: LocalIdentifier] {
    try catalogue.everything().mapValues(\.localIdentifier)
  }

  /// Compares the catalogue with the folder, and expects that a full scan finds nothing to do, except to read
  /// unreadable files again, as every scan does.
  func expectNothingLeft(_ comment: String = "", sourceLocation: SourceLocation = #_sourceLocation) throws {
    func differences() throws -> [String] {
      var found: [String] = []
      _ = try CatalogueCheck(catalogue: catalogue, directory: root).run { found.append($0.line) }
      return found
    }
    let found = try differences()
    let left = try library.scan(catalogue)
    let foundAfterwards = try differences()
    #expect(found == foundAfterwards, "\(comment): \(left)", sourceLocation: sourceLocation)
    #expect(
      left.probed <= found.count && left.moved + left.removed == 0, "\(comment): \(left)",
      sourceLocation: sourceLocation)
  }

  // MARK: File changes

  func put(_ bytes: [UInt8], _ path: String) throws { try library.put(bytes, path) }

  func move(_ from: String, _ to: String, sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(rename(at(from), at(to)) == 0, "\(from) to \(to)", sourceLocation: sourceLocation)
  }

  /// The path of a name below the root, or next to it.
  func at(_ path: String) -> String { path.hasPrefix("/") ? path : root + "/" + path }

  /// Next to the library, on the same disk.
  var outside: String { library.data }

  func write(_ bytes: [UInt8], _ path: String, _ flags: Int32) {
    let descriptor = open(at(path), O_WRONLY | flags, 0o600)
    #expect(Glibc.write(descriptor, bytes, bytes.count) == bytes.count)
    close(descriptor)
  }
}

/// Writes a file in place and sets its time back, so that of its times only the ctime changes.
func rewrite(_ path: String, _ bytes: [UInt8], at offset: Int = 0) {
  var before = stat()
  #expect(stat(path, &before) == 0)
  let descriptor = open(path, O_WRONLY)
  var now = stat()
  repeat {
    #expect(pwrite(descriptor, bytes, bytes.count, offset) == bytes.count)
    #expect(fstat(descriptor, &now) == 0)
    // A file system's clock advances in milliseconds.
  } while now.st_ctim.tv_nsec == before.st_ctim.tv_nsec
  var times = [before.st_atim, before.st_mtim]
  #expect(futimens(descriptor, &times) == 0)
  close(descriptor)
}

/// A picture with different content for each number.
func picture(_ number: Int) -> [UInt8] { smallJPEG + Array("\(number)".utf8) }
