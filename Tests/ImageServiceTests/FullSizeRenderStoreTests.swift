import Foundation
import ImageService
import Logging
import PhotoModel
import Synchronization
import Testing

#if canImport(Glibc)
  import Glibc
#endif

@Suite("Files of full-size renders")
struct FullSizeRenderStoreTests {
  /// A folder that is removed with this object.
  private final class Folder {
    let path = FileManager.default.temporaryDirectory.appending(path: "photod-renders-\(UUID().uuidString)").path

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func open(_ change: (inout FullSizeRenderStore.Limits) -> Void = { _ in }) -> FullSizeRenderStore {
      var limits = FullSizeRenderStore.Limits()
      limits.minimumFreeBytes = 0
      change(&limits)
      return FullSizeRenderStore(
        folder: path, limits: limits, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [] }
  }

  /// Two keys have the same content if they begin with the same letter.
  private static func name(_ key: String) -> FullSizeRenderStore.Key {
    FullSizeRenderStore.Key(ContentVersion(String(key.prefix(1))), key)
  }

  private static func make(_ key: String, _ bytes: [UInt8]?, in files: FullSizeRenderStore) -> [UInt8]? {
    let result = Mutex<[UInt8]?>(nil)
    files.make(name(key)) {
      bytes
    } completion: { file in
      result.withLock { $0 = file.flatMap { try? $0.bytes(at: 0, count: Int($0.size)) } }
    }
    return result.withLock { $0 }
  }

  private static func stored(_ key: String, in files: FullSizeRenderStore) -> [UInt8]? {
    files.file(for: name(key)).flatMap { try? $0.bytes(at: 0, count: Int($0.size)) }
  }

  @Test("a file is made once, found again, and survives a restart")
  func once() throws {
    let folder = Folder()
    do {
      let files = folder.open()
      #expect(files.file(for: Self.name("a")) == nil)
      #expect(Self.make("a", [1, 2, 3], in: files) == [1, 2, 3])
      #expect(Self.make("a", [9], in: files) == [1, 2, 3], "it exists")
      #expect(folder.names.count == 1)
    }
    #expect(Self.stored("a", in: folder.open()) == [1, 2, 3])
  }

  @Test("of concurrent calls with one key one makes the content, and all get the file")
  func concurrent() {
    let folder = Folder()
    let files = folder.open()
    let made = Atomic(0)
    let got = Atomic(0)
    DispatchQueue.concurrentPerform(iterations: 16) { _ in
      files.make(Self.name("a")) {
        made.add(1, ordering: .relaxed)
        return [UInt8](repeating: 7, count: 100_000)
      } completion: { file in
        if file?.size == 100_000 { got.add(1, ordering: .relaxed) }
      }
    }
    #expect(made.load(ordering: .relaxed) == 1 && got.load(ordering: .relaxed) == 16)
    #expect(folder.names.count == 1)
  }

  @Test("what a killed process left unfinished is removed, and never served")
  func unfinished() throws {
    let folder = Folder()
    #expect(Self.make("a", [1], in: folder.open()) == [1])
    let name = try #require(folder.names.first)
    try Data([1, 2]).write(to: URL(filePath: "\(folder.path)/\(name).77.1.tmp"))
    try Data([3]).write(to: URL(filePath: "\(folder.path)/\(name.dropFirst(16))"))
    let files = folder.open()
    #expect(folder.names == [name], "nor is what an earlier version made")
    #expect(Self.stored("a", in: files) == [1])
  }

  @Test("the least recently used files go first, by bytes and by number")
  func eviction() {
    for byNumber in [false, true] {
      let folder = Folder()
      let files = folder.open {
        if byNumber { $0.files = 2 } else { $0.capacityBytes = 250 }
      }
      for key in ["a", "b"] { _ = Self.make(key, [UInt8](repeating: 1, count: 100), in: files) }
      let held = files.file(for: Self.name("a"))
      _ = Self.make("c", [UInt8](repeating: 1, count: 100), in: files)
      #expect(
        files.file(for: Self.name("b")) == nil && files.file(for: Self.name("a")) != nil
          && files.file(for: Self.name("c")) != nil)
      #expect(folder.names.count == 2)
      _ = Self.make("d", [UInt8](repeating: 1, count: 100), in: files)
      _ = Self.make("e", [UInt8](repeating: 1, count: 100), in: files)
      #expect(files.file(for: Self.name("a")) == nil)
      #expect((try? held?.bytes(at: 0, count: 100))?.count == 100, "an open file stays readable")
    }
  }

  @Test("content that can't be stored is not: too long, none, no room, no capacity")
  func notStored() {
    let folder = Folder()
    #expect(Self.make("a", [1, 2], in: folder.open { $0.capacityBytes = 1 }) == nil)
    #expect(Self.make("a", nil, in: folder.open()) == nil)
    #expect(Self.make("a", [1], in: folder.open { $0.minimumFreeBytes = .max / 2 }) == nil)
    #expect(Self.make("a", [1], in: folder.open { $0.capacityBytes = 0 }) == nil)
    #expect(folder.names.isEmpty)
  }

