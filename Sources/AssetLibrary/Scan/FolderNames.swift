// The names in one folder, in one buffer: a folder of a hundred thousand photographs is two allocations, not a hundred
// thousand, and is gone as a whole when the walk leaves it.

import LibraryFolder

#if canImport(Glibc)
  import Glibc
#endif

struct FolderNames {
  private struct Entry {
    let offset: UInt32
    /// Of its bytes in the buffer, a folder's slash among them.
    let length: UInt16
    let isFolder: Bool
  }

  /// The names one behind the other; a folder's has a slash behind it, which is how it sorts in a list of paths.
  private var bytes: [UInt8] = []
  private var entries: [Entry] = []

  var isEmpty: Bool { entries.isEmpty }
  var count: Int { entries.count }

  /// What is no part of a library, by its name: hidden folders. They are other programs' own (trash, thumbnails, version
  /// control).
  static func passesOver(_ name: some Collection<UInt8>, isFolder: Bool) -> Bool {
    isFolder && name.first == UInt8(ascii: ".")
  }

  /// Reads a folder's names as they come, save those that are passed over.
  ///
  /// - Parameters:
  ///   - limit: no more than so many.
  ///   - isFolder: asked of a link, and where the file system does not tell.
  init(
    of folder: LibraryFile, limit: Int = .max, isFolder: (_ name: [UInt8], _ isLink: Bool) -> Bool
  ) throws(SystemError) {
    // The directory stream closes its descriptor, the folder keeps its own. They share a position, which is at its
    // beginning only the first time.
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
      // A name may be longer than the field is declared, on FUSE.
      let field = UnsafeRawPointer(found) + MemoryLayout<dirent>.offset(of: \.d_name)!
      let name = UnsafeRawBufferPointer(start: field, count: strlen(field.assumingMemoryBound(to: CChar.self)))
      if name.elementsEqual(".".utf8) || name.elementsEqual("..".utf8) { continue }
      let isFolder =
        switch Int32(found.pointee.d_type) {
        case Int32(DT_DIR): true
        case Int32(DT_REG): false
        default: isFolder(Array(name), Int32(found.pointee.d_type) == Int32(DT_LNK))
        }
      if Self.passesOver(name, isFolder: isFolder) { continue }
      guard let offset = UInt32(exactly: bytes.count), let length = UInt16(exactly: name.count + (isFolder ? 1 : 0))
      else { throw SystemError(code: EOVERFLOW) }
      bytes.append(contentsOf: name)
      if isFolder { bytes.append(UInt8(ascii: "/")) }
      entries.append(Entry(offset: offset, length: length, isFolder: isFolder))
    }
  }

  /// Puts them into the order of their paths' bytes: `next` goes by it.
  mutating func sort() {
    bytes.withUnsafeBytes { bytes in
      entries.sort { a, b in
        let order = memcmp(
          bytes.baseAddress! + Int(a.offset), bytes.baseAddress! + Int(b.offset), Int(min(a.length, b.length)))
        // Backwards, so that the next one is the last.
        return order == 0 ? a.length > b.length : order > 0
      }
    }
  }

  mutating func next() -> (name: [UInt8], isFolder: Bool)? {
    guard let entry = entries.popLast() else { return nil }
    let end = Int(entry.offset) + Int(entry.length) - (entry.isFolder ? 1 : 0)
    return (Array(bytes[Int(entry.offset)..<end]), entry.isFolder)
  }
}
