// The library folder as a sequence of files in the order of their paths' bytes.
//
// That order is the catalogue's, so a scan is a merge of two sorted streams and holds one folder's names a level, not
// the library. It comes about as in git's index: within a folder a subfolder sorts as its name with a slash behind it.

import LibraryFolder
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

/// One regular file beneath the root.
struct WalkedFile {
  let path: [UInt8]
  let identity: FileIdentity
  /// When anything of it was last changed, by the kernel's word: nanoseconds since 1970.
  let changed: Int64
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

  private struct Level {
    let path: [UInt8]
    let folder: LibraryFile
    let device: UInt64
    var names: FolderNames
  }

  private let root: LibraryFolder
  private let surroundings: LibrarySurroundings
  /// Folders that are not entered.
  private let passedOver: Set<[UInt8]>
  private var levels: [Level] = []
  private var pending: Item?
  /// Folders that lie on another file system than those they are in, so far, in their order.
  private(set) var mounts: [KnownMount] = []

  /// Whether there is nothing at all in the root. A root that can't be listed is not empty.
  let isEmpty: Bool

  /// - Parameter passedOver: folders that are not entered, without a word.
  init(root: LibraryFolder, surroundings: LibrarySurroundings = .system, passingOver passedOver: Set<[UInt8]> = []) {
    self.root = root
    self.surroundings = surroundings
    self.passedOver = passedOver
    var levels: [Level] = []
    pending = Self.enter([], root, surroundings, &levels)
    isEmpty = levels.first?.names.isEmpty ?? false
    self.levels = levels
  }

  /// The next item, or `nil` after the last.
  mutating func next() -> Item? {
    if let item = pending.take() { return item }
    while let level = levels.last {
      guard let entry = levels[levels.count - 1].names.next() else {
        levels.removeLast()
        continue
      }
      let path = level.path.isEmpty ? entry.name : level.path + [UInt8(ascii: "/")] + entry.name
      guard entry.isFolder else {
        if let item = look(at: path, entry.name, in: level.folder) { return item }
        continue
      }
      if passedOver.contains(path) { continue }
      let depth = levels.count
      if let item = Self.enter(path, root, surroundings, &levels) { return item }
      if levels.count > depth { noteMount(parent: level.device) }
    }
    return nil
  }

  private mutating func noteMount(parent: UInt64) {
    guard let level = levels.last, level.device != parent else { return }
    // One that does not tell what it is can't be known again.
    if let identity = try? surroundings.fileSystem(level.path, level.folder) {
      mounts.append(KnownMount(path: level.path, fileSystem: identity))
    }
  }

  /// Opens a folder and reads its names. An item only where that fails.
  private static func enter(
    _ path: [UInt8], _ root: LibraryFolder, _ surroundings: LibrarySurroundings, _ levels: inout [Level]
  ) -> Item? {
    guard levels.count < maximumDepth else {
      return .unreadableFolder(path: path, reason: "more than \(maximumDepth) folders deep")
    }
    do throws(SystemError) {
      let folder = try root.open(path, isFolder: true)
      // A link to a folder that we are in would never end.
      let isInside = levels.contains {
        $0.folder.identity.inode == folder.identity.inode && $0.folder.device == folder.device
      }
      if isInside { return nil }
      var names = try FolderNames(of: folder) { name, _ in
        // A link, or a file system that does not tell. Followed only as far as the library reaches.
        let whole = path.isEmpty ? name : path + [UInt8(ascii: "/")] + name
        return (try? root.open(whole, isFolder: true)) != nil
      }
      names.sort()
      levels.append(
        Level(path: path, folder: folder, device: surroundings.device(path, folder), names: names))
      return nil
    } catch {
      return .unreadableFolder(path: path, reason: error.description)
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
    case .file: return .file(WalkedFile(path: path, identity: entry.identity, changed: entry.changed))
    case .link:
      do throws(SystemError) {
        let target = try root.open(path)
        // A link to a device, or to a folder that went meanwhile: nothing of ours.
        return target.isRegularFile
          ? .file(WalkedFile(path: path, identity: target.identity, changed: target.changed)) : nil
      } catch {
        let reason = error.code == EXDEV ? "a symbolic link that leaves the library" : "a symbolic link: \(error)"
        return .unreadable(path: path, reason: reason)
      }
    case .other: return nil
    }
  }
}
