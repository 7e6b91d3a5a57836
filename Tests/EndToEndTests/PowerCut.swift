import Foundation
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// A power cut, simulated: Tests/PowerCut/power_cut.c, loaded with LD_PRELOAD, records all writes and syncs of a
/// process. After its kill every file gets the content that it had at its last sync; later writes are dropped.
///
/// Names and folders count as durable at once, so the order of a file's content and its name is tested, and the sync of
/// its folder is not.
final class PowerCut {
  /// The shared object; `nil` where no C compiler is installed.
  static let library: String? = {
    let source = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .appending(path: "PowerCut/power_cut.c").path
    let object = FileManager.default.temporaryDirectory.path + "/photod-power-cut-\(getpid()).so"
    atexit { unlink(FileManager.default.temporaryDirectory.path + "/photod-power-cut-\(getpid()).so") }
    for compiler in ["cc", "clang"] {
      let process = Process()
      process.executableURL = URL(filePath: "/usr/bin/env")
      process.arguments = [compiler, "-shared", "-fPIC", "-O1", "-o", object, source]
      process.standardError = FileHandle.nullDevice
      guard (try? process.run()) != nil else { continue }
      process.waitUntilExit()
      if process.terminationStatus == 0 { return object }
    }
    return nil
  }()

  /// The length of `struct record`.
  private static let headBytes = 32

  private let root: String
  private let log: String
  /// The contents before the process began, by inode.
  private var contents: [UInt64: [UInt8]] = [:]

  /// The variables of the process.
  let environment: [String: String]

  /// - Parameters:
  ///   - root: the folder whose files lose their unsynced content.
  ///   - log: the file for the records, outside of `root`.
  ///   - ignoresSyncs: treat syncs as if they did nothing.
  init(root: String, log: String, ignoresSyncs: Bool = false) throws {
    self.root = root
    self.log = log
    unlink(log)
    environment = [
      "LD_PRELOAD": try #require(Self.library), "POWER_CUT_LOG": log, "POWER_CUT_ROOT": root,
      "POWER_CUT_DEAF": ignoresSyncs ? "1" : "0",
    ]
    for (path, inode) in try Self.files(in: root) {
      contents[inode] = [UInt8](FileManager.default.contents(atPath: path) ?? Data())
    }
  }

  deinit { unlink(log) }

  /// Gives every file the content that it had at its last sync. Call it after the process was killed.
  ///
  /// - Returns: the number of files whose content was cut.
  func apply() throws -> Int {
    var current = contents
    var synced = contents
    let records = [UInt8](FileManager.default.contents(atPath: log) ?? Data())
    var position = 0
    func number<Value: FixedWidthInteger & BitwiseCopyable>(_ offset: Int, _ type: Value.Type) -> Value {
      records.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: position + offset, as: type) }
    }
    while position + Self.headBytes <= records.count {
      let inode = number(0, UInt64.self)
      let offset = Int(number(8, Int64.self))
      let size = Int(number(16, Int64.self))
      let length = Int(number(24, UInt32.self))
      if size == 0, current[inode]?.isEmpty == false { (current[inode], synced[inode]) = ([], []) }
      switch number(28, UInt32.self) {
      case 1:
        guard position + Self.headBytes + length <= records.count else { break }
        var bytes = current.removeValue(forKey: inode) ?? []
        if bytes.count < offset + length { bytes += [UInt8](repeating: 0, count: offset + length - bytes.count) }
        bytes.replaceSubrange(
          offset..<offset + length, with: records[position + Self.headBytes..<position + Self.headBytes + length])
        current[inode] = bytes
        position += length
      case 2:
        var bytes = current.removeValue(forKey: inode) ?? []
        if bytes.count > offset { bytes.removeLast(bytes.count - offset) }
        bytes += [UInt8](repeating: 0, count: offset - bytes.count)
        current[inode] = bytes
      default: synced[inode] = current[inode] ?? []
      }
      position += Self.headBytes
    }
    var cut = 0
    for (path, inode) in try Self.files(in: root) {
      if path.hasSuffix("-shm") {
        // Memory that processes share; SQLite creates it again.
        unlink(path)
        continue
      }
      let bytes = synced[inode] ?? []
      if FileManager.default.contents(atPath: path) == Data(bytes) { continue }
      cut += 1
      // Written in place, to keep the inode.
      let descriptor = open(path, O_WRONLY | O_TRUNC)
      try #require(descriptor >= 0)
      var rest = bytes[...]
      while !rest.isEmpty {
        let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        try #require(count > 0)
        rest = rest.dropFirst(count)
      }
      close(descriptor)
    }
    return cut
  }

  private static func files(in root: String) throws -> [(path: String, inode: UInt64)] {
    try FileManager.default.subpathsOfDirectory(atPath: root).compactMap { name in
      var status = stat()
      guard lstat(root + "/" + name, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
      return (root + "/" + name, UInt64(status.st_ino))
    }
  }
}
