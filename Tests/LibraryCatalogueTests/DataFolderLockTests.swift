import Dispatch
import Foundation
import PhotoModel
import Testing

@testable import LibraryCatalogue

#if canImport(Glibc)
  import Glibc
#endif

@Suite("Locks of a data folder")
struct DataFolderLockTests {
  enum Purpose: CaseIterable {
    case use, opening, restore, serving, scan, files, originals

    func lock(_ folder: String) throws -> DataFolderLock {
      switch self {
      case .use: try .forUse(of: folder)
      case .opening: try .forOpening(of: folder)
      case .restore: try .forRestore(of: folder)
      case .serving: try .forServing(of: folder)
      case .scan: try .forScan(into: folder)
      case .files: try .forFiles(of: folder)
      case .originals: try .forOriginals(in: folder)
      }
    }

    var file: String {
      switch self {
      case .use, .restore: "use.lock"
      case .opening: "open.lock"
      case .serving: "serve.lock"
      case .scan: "scan.lock"
      case .files: "files.lock"
      case .originals: "lock"
      }
    }
  }

  /// Duplicates every descriptor of a file in this process. The copies share the open file and its lock, like the
  /// descriptors of a forked child until it calls exec.
  private static func sharedDescriptors(of path: String) throws -> [Int32] {
    let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").filter { name in
      // A descriptor that was closed in the meantime has no link.
      (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)")) == path
    }
    // After the listing: a copy could get the number of a listed descriptor that was closed since.
    return descriptors.compactMap { Int32($0) }.map { fcntl($0, F_DUPFD_CLOEXEC, 0) }
  }

  private static func temporaryFolder() throws -> String {
    let folder = FileManager.default.temporaryDirectory.resolvingSymlinksInPath().appendingPathComponent(
      "photod-lock-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    return folder.path
  }

  @Test("a released lock is free, even if a forked child still shares its file", arguments: Purpose.allCases)
  func sharedFile(_ purpose: Purpose) throws {
    let folder = try Self.temporaryFolder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let first = try purpose.lock(folder)
    let shared = try Self.sharedDescriptors(of: "\(folder)/\(purpose.file)")
    defer { for descriptor in shared { close(descriptor) } }
    #expect(shared.count == 1)
    first.unlock()
    // Not `lock`, which would wait for `files.lock`.
    let other = open("\(folder)/\(purpose.file)", O_RDWR | O_CLOEXEC)
    defer { close(other) }
    #expect(flock(other, LOCK_EX | LOCK_NB) == 0)
  }

  @Test("a wait for the lock of the files ends at its limit, when it is stopped, or when the lock is free")
  func waiting() throws {
    let folder = try Self.temporaryFolder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let stop = StopFlag()
    stop.raise()
    let held = try DataFolderLock.forFiles(of: folder)
    let busy = SystemError(code: EWOULDBLOCK)
    #expect(throws: busy) { try DataFolderLock.forFiles(of: folder, waiting: .zero) }
    #expect(throws: busy) { try DataFolderLock.forFiles(of: folder, until: stop) }
    held.unlock()
    try DataFolderLock.forFiles(of: folder, waiting: .zero, until: stop).unlock()
  }

  @Test("of several owners that open a new data folder together, each gets the catalogue, and its tables are made once")
  func openedTogether() throws {
    for _ in 0..<4 {
      let folder = try Self.temporaryFolder()
      defer { try? FileManager.default.removeItem(atPath: folder) }
      DispatchQueue.concurrentPerform(iterations: 4) { _ in
        do throws(LibraryError) {
          _ = try Catalogue(dataFolder: folder)
        } catch {
          Issue.record(error)
        }
      }
      #expect(try Catalogue(dataFolder: folder).fileCount() == 0)
    }
  }

  @Test("a scan, and a restore during use, are refused while the lock is held, with the reason")
  func refusals() throws {
    let folder = try Self.temporaryFolder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let (scan, use) = (try DataFolderLock.forScan(into: folder), try DataFolderLock.forUse(of: folder))
    #expect(throws: LibraryError.scanUnderWay) { try DataFolderLock.forScan(into: folder) }
    #expect(throws: LibraryError.dataFolderInUse(path: folder)) { try DataFolderLock.forRestore(of: folder) }
    // Any number of processes may use it.
    try DataFolderLock.forUse(of: folder).unlock()
    scan.unlock()
    use.unlock()
    let restore = try DataFolderLock.forRestore(of: folder)
    #expect(throws: LibraryError.restoreUnderWay(path: folder)) { try DataFolderLock.forUse(of: folder) }
    restore.unlock()
    try DataFolderLock.forScan(into: folder).unlock()
  }
}