  @Test("a file that was deleted meanwhile is made again")
  func deleted() throws {
    let folder = Folder()
    let files = folder.open()
    _ = Self.make("a", [1], in: files)
    try FileManager.default.removeItem(atPath: "\(folder.path)/\(folder.names[0])")
    #expect(files.file(for: Self.name("a")) == nil)
    #expect(Self.make("a", [1], in: files) == [1])
  }

  @Test("all files of a content are removed at once, also those of an earlier process")
  func removal() {
    let folder = Folder()
    let files = folder.open()
    for key in ["a", "a2", "b"] { _ = Self.make(key, [UInt8](repeating: 1, count: 100), in: files) }
    #expect(folder.open().remove(contents: ["c"]))
    #expect(folder.names.count == 3)
    let later = folder.open()
    #expect(later.remove(contents: ["a", "c"]))
    #expect(folder.names.count == 1 && Self.stored("b", in: later) != nil)
    #expect(Self.make("a", [2], in: later) == [2])
  }

  /// What may happen to a file under its name.
  enum Damage: CaseIterable {
    case cut, emptied, shortened, lengthened, zeroed, flipped, withoutChecksum, exchanged, linked, pipe

    /// - Parameter other: the file of another key, of the same length.
    func happen(to path: String, _ other: String) throws {
      var bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
      switch self {
      case .cut: bytes.removeLast(bytes.count / 2)
      case .emptied: bytes.removeAll()
      case .shortened: bytes.removeLast(bytes.count - 3)
      case .lengthened: bytes.append(0)
      case .zeroed: bytes = [UInt8](repeating: 0, count: bytes.count)
      case .flipped: bytes[bytes.count / 2] ^= 1
      // As an earlier version made it.
      case .withoutChecksum: bytes.removeLast(8)
      case .exchanged: bytes = [UInt8](try Data(contentsOf: URL(filePath: other)))
      case .linked:
        try FileManager.default.removeItem(atPath: path)
        return try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: other)
      case .pipe:
        try FileManager.default.removeItem(atPath: path)
        try #require(mkfifo(path, 0o600) == 0)
        return
      }
      // In place, as damage is, and not in the same tick of the file system's clock.
      let before = try Self.changeTime(path)
      repeat { try #require(chmod(path, 0o600) == 0) } while try Self.changeTime(path) == before
      let file = try FileHandle(forWritingTo: URL(filePath: path))
      try file.truncate(atOffset: 0)
      try file.write(contentsOf: Data(bytes))
      try file.close()
    }

    private static func changeTime(_ path: String) throws -> [Int] {
      var status = stat()
      try #require(stat(path, &status) == 0)
      return [status.st_ctim.tv_sec, status.st_ctim.tv_nsec]
    }
  }

  @Test("a damaged file is a miss and is rendered again", arguments: Damage.allCases, [true, false])
  func damaged(_ damage: Damage, _ isRestarted: Bool) throws {
    let folder = Folder()
    let content = (0..<3000).map { UInt8(truncatingIfNeeded: $0) }
    let others = content.map { ~$0 }
    var files = folder.open()
    #expect(Self.make("a", content, in: files) == content)
    let a = try #require(folder.names.first)
    #expect(Self.make("b", others, in: files) == others)
    let b = try #require(folder.names.first { $0 != a })
    try damage.happen(to: "\(folder.path)/\(a)", "\(folder.path)/\(b)")
    if isRestarted { files = folder.open() }
    #expect(files.file(for: Self.name("a")) == nil)
    #expect(Self.make("a", content, in: files) == content)
    #expect(Self.stored("a", in: folder.open()) == content)
    #expect(Self.stored("b", in: files) == others)
  }

  @Test("callers that find a damaged file at the same time do not remove the one that replaces it")
  func replaced() throws {
    let folder = Folder()
    let content = (0..<300_000).map { UInt8(truncatingIfNeeded: $0) }
    let files = folder.open()
    #expect(Self.make("a", content, in: files) == content)
    let name = try #require(folder.names.first)
    let path = "\(folder.path)/\(name)"
    for _ in 0..<20 {
      try Damage.flipped.happen(to: path, path)
      DispatchQueue.concurrentPerform(iterations: 4) { index in
        if index == 0 { _ = Self.make("a", content, in: files) } else { _ = files.file(for: Self.name("a")) }
      }
      #expect(Self.stored("a", in: files) == content)
    }
  }

  @Test("a folder in the place of a file is a miss, and the picture is not stored")
  func folderInPlace() throws {
    let folder = Folder()
    _ = Self.make("a", [1], in: folder.open())
    let path = "\(folder.path)/\(folder.names[0])"
    try FileManager.default.removeItem(atPath: path)
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    let files = folder.open()
    #expect(files.file(for: Self.name("a")) == nil)
    #expect(Self.make("a", [1], in: files) == nil)
  }

  @Test("a reader never gets the checksum after the content")
  func endOfContent() throws {
    let folder = Folder()
    let files = folder.open()
    _ = Self.make("a", [1, 2, 3], in: files)
    let file = try #require(files.file(for: Self.name("a")))
    #expect(file.size == 3)
    var bytes = [UInt8](repeating: 0, count: 64)
    let reads = try [Int64(1), 3, 7].map { offset in
      try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: offset) }
    }
    #expect(reads == [.bytes(2), .end, .end])
  }
}
