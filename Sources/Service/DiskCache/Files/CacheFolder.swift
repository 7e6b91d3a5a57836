// The cache's folder: every system call that touches it, except SQLite's own.
//
//     lock               held by the store that uses the folder
//     index.sqlite       and its journal
//     entry.partial      the file being written; a kill leaves at most this one
//     frame-3/ab/…       the entries of a group, by the first byte of their keys
//     displaced-…        files and folders that are not the store's and were in its way, renamed: a folder with files
//                        where an entry belongs, or a file where a folder belongs
//
// Only files with these names are opened or removed: a folder that was configured by mistake loses none of its own
// files.

#if canImport(Glibc)
  import Glibc
#endif

/// The outcome of removing the file at an entry's path.
enum EntryRemoval: Sendable {
  /// Nothing is at the path now.
  case removed
  /// What was at the path was not the store's, and was renamed to `displaced-…`.
  case displaced
  /// What is at the path can be neither removed nor renamed, such as an immutable file.
  case stuck
}

struct CacheFolder: Sendable {
  private static let indexName = "index.sqlite"
  private static let displacedPrefix = "displaced-"

  let path: String
  private let root: [UInt8]
  private let environment: DiskEnvironment

  init(path: String, environment: DiskEnvironment) {
    self.path = path
    root = Array(path.utf8) + [UInt8(ascii: "/")]
    self.environment = environment
  }

  /// Creates the folder and missing parent folders, accessible only to this user.
  func make() throws(DiskFault) {
    func make(_ bytes: ArraySlice<UInt8>) -> Bool {
      if mkdir(terminated(bytes), 0o700) == 0 || errno == EEXIST { return true }
      guard errno == ENOENT, let slash = bytes.lastIndex(of: UInt8(ascii: "/")), slash > bytes.startIndex else {
        return false
      }
      return make(bytes[..<slash]) && (mkdir(terminated(bytes), 0o700) == 0 || errno == EEXIST)
    }
    guard make(root.dropLast()) else { throw .folderUnusable(code: errno) }
  }

