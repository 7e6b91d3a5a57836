// Full-size renders of adjusted pictures as files: a response sends ranges of one, so it must exist as a whole before
// the first byte is sent. They are made on request only, by PhotoAPI's AdjustedPhotoSender. Frames and derivatives
// are in FrameStore.
//
//     file(for:)    an existing file, or nil
//     make(_:)      writes a file once; concurrent calls for the same file wait for it
//
// A file is written under a temporary name, synced and renamed: under its own name it is always complete. After the
// content it has the CRC-64 of its name and the content, little-endian. It is checked before the file is first used,
// and again when the file has changed; damaged files are removed. The least recently used files are removed when the
// limit is reached; a response that still sends one keeps it open.

import Cryptography
import DiskCache
import DurableFiles
import Logging
import PhotoModel
import Synchronization

#if canImport(Glibc)
  import Glibc
#endif

package final class FullSizeRenderStore: Sendable {
  package struct Limits: Sendable, Hashable {
    /// Maximum bytes of the content of all files together. 0: nothing is stored.
    package var capacityBytes = 2 << 30
    /// Maximum number of files.
    package var files = 10_000
    /// Nothing is written when less than this is free on the file system.
    package var minimumFreeBytes: Int64 = 512 << 20

    package init() {}
  }

  /// Identifies the content of a file: equal keys mean equal bytes.
  package struct Key: Sendable, Hashable {
    let name: String

    /// - Parameters:
    ///   - version: of the asset.
    ///   - text: distinguishes all that is made of the version.
    package init(_ version: ContentVersion, _ text: String) {
      name = Self.prefix(of: version.content) + Digest.sha256(text.utf8).hexadecimal
    }

    static let prefixLength = 16
    static let length = prefixLength + 64

    /// The common start of the names of all files that are made from one content.
    static func prefix(of content: String) -> String {
      String(Digest.sha256(content.utf8).hexadecimal.prefix(prefixLength))
    }
  }

  private struct Entry {
    /// The bytes of its content.
    var size: Int64
    /// When it was last used, as a value of `State.uses`.
    var lastUse: UInt64
    /// The state in which the file's checksum was last found to be right.
    var verified: FullSizeRender.FileState?
  }

  private struct State {
    var entries: [String: Entry] = [:]
    var bytes: Int64 = 0
    /// Number of uses so far.
    var uses: UInt64 = 0
    /// The callers that wait for files that are being written, by name.
    var writing: [String: [@Sendable () -> Void]] = [:]
    var temporaryFiles: UInt64 = 0

    mutating func forget(_ name: String) {
      if let entry = entries.removeValue(forKey: name) { bytes -= entry.size }
    }
  }

  private static let temporarySuffix = ".tmp"

  private let folder: String
  private let limits: Limits
  private let logger: Logger
  private let state = Mutex(State())

  /// Opens the folder, or makes it; removes what an earlier process left unfinished, and what exceeds the limits.
  ///
  /// - Parameter folder: used by this object only. If it can't be made or read, nothing is stored.
  package init(folder: String, limits: Limits = Limits(), logger: Logger) {
    self.folder = folder
    self.limits = limits
    self.logger = logger
    guard limits.capacityBytes > 0 else { return }
    if mkdir(folder, 0o700) != 0, errno != EEXIST {
      logger.error(
        "making the folder of full-size renders failed",
        metadata: ["folder": "\(folder)", "error": "\(SystemError(code: errno))"])
      return
    }
    let found = readFolder()
    state.withLock { state in
      for file in found.sorted(by: { $0.modified < $1.modified }) {
        state.uses += 1
        state.entries[file.name] = Entry(size: file.size, lastUse: state.uses)
        state.bytes += file.size
      }
    }
    evict()
  }

  /// Whether files are stored.
  var isEnabled: Bool { limits.capacityBytes > 0 }

  package func file(for key: Key) -> FullSizeRender? { open(key.name) }

  /// Calls `completion` with the file, which is written first if it does not exist; with `nil` if it can't be stored,
  /// or has no content. Blocks while it writes. For concurrent calls with one key it is written once; `completion` of
  /// the others is called by the call that writes.
  package func make(
    _ key: Key, _ bytes: @Sendable () -> [UInt8]?, completion: @escaping @Sendable (FullSizeRender?) -> Void
  ) {
    let name = key.name
    let isFirst = state.withLock { state in
      if state.writing[name] != nil {
        state.writing[name]?.append { [weak self] in completion(self?.open(name)) }
        return false
      }
      state.writing[name] = []
      return true
    }
    guard isFirst else { return }
    var file = open(name)
    if file == nil, isEnabled, let bytes = bytes() {
      do throws(SystemError) {
        try write(bytes, name)
        file = open(name)
      } catch {
        logger.warning("storing a full-size render failed", metadata: ["error": "\(error)"])
      }
    }
    completion(file)
    let waiting = state.withLock { $0.writing.removeValue(forKey: name) ?? [] }
    for call in waiting { call() }
  }

  /// Removes all files that were made of these contents (``ContentVersion/content``).
  ///
  /// - Returns: false if some are still there.
  package func remove(contents: [String]) -> Bool {
    let prefixes = Set(contents.map { Key.prefix(of: $0) })
    let removed = state.withLock { state in
      state.entries.keys.filter { prefixes.contains(String($0.prefix(Key.prefixLength))) }
    }
    var areGone = true
    for name in removed {
      if unlink(path(name)) == 0 || errno == ENOENT {
        state.withLock { $0.forget(name) }
      } else {
        areGone = false
      }
    }
    return areGone
  }

  private func path(_ name: String) -> String { folder + "/" + name }

  private func open(_ name: String) -> FullSizeRender? {
    let known = state.withLock { state -> Entry? in
      guard state.entries[name] != nil else { return nil }
      state.uses += 1
      state.entries[name]?.lastUse = state.uses
      return state.entries[name]
    }
    guard let entry = known else { return nil }
    guard let file = FullSizeRender(path(name)) else {
      // An operator may delete a file, or put something else in its place, at any time. The next write replaces it,
      // unless it is a folder.
      remove(name, ifStill: nil)
      return nil
    }
    if entry.verified == file.state { return file }
    guard file.isIntact(named: name) else {
      if remove(name, ifStill: file.state) {
        logger.notice(
          "removing a full-size render that is damaged or of an earlier version", metadata: ["file": "\(name)"])
      }
      return nil
    }
    state.withLock { state in
      guard state.entries[name] != nil else { return }
      state.entries[name]?.verified = file.state
    }
    return file
  }

  /// Removes a file that can't be used, and its entry, unless the file was replaced since.
  ///
  /// - Parameter found: the file's state; `nil` if it is missing or no file.
  /// - Returns: whether the entry was removed.
  @discardableResult
  private func remove(_ name: String, ifStill found: FullSizeRender.FileState?) -> Bool {
    // With the lock, because `write` puts the file in its place with it.
    state.withLock { state -> Bool in
      var status = stat()
      let isThere = lstat(path(name), &status) == 0
      let current = isThere ? FullSizeRender.FileState(status) : nil
      guard current == found else { return false }
      if found != nil { unlink(path(name)) }
      state.forget(name)
      return true
    }
  }

  private func write(_ bytes: [UInt8], _ name: String) throws(SystemError) {
    guard bytes.count <= limits.capacityBytes else { throw SystemError(code: EFBIG) }
    guard let free = DiskEnvironment.system.freeBytes(folder) else { throw SystemError(code: errno) }
    guard free - Int64(bytes.count) >= limits.minimumFreeBytes else {
      throw SystemError(code: ENOSPC)
    }
    let number = state.withLock { state in
      state.temporaryFiles += 1
      return state.temporaryFiles
    }
    let temporary = path("\(name).\(getpid()).\(number)\(Self.temporarySuffix)")
    do throws(SystemError) {
      try Self.write(bytes, name, to: temporary)
      let code = state.withLock { state -> Int32 in
        guard rename(temporary, path(name)) == 0 else { return errno }
        state.uses += 1
        let old = state.entries.updateValue(Entry(size: Int64(bytes.count), lastUse: state.uses), forKey: name)
        state.bytes += Int64(bytes.count) - (old?.size ?? 0)
        return 0
      }
      guard code == 0 else { throw SystemError(code: code) }
    } catch {
      unlink(temporary)
      throw error
    }
    evict()
  }

  private static func write(_ bytes: [UInt8], _ name: String, to path: String) throws(SystemError) {
    var checksum = FullSizeRender.checksum(of: name)
    bytes.withUnsafeBytes { checksum.add($0) }
    let trailer = withUnsafeBytes(of: checksum.value.littleEndian) { [UInt8]($0) }
    let descriptor = Glibc.open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw SystemError(code: errno) }
    defer { close(descriptor) }
    try writeAll(bytes.span.bytes, to: descriptor)
    try writeAll(trailer.span.bytes, to: descriptor)
    guard fsync(descriptor) == 0 else { throw SystemError(code: errno) }
  }

  /// Removes the least recently used files until the rest is within the limits.
  private func evict() {
    let removed = state.withLock { state -> [String] in
      guard state.bytes > Int64(limits.capacityBytes) || state.entries.count > limits.files else { return [] }
      var removed: [String] = []
      for (name, entry) in state.entries.sorted(by: { $0.value.lastUse < $1.value.lastUse }) {
        guard state.bytes > Int64(limits.capacityBytes) || state.entries.count > limits.files else { break }
        state.entries[name] = nil
        state.bytes -= entry.size
        removed.append(name)
      }
      return removed
    }
    for name in removed { unlink(path(name)) }
  }

  private func readFolder() -> [(name: String, size: Int64, modified: Int)] {
    guard let listing = opendir(folder) else { return [] }
    defer { closedir(listing) }
    var found: [(name: String, size: Int64, modified: Int)] = []
    while let entry = readdir(listing) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name.hasPrefix(".") { continue }
      // A file that a killed process left unfinished, or that an earlier version made.
      if name.hasSuffix(Self.temporarySuffix) || name.utf8.count != Key.length {
        unlink(path(name))
        continue
      }
      var status = stat()
      guard lstat(path(name), &status) == 0, status.st_mode & S_IFMT == S_IFREG else { continue }
      let size = max(0, Int64(status.st_size) - FullSizeRender.trailerBytes)
      found.append((name, size, status.st_mtim.tv_sec))
    }
    return found
  }
}
