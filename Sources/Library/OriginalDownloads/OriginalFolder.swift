// The folder of downloaded originals: every system call that touches it.
//
//     ab/0123…           a complete original
//     partial-17         one that is being downloaded; removed at the next start
//
// Other names are left as they are: a folder that was configured by mistake loses none of its own files.

import DurableFiles
import LibraryFolder
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

struct OriginalFolder: Sendable {
  private static let partialPrefix = Array("partial-".utf8)

  private let folder: LibraryFolder

  init(path: String) throws(SystemError) {
    if mkdir(path, 0o700) == 0 {
      FileOwner.inherit(path)
    } else if errno != EEXIST {
      throw SystemError(code: errno)
    }
    folder = try LibraryFolder(path: path)
  }

  /// Removes the partial files of an earlier process, and finds the complete originals, the most recently used one
  /// last. The order is that of access times, which most file systems update once a day (mount(8), relatime). This
  /// process does not set access times: readers would believe that the file was changed.
  func load() throws(SystemError) -> [(name: OriginalName, size: Int64)] {
    let root = try folder.open([], isFolder: true)
    var found: [(name: OriginalName, size: Int64, used: Int64)] = []
    var names = try FolderNames(of: root) { _, _ in false }
    while let (name, isFolder) = names.next() {
      if name.starts(with: Self.partialPrefix) { try? root.remove(name) }
      if isFolder, name.count == 2 { try load(name, &found) }
    }
    return found.sorted { $0.used < $1.used }.map { ($0.name, $0.size) }
  }

  private func load(
    _ name: [UInt8], _ found: inout [(name: OriginalName, size: Int64, used: Int64)]
  ) throws(SystemError) {
    let opened = try folder.open(name, isFolder: true)
    var files = try FolderNames(of: opened) { _, _ in false }
    while let (file, isFolder) = files.next() {
      guard !isFolder, let original = OriginalName(folder: name, file: file) else { continue }
      var status = stat()
      let result = (file + [0]).withUnsafeBytes {
        fstatat(
          opened.descriptor, $0.assumingMemoryBound(to: CChar.self).baseAddress!, &status, AT_SYMLINK_NOFOLLOW)
      }
      guard result == 0, status.st_mode & S_IFMT == S_IFREG else { continue }
      found.append((original, Int64(status.st_size), Int64(max(status.st_atim.tv_sec, status.st_mtim.tv_sec))))
    }
  }

  /// A new file for a download, open for reading and writing.
  func makePartial(_ number: UInt64) throws(SystemError) -> PartialFile {
    let root = try folder.open([], isFolder: true)
    let name = Self.partialPrefix + Array("\(number)".utf8)
    return PartialFile(name: name, file: try LibraryFile(owning: root.create(name)))
  }

  /// Gives a complete file its final name. Without a sync, a power failure may leave a truncated file.
  func keep(_ partial: PartialFile, as name: OriginalName, syncs: Bool = true) throws(SystemError) {
    if syncs { try partial.file.sync() }
    let parent = try folder.openMakingFolders(name.folder, isPrivate: true)
    let root = try folder.open([], isFolder: true)
    // An older file of this name has the same content, or is damaged.
    try? parent.remove(name.file)
    try root.rename(partial.name, to: parent, as: name.file)
  }

  func discard(_ partial: PartialFile) {
    try? folder.open([], isFolder: true).remove(partial.name)
  }

  /// Opens an original. `nil` if it is missing or has another size.
  func open(_ name: OriginalName, size: Int64) -> LibraryFile? {
    guard let file = open(name), file.size == size else { return nil }
    return file
  }

  func open(_ name: OriginalName) -> LibraryFile? {
    guard let file = try? folder.open(name.path), file.isRegularFile else { return nil }
    return file
  }

  func remove(_ name: OriginalName) {
    try? folder.open(name.folder, isFolder: true).remove(name.file)
  }
}

/// The file of a download under way. It stays readable after it got its name, or was removed.
struct PartialFile: Sendable {
  let name: [UInt8]
  let file: LibraryFile

  /// Writes all bytes at an offset.
  func write(_ bytes: [UInt8], at offset: Int64) throws(SystemError) {
    try writeAll(bytes.span.bytes, to: file.descriptor, at: offset)
  }
}