  func lock() throws(DiskFault) -> CacheFolderLock {
    let descriptor = open(path("lock"), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw .folderUnusable(code: errno) }
    let lock = CacheFolderLock(owning: descriptor)
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      if errno == EWOULDBLOCK { throw .folderInUse }
      throw .folderUnusable(code: errno)
    }
    return lock
  }

  /// Opens the index, and creates it if it is missing.
  func openIndex() throws -> DiskIndex {
    // SQLite would create the file readable for all users.
    let descriptor = open(path(Self.indexName), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw DiskFault.folderUnusable(code: errno) }
    close(descriptor)
    return try DiskIndex(path: path + "/" + Self.indexName)
  }

  func removeIndex() {
    for suffix in ["", "-wal", "-shm", "-journal"] { unlink(path(Self.indexName + suffix)) }
  }

  // MARK: Entries

  func read(_ name: EntryName, entryBytes: Int) -> EntryReadResult {
    // O_NONBLOCK: do not block if the name is a FIFO.
    let descriptor = open(path(name), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)
    guard descriptor >= 0 else {
      switch errno {
      case ENOENT, ENOTDIR: return .missing
      case ELOOP: return .damaged(.wrongFormat)
      default: return .failed(code: errno)
      }
    }
    defer { close(descriptor) }
    return EntryFile.read(descriptor, as: name, entryBytes: entryBytes)
  }

  func contains(_ name: EntryName) -> Bool { access(path(name), F_OK) == 0 }

  /// Writes an entry's file, completely or not at all.
  ///
  /// - Returns: false if something at the path of the entry or of its folder can't be removed.
  func write(_ entry: DiskEntry, as name: EntryName) throws(DiskFault) -> Bool {
    let partial = path("entry.partial")
    try environment.check(.createFile)
    let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW
    var descriptor = open(partial, flags, 0o600)
    if descriptor < 0 && errno == EEXIST {
      unlink(partial)
      descriptor = open(partial, flags, 0o600)
    }
    guard descriptor >= 0 else { throw .systemCallFailed(.createFile, code: errno) }
    let prefix = EntryFile.prefix(of: entry, name)
    var code = environment.injectedError(.writeFile)
    // Write half of the bytes, so that an injected error leaves the same state as a full disk.
    let bytes = code == 0 ? entry.bytes[...] : entry.bytes.prefix(entry.bytes.count / 2)
    for part in [prefix[...], bytes] {
      let failure = append(part, to: descriptor)
      if code == 0 { code = failure }
    }
    // Some file systems report a full disk only when the file is closed.
    if close(descriptor) != 0 && code == 0 { code = errno }
    guard code == 0 else {
      unlink(partial)
      throw .systemCallFailed(.writeFile, code: code)
    }
    try environment.check(.renameFile)
    let target = path(name)
    if rename(partial, target) == 0 { return true }
    code = errno
    if code == ENOENT || code == ENOTDIR {
      guard displaceNonFolders(atFoldersOf: name) else {
        unlink(partial)
        return false
      }
      if makeFolders(of: name) && rename(partial, target) == 0 { return true }
      code = errno
    }
    if code == EISDIR || code == EPERM {
      if case .stuck = try remove(name) {
        unlink(partial)
        return false
      }
      if rename(partial, target) == 0 { return true }
      code = errno
    }
    unlink(partial)
    throw .systemCallFailed(.renameFile, code: code)
  }

  /// Removes an entry's file. Throws only errors that concern the whole folder or disk, not this file only.
  func remove(_ name: EntryName) throws(DiskFault) -> EntryRemoval {
    var code = environment.injectedError(.removeFile)
    if code == 0 {
      let place = path(name)
      if unlink(place) == 0 { return .removed }
      code = errno
      if code == EISDIR || code == EPERM {
        if rmdir(place) == 0 { return .removed }
        if displace(place) { return .displaced }
        code = errno
      }
    }
    switch code {
    case ENOENT, ENOTDIR: return .removed
    case EISDIR, EPERM, EBUSY: return .stuck
    default: throw .systemCallFailed(.removeFile, code: code)
    }
  }

  /// The path of an entry's file, for the log.
  func description(of name: EntryName) -> String {
    String(decoding: path(name).dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// The names `displaced-…`, sorted; empty if the folder can't be read.
  func displacedNames() -> [String] {
    let names = (try? names(in: terminated(root[...]))) ?? []
    return names.map { String(decoding: $0, as: UTF8.self) }.filter { name in
      name.hasPrefix(Self.displacedPrefix)
        && UInt64(name.dropFirst(Self.displacedPrefix.count), radix: 16) != nil
    }.sorted()
  }

  /// Removes a partial file that a kill left.
  func removePartial() { unlink(path("entry.partial")) }

  // MARK: Folders

  /// The groups that have a folder on disk.
  func groups() throws(DiskFault) -> [EntryGroup] {
    try names(in: terminated(root[...])).compactMap(EntryGroup.init(folderName:))
  }

  /// The keys of a group's entries, in one of its 256 folders.
  func keys(in group: EntryGroup, prefix: UInt8) throws(DiskFault) -> Set<DiskStore.Key> {
    Set(try names(in: path(group, prefix)).compactMap { DiskStore.Key(prefix: prefix, fileName: $0) })
  }

  /// Removes a group's folders, except those that are not empty.
  func removeFolders(of group: EntryGroup) {
    for prefix in UInt8.min...UInt8.max { rmdir(path(group, prefix)) }
    rmdir(path(group.folderName))
  }

  /// Renames whatever is at the path of one of an entry's folders and is not a folder: a file, or a broken link.
  /// Returns false if it can't be renamed.
  private func displaceNonFolders(atFoldersOf name: EntryName) -> Bool {
    for place in [path(name.group.folderName), path(name.group, name.key.prefix)] {
      var status = stat()
      guard lstat(place, &status) == 0 else { continue }
      // A link to a folder is accepted.
      if stat(place, &status) == 0, status.st_mode & S_IFMT == S_IFDIR { continue }
      guard environment.injectedError(.removeFile) == 0, displace(place) else { return false }
    }
    return true
  }

  private func displace(_ place: [CChar]) -> Bool {
    let number = UInt64.random(in: 0...UInt64.max)
    return rename(place, path(Self.displacedPrefix + String(number, radix: 16))) == 0
  }

  private func makeFolders(of name: EntryName) -> Bool {
    func make(_ path: [CChar]) -> Bool { mkdir(path, 0o700) == 0 || errno == EEXIST }
    return make(path(name.group.folderName)) && make(path(name.group, name.key.prefix))
  }

  /// The names in a folder; empty if there is no folder.
  private func names(in path: [CChar]) throws(DiskFault) -> [[UInt8]] {
    guard let stream = opendir(path) else {
      if errno == ENOENT || errno == ENOTDIR { return [] }
      throw .folderUnusable(code: errno)
    }
    defer { closedir(stream) }
    var names: [[UInt8]] = []
    while true {
      errno = 0
      guard let found = readdir(stream) else {
        if errno != 0 { throw .folderUnusable(code: errno) }
        return names
      }
      names.append(withUnsafeBytes(of: &found.pointee.d_name) { Array($0.prefix { $0 != 0 }) })
    }
  }

  /// Returns 0, or `errno`.
  private func append(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) -> Int32 {
    bytes.withUnsafeBytes { buffer in
      var done = 0
      while done < buffer.count {
        let count = Glibc.write(descriptor, buffer.baseAddress! + done, buffer.count - done)
        if count < 0 {
          if errno == EINTR { continue }
          return errno
        }
        done += count
      }
      return 0
    }
  }

  // MARK: Paths

  private func path(_ name: String) -> [CChar] { terminated((root + Array(name.utf8))[...]) }

  private func path(_ group: EntryGroup, _ prefix: UInt8) -> [CChar] {
    var bytes = root + Array(group.folderName.utf8) + [UInt8(ascii: "/")]
    Hexadecimal.append(UInt64(prefix), digits: 2, to: &bytes)
    return terminated(bytes[...])
  }

  private func path(_ name: EntryName) -> [CChar] {
    var bytes = root
    bytes.reserveCapacity(root.count + 64)
    bytes += name.group.folderName.utf8
    bytes.append(UInt8(ascii: "/"))
    Hexadecimal.append(UInt64(name.key.prefix), digits: 2, to: &bytes)
    bytes.append(UInt8(ascii: "/"))
    Hexadecimal.append(name.key.high, digits: 14, to: &bytes)
    Hexadecimal.append(name.key.low, digits: 16, to: &bytes)
    return terminated(bytes[...])
  }

  private func terminated(_ bytes: ArraySlice<UInt8>) -> [CChar] {
    [CChar](unsafeUninitializedCapacity: bytes.count + 1) { buffer, count in
      for (position, byte) in bytes.enumerated() { buffer[position] = CChar(bitPattern: byte) }
      buffer[bytes.count] = 0
      count = bytes.count + 1
    }
  }
}

/// The exclusive right to use the folder: one store has it while this value exists. The kernel releases it when the
/// process ends.
final class CacheFolderLock: Sendable {
  private let descriptor: Int32

  init(owning descriptor: Int32) { self.descriptor = descriptor }

  deinit {
    // Closing would not release the lock while a forked child shares the open file, which it does until it calls exec.
    flock(descriptor, LOCK_UN)
    close(descriptor)
  }
}
