// The library folder as a sequence of files in the order of their paths' bytes.
//
// That order is the catalogue's, so a scan is a merge of two sorted streams and holds one folder's names a level, not the
// library. It comes about as in git's index: within a folder a subfolder sorts as its name with a slash behind it.

import LibraryFolder
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

/// One regular file beneath the root.
struct WalkedFile {
  let path: [UInt8]
  let identity: FileIdentity
}

struct LibraryWalk {
  enum Item {
    case file(WalkedFile)
    /// A file or link that can't even be looked at; it is recorded and goes on.
    case unreadable(path: [UInt8], reason: String)
    /// A folder that can't be listed: what the catalogue knows below it stays as it is.
    case unreadableFolder(path: [UInt8], reason: String)
  }

  /// Folders inside folders, and so open levels of the walk.
  static let maximumDepth = 128

  private struct Entry {
    let name: [UInt8]
    let isFolder: Bool
    /// With a slash behind a folder's name.
    var sortKey: [UInt8] { isFolder ? name + [UInt8(ascii: "/")] : name }
  }

  private struct Level {
    let path: [UInt8]
    let folder: LibraryFile
    /// Sorted backwards, so that the next one is the last.
    var entries: [Entry]
  }

  private let root: LibraryFolder
  private var levels: [Level] = []
  private var pending: Item?

  init(root: LibraryFolder) {
    self.root = root
    pending = enter([])
  }

  /// The next item, or `nil` after the last.
  mutating func next() -> Item? {
    if let item = pending.take() { return item }
    while let level = levels.last {
      guard let entry = level.entries.last else {
        levels.removeLast()
        continue
      }
      levels[levels.count - 1].entries.removeLast()
      let path = level.path.isEmpty ? entry.name : level.path + [UInt8(ascii: "/")] + entry.name
      if let item = entry.isFolder ? enter(path) : look(at: path, entry.name, in: level.folder) { return item }
    }
    return nil
  }

  /// Opens a folder and reads its names. An item only where that fails.
  private mutating func enter(_ path: [UInt8]) -> Item? {
    guard levels.count < Self.maximumDepth else {
      return .unreadableFolder(path: path, reason: "more than \(Self.maximumDepth) folders deep")
    }
    let folder: LibraryFile
    do throws(SystemError) {
      folder = try root.open(path, isFolder: true)
    } catch {
      return .unreadableFolder(path: path, reason: error.description)
    }
    // A link to a folder that we are in would never end.
    let isInside = levels.contains {
      $0.folder.identity.inode == folder.identity.inode && $0.folder.device == folder.device
    }
    if isInside { return nil }
    guard let entries = names(in: folder, path) else {
      return .unreadableFolder(path: path, reason: SystemError(code: errno).description)
    }
    levels.append(Level(path: path, folder: folder, entries: entries))
    return nil
  }

  /// The entries of a folder, last first; `nil` with `errno` set.
  private func names(in folder: LibraryFile, _ path: [UInt8]) -> [Entry]? {
    // The directory stream closes its descriptor, the folder keeps its own.
    let copy = dup(folder.descriptor)
    guard copy >= 0, let stream = fdopendir(copy) else { return nil }
    defer { closedir(stream) }
    var entries: [Entry] = []
    while true {
      errno = 0
      guard let found = readdir(stream) else {
        if errno != 0 { return nil }
        break
      }
      let name = withUnsafeBytes(of: &found.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
      if name == [UInt8(ascii: ".")] || name == Array("..".utf8) { continue }
      let isFolder = isFolder(found.pointee.d_type, name, folder, path)
      // Folders whose names begin with a dot are other programs' own: trash, thumbnails, version control.
      if isFolder && name[0] == UInt8(ascii: ".") { continue }
      entries.append(Entry(name: name, isFolder: isFolder))
    }
    return entries.sorted { $1.sortKey.lexicographicallyPrecedes($0.sortKey) }
  }

  private func isFolder(_ type: UInt8, _ name: [UInt8], _ folder: LibraryFile, _ path: [UInt8]) -> Bool {
    switch Int32(type) {
    case Int32(DT_DIR): return true
    case Int32(DT_REG): return false
    default:
      // A link, or a file system that does not tell. Followed only as far as the library reaches.
      let whole = path.isEmpty ? name : path + [UInt8(ascii: "/")] + name
      return (try? root.open(whole, isFolder: true)) != nil
    }
  }

  private func look(at path: [UInt8], _ name: [UInt8], in folder: LibraryFile) -> Item? {
    let entry: FolderEntry
    do throws(SystemError) {
      entry = try folder.entry(name)
    } catch {
      return error.code == ENOENT ? nil : .unreadable(path: path, reason: error.description)
    }
    switch entry.kind {
    case .file: return .file(WalkedFile(path: path, identity: entry.identity))
    case .link:
      do throws(SystemError) {
        let target = try root.open(path)
        // A link to a device, or to a folder that went meanwhile: nothing of ours.
        return target.isRegularFile ? .file(WalkedFile(path: path, identity: target.identity)) : nil
      } catch {
        let reason = error.code == EXDEV ? "a symbolic link that leaves the library" : "a symbolic link: \(error)"
        return .unreadable(path: path, reason: reason)
      }
    case .other: return nil
    }
  }
}
