// The names of one folder in one buffer: a folder of a hundred thousand photographs takes two allocations, not a
// hundred thousand, and is freed at once when the walk leaves it.

import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

/// The names in one folder, without those that are not part of the library.
package struct FolderNames {
  private struct Entry {
    let offset: UInt32
    /// Length in bytes in the buffer, including the slash of a folder.
    let length: UInt16
    let isFolder: Bool
  }

  /// The names, concatenated; each folder name is followed by a slash, as in the order of paths.
  private var bytes: [UInt8] = []
  private var entries: [Entry] = []

  /// Whether no name is left.
  package var isEmpty: Bool { entries.isEmpty }
  /// Number of names that `next` has not returned yet.
  package var count: Int { entries.count }

  /// Whether a name is not part of the library: hidden folders belong to other programs (trash, thumbnails, version
  /// control).
  package static func isIgnored(_ name: some Collection<UInt8>, isFolder: Bool) -> Bool {
    isFolder && name.first == UInt8(ascii: ".")
  }

  /// Reads the names of a folder in directory order, without the ignored ones.
  ///
  /// - Parameters:
  ///   - limit: maximum number of names to read.
  ///   - isFolder: called for a link, and where the file system does not report the type.
  package init(
    of folder: LibraryFile, limit: Int = .max, isFolder: (_ name: [UInt8], _ isLink: Bool) -> Bool
  ) throws(SystemError) {
    // `closedir` closes the descriptor, so the stream gets a copy. The copy shares the read position with the original,
    // hence `rewinddir`.
    let copy = dup(folder.descriptor)
    guard copy >= 0, let stream = fdopendir(copy) else {
      let code = errno
      if copy >= 0 { close(copy) }
      throw SystemError(code: code)
    }
    defer { closedir(stream) }
    rewinddir(stream)
    while entries.count < limit {
      errno = 0
      guard let found = readdir(stream) else {
        if errno != 0 { throw SystemError(code: errno) }
        return
      }
      // On FUSE a name may be longer than the declared field.
      let field = UnsafeRawPointer(found) + MemoryLayout<dirent>.offset(of: \.d_name)!
      let name = UnsafeRawBufferPointer(start: field, count: strlen(field.assumingMemoryBound(to: CChar.self)))
      if name.elementsEqual(".".utf8) || name.elementsEqual("..".utf8) { continue }
      let isFolder =
        switch Int32(found.pointee.d_type) {
        case Int32(DT_DIR): true
        case Int32(DT_REG): false
        default: isFolder(Array(name), Int32(found.pointee.d_type) == Int32(DT_LNK))
        }
      if Self.isIgnored(name, isFolder: isFolder) { continue }
      guard let offset = UInt32(exactly: bytes.count), let length = UInt16(exactly: name.count + (isFolder ? 1 : 0))
      else { throw SystemError(code: EOVERFLOW) }
      bytes.append(contentsOf: name)
      if isFolder { bytes.append(UInt8(ascii: "/")) }
      entries.append(Entry(offset: offset, length: length, isFolder: isFolder))
    }
  }

  /// Reads the names of a folder in directory order, without the ignored ones. A link counts as a file, also if it
  /// leads to a folder.
  package init(notFollowingLinksOf folder: LibraryFile) throws(SystemError) {
    try self.init(of: folder) { name, isLink in
      guard !isLink, let entry = try? folder.entry(name) else { return false }
      return entry.kind == .other
    }
  }

  /// Sorts the names by the bytes of their paths, for `next`.
  package mutating func sort() {
    bytes.withUnsafeBytes { bytes in
      entries.sort { a, b in
        let order = memcmp(
          bytes.baseAddress! + Int(a.offset), bytes.baseAddress! + Int(b.offset), Int(min(a.length, b.length)))
        // Descending, because `next` takes the last entry.
        return order == 0 ? a.length > b.length : order > 0
      }
    }
  }

  /// Removes and returns a name: the next one in the order of `sort`; without it, in no particular order.
  package mutating func next() -> (name: [UInt8], isFolder: Bool)? {
    guard let entry = entries.popLast() else { return nil }
    let end = Int(entry.offset) + Int(entry.length) - (entry.isFolder ? 1 : 0)
    return (Array(bytes[Int(entry.offset)..<end]), entry.isFolder)
  }
}
