// The library folder as a sequence of files in the order of their paths' bytes.
//
// That order is the catalogue's, so a scan is a merge of two sorted streams and holds one folder's names a level, not
// the library. It comes about as in git's index: within a folder a subfolder sorts as its name with a slash behind it.
// A walk of a scope goes through its stretches in that same order, and meets in each what a walk of everything would.

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
  private let observer: (any WalkObserver)?
  /// Folders that are not entered.
  private let passedOver: Set<[UInt8]>
  /// Those that are not begun yet, the next one last.
  private var stretches: [ScanScope.Stretch]
  /// The folders that the present stretch lies in.
  private var outer: [(path: [UInt8], folder: LibraryFile)] = []
  private var levels: [Level] = []
  private var pending: Item?
  /// Folders that lie on another file system than those they are in, so far, in their order.
  private(set) var mounts: [KnownMount] = []

  /// Whether there is nothing at all in the root, of a walk of everything. A root that can't be listed is not empty.
  private(set) var isEmpty = false

  /// - Parameters:
  ///   - scope: what of the library is walked through.
  ///   - passedOver: folders that are not entered, without a word.
  init(
    root: LibraryFolder, surroundings: LibrarySurroundings = .system, scope: ScanScope = .everything,
    passingOver passedOver: Set<[UInt8]> = [], observer: (any WalkObserver)? = nil
  ) {
    self.root = root
    self.surroundings = surroundings
    self.passedOver = passedOver
    self.observer = observer
    stretches = scope.stretches.reversed()
    guard scope.isEverything else { return }
    stretches = []
    pending = enter([])
    isEmpty = levels.first?.names.isEmpty ?? false
  }

  /// The next item, or `nil` after the last.
  mutating func next() -> Item? {
    if let item = pending.take() { return item }
    while true {
      guard let level = levels.last else {
        guard let stretch = stretches.popLast() else { return nil }
        if let item = begin(stretch) { return item }
        continue
      }
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
      if let item = enter(path) { return item }
      if levels.count > depth { noteMount(parent: level.device) }
    }
  }

  private mutating func noteMount(parent: UInt64) {
    guard let level = levels.last, level.device != parent else { return }
    // One that does not tell what it is can't be known again.
    if let identity = try? surroundings.fileSystem(level.path, level.folder) {
      mounts.append(KnownMount(path: level.path, fileSystem: identity))
    }
  }

  /// Opens a folder and reads its names. An item only where that fails.
  private mutating func enter(_ path: [UInt8]) -> Item? {
    guard outer.count + levels.count < Self.maximumDepth else {
      return .unreadableFolder(path: path, reason: "more than \(Self.maximumDepth) folders deep")
    }
    do throws(SystemError) {
      let folder = try root.open(path, isFolder: true)
      // A link to a folder that we are in would never end.
      let isInside =
        levels.contains { $0.folder.isSameFile(as: folder) } || outer.contains { $0.folder.isSameFile(as: folder) }
      if isInside { return nil }
      observer?.willList(path, folder)
      var names = try FolderNames(of: folder) { [root, observer] name, isLink in
        // A link, or a file system that does not tell. Followed only as far as the library reaches.
        let whole = path.isEmpty ? name : path + [UInt8(ascii: "/")] + name
        let isFolder = (try? root.open(whole, isFolder: true)) != nil
        if isLink { observer?.passes(link: whole, isFolder: isFolder) }
        return isFolder
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

// MARK: - Some paths

extension LibraryWalk {
  /// Whether there is nothing at all in a root. One that can't be listed is not empty.
  static func isEmpty(_ root: LibraryFolder) -> Bool {
    guard let folder = try? root.open([], isFolder: true) else { return false }
    let names = try? FolderNames(of: folder, limit: 1) { name, _ in (try? root.open(name, isFolder: true)) != nil }
    return names?.isEmpty ?? false
  }

  /// Goes where a stretch begins: to a file, or into a folder. An item where there is a file, or a folder that can't be
  /// looked into; nothing where there is nothing.
  private mutating func begin(_ stretch: ScanScope.Stretch) -> Item? {
    let path = stretch.path
    let slash = path.lastIndex(of: UInt8(ascii: "/"))
    if let item = goInto(Array(path[..<(slash ?? 0)])) { return item.flatMap(\.self) }
    guard let parent = outer.last?.folder else { return nil }
    let name = Array(path[(slash.map { $0 + 1 } ?? 0)...])
    switch stretch {
    case .file:
      let item = look(at: path, name, in: parent)
      if let entry = try? parent.entry(name), entry.kind == .link { observer?.passes(link: path, isFolder: false) }
      return item
    case .folder:
      if FolderNames.passesOver(name, isFolder: true) { return nil }
      var isLink = false
      do throws(SystemError) {
        isLink = try parent.entry(name).kind == .link
        _ = try root.open(path, isFolder: true)
      } catch {
        // A link that leads nowhere is no folder.
        let isNone = isLink || error.code == ENOENT || error.code == ENOTDIR
        return isNone ? nil : .unreadableFolder(path: path, reason: error.description)
      }
      if isLink { observer?.passes(link: path, isFolder: true) }
      return enter(path)
    }
  }

  /// Opens the folders that a path lies in, as far as they are not open from the stretch before.
  ///
  /// - Returns: `nil` where they are open. Else there is nothing at that path, or it can't be told: then an item.
  private mutating func goInto(_ path: [UInt8]) -> Item?? {
    while let last = outer.last, last.path != path, !isPath(path, below: last.path) { outer.removeLast() }
    while outer.last?.path != path {
      var next: [UInt8] = []
      if let last = outer.last {
        let rest = path[(last.path.isEmpty ? 0 : last.path.count + 1)...]
        next = (last.path.isEmpty ? [] : last.path + [UInt8(ascii: "/")]) + rest.prefix { $0 != UInt8(ascii: "/") }
      }
      do throws(SystemError) {
        outer.append((next, try root.open(next, isFolder: true)))
      } catch {
        if error.code == ENOENT || error.code == ENOTDIR { return .some(nil) }
        return .unreadableFolder(path: next, reason: error.description)
      }
    }
    return nil
  }
}

extension LibraryFile {
  fileprivate func isSameFile(as other: LibraryFile) -> Bool {
    identity.inode == other.identity.inode && device == other.device
  }
}
