// Walks the library folder and yields its files in the byte order of their paths.
//
// The catalogue uses the same order, so a scan merges two sorted streams and holds one folder's names for each level,
// never the whole library. As in git's index, a subfolder sorts as its name followed by a slash. A walk of a scope
// visits its targets in the same order and yields the same items for them as a full walk.
//
// Links to folders of the library are followed, at most two on the way to a file: folders with links to each other would
// otherwise have as many paths as their names have orders.

import LibraryCatalogue
import LibraryFolder
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

/// One regular file beneath the root.
struct WalkedFile {
  let path: [UInt8]
  let identity: FileIdentity
  /// Time of the last change of contents, name or mode (ctime): nanoseconds since 1970.
  let changeTimeNanoseconds: Int64
}

struct LibraryWalk {
  enum Item {
    case file(WalkedFile)
    /// A folder on another file system than its parent, before what is in it.
    case fileSystem(KnownMount)
    /// A file or link that can't be examined; it is recorded, and the walk continues. A link whose target does not
    /// exist is no item.
    case unreadable(path: [UInt8], reason: String)
    /// A folder that can't be listed: the rows below it are kept.
    case unreadableFolder(path: [UInt8], reason: String)
  }

  /// Maximum folder depth, which is the number of open levels.
  static let maximumDepth = 128
  /// Maximum number of links to folders on the way to a file.
  static let maximumFolderLinks = 2

  private struct Level {
    let path: [UInt8]
    let folder: LibraryFile
    let device: UInt64
    /// Links on the way to it.
    let links: Int
    /// The names of links to folders.
    let folderLinks: Set<[UInt8]>
    var names: FolderNames
  }

  private let root: LibraryFolder
  private let environment: LibraryEnvironment
  private let observer: (any WalkObserver)?
  /// Folders that the walk does not enter.
  private let skippedFolders: Set<[UInt8]>
  /// Remaining targets, the next one last.
  private var targets: [ScanScope.Target]
  /// The open folders above the current target.
  private var ancestors: [(path: [UInt8], folder: LibraryFile, links: Int)] = []
  private var spellings = NameSpellings()
  private var levels: [Level] = []
  private var pending: Item?
  /// Folders on another file system than their parent, met so far, in walk order.
  private(set) var mounts: [KnownMount] = []
  private(set) var listedFolders = ListedFolders()

  /// Whether the root of a full walk is empty. A root that can't be listed is not empty.
  private(set) var isEmpty = false

  /// - Parameters:
  ///   - scope: the part of the library to walk.
  ///   - skippedFolders: folders that are not entered and yield no item.
  init(
    root: LibraryFolder, environment: LibraryEnvironment = .system, scope: ScanScope = .everything,
    skipping skippedFolders: Set<[UInt8]> = [], observer: (any WalkObserver)? = nil
  ) {
    self.root = root
    self.environment = environment
    self.skippedFolders = skippedFolders
    self.observer = observer
    targets = scope.targets.reversed()
    guard scope.isEverything else { return }
    targets = []
    pending = enter([], links: 0)
    isEmpty = levels.first?.names.isEmpty ?? false
  }

  /// The next item, or `nil` after the last.
  mutating func next() -> Item? {
    if let item = pending.take() { return item }
    while true {
      guard let level = levels.last else {
        guard let target = targets.popLast() else { return nil }
        if let item = begin(target) { return item }
        continue
      }
      guard let entry = levels[levels.count - 1].names.next() else {
        levels.removeLast()
        continue
      }
      let path = LibraryPath.join(level.path, entry.name)
      guard entry.isFolder else {
        if let item = item(at: path, entry.name, in: level.folder) { return item }
        continue
      }
      if skippedFolders.contains(path) { continue }
      let depth = levels.count
      let links = level.links + (level.folderLinks.contains(entry.name) ? 1 : 0)
      if let item = enter(path, links: links) { return item }
      if levels.count > depth, let item = enteredFileSystem(from: level.device) { return item }
    }
  }

  /// Leaves the file system that `next()` has just returned: nothing in it is walked.
  mutating func leaveFileSystem() {
    levels.removeLast()
    mounts.removeLast()
  }

  /// The file system of the folder that was just entered, if it is not on the device of its parent.
  private mutating func enteredFileSystem(from parent: UInt64) -> Item? {
    guard let level = levels.last, level.device != parent else { return nil }
    // A file system without an identity can't be recognised later.
    guard let identity = try? environment.fileSystem(level.path, level.folder) else { return nil }
    let mount = KnownMount(path: level.path, fileSystem: identity)
    mounts.append(mount)
    return .fileSystem(mount)
  }

  /// Opens a folder and reads its names. Returns an item only if that fails.
  ///
  /// - Parameter links: links on the way to it.
  private mutating func enter(_ path: [UInt8], links: Int) -> Item? {
    guard ancestors.count + levels.count < Self.maximumDepth else {
      return .unreadableFolder(path: path, reason: "more than \(Self.maximumDepth) folders deep")
    }
    do throws(SystemError) {
      let folder = try root.open(path, isFolder: true)
      // A link to an enclosing folder would recurse forever.
      let isInside =
        levels.contains { $0.folder.isSameFile(as: folder) } || ancestors.contains { $0.folder.isSameFile(as: folder) }
      if isInside { return nil }
      observer?.willList(path, folder)
      listedFolders.record(path, folder)
      var folderLinks: Set<[UInt8]> = []
      var names = try FolderNames(of: folder) { [root, observer] name, isLink in
        // A link, or a file system that does not report entry types. Links are followed only within the library.
        let whole = LibraryPath.join(path, name)
        let isFolder = (try? root.open(whole, isFolder: true)) != nil
        guard isLink || isFolder && (try? folder.entry(name))?.kind == .link else { return isFolder }
        observer?.didFind(link: whole, isFolder: isFolder)
        guard isFolder, links < Self.maximumFolderLinks else { return false }
        folderLinks.insert(name)
        return true
      }
      names.sort()
      levels.append(
        Level(
          path: path, folder: folder, device: environment.device(path, folder), links: links,
          folderLinks: folderLinks, names: names))
      return nil
    } catch {
      return .unreadableFolder(path: path, reason: error.description)
    }
  }

  private func item(at path: [UInt8], _ name: [UInt8], in folder: LibraryFile) -> Item? {
    let entry: FolderEntry
    do throws(SystemError) {
      entry = try folder.entry(name)
    } catch {
      return error.code == ENOENT ? nil : .unreadable(path: path, reason: error.description)
    }
    switch entry.kind {
    case .file:
      return .file(WalkedFile(path: path, identity: entry.identity, changeTimeNanoseconds: entry.changeTimeNanoseconds))
    case .link:
      do throws(SystemError) {
        let target = try root.open(path)
        // A link to a device, or to a folder that was removed meanwhile, is ignored.
        return target.isRegularFile
          ? .file(
            WalkedFile(path: path, identity: target.identity, changeTimeNanoseconds: target.changeTimeNanoseconds))
          : nil
      } catch {
        // The target is gone, and with it the file of the link: see also `LibraryMerge.keepLinks`.
        if error.code == ENOENT || error.code == ENOTDIR { return nil }
        let reason = error.code == EXDEV ? "a symbolic link that leaves the library" : "a symbolic link: \(error)"
        return .unreadable(path: path, reason: reason)
      }
    case .other: return nil
    }
  }
}

// MARK: - Targets

extension LibraryWalk {
  /// Whether a root is empty. A root that can't be listed is not empty.
  static func isEmpty(_ root: LibraryFolder) -> Bool {
    guard let folder = try? root.open([], isFolder: true) else { return false }
    let names = try? FolderNames(of: folder, limit: 1) { name, _ in (try? root.open(name, isFolder: true)) != nil }
    return names?.isEmpty ?? false
  }

  /// Starts a target: a file, or a folder to enter. Returns an item for a file or an unreadable folder, and `nil` if
  /// nothing is there.
  private mutating func begin(_ target: ScanScope.Target) -> Item? {
    let path = target.path
    if let item = openAncestors(LibraryPath.folder(of: path)) { return item.flatMap(\.self) }
    guard let (parentPath, parent, parentLinks) = ancestors.last else { return nil }
    let name = LibraryPath.name(of: path)
    if spellings.isRespelled(name, in: parent, at: parentPath) { return nil }
    switch target {
    case .file:
      let item = item(at: path, name, in: parent)
      if let entry = try? parent.entry(name), entry.kind == .link { observer?.didFind(link: path, isFolder: false) }
      return item
    case .folder:
      if FolderNames.isIgnored(name, isFolder: true) { return nil }
      var isLink = false
      do throws(SystemError) {
        isLink = try parent.entry(name).kind == .link
        _ = try root.open(path, isFolder: true)
      } catch {
        // A broken link is not a folder.
        let isNone = isLink || error.code == ENOENT || error.code == ENOTDIR
        return isNone ? nil : .unreadableFolder(path: path, reason: error.description)
      }
      if isLink { observer?.didFind(link: path, isFolder: true) }
      let links = parentLinks + (isLink ? 1 : 0)
      if links > Self.maximumFolderLinks { return nil }
      if let item = enter(path, links: links) { return item }
      // A disk may have been mounted in a new folder.
      return enteredFileSystem(from: environment.device(parentPath, parent))
    }
  }

  /// Opens the folders above a path, reusing those that are open from the previous target.
  ///
  /// - Returns: `nil` if they are open. Otherwise `.some(nil)` if nothing exists at that path, or an item if a folder
  ///   can't be opened.
  private mutating func openAncestors(_ path: [UInt8]) -> Item?? {
    while let last = ancestors.last, last.path != path, !LibraryPath.isPath(path, below: last.path) {
      ancestors.removeLast()
    }
    while ancestors.last?.path != path {
      var next: [UInt8] = []
      var links = 0
      if let last = ancestors.last {
        let rest = path[(last.path.isEmpty ? 0 : last.path.count + 1)...]
        let name = Array(rest.prefix { $0 != UInt8(ascii: "/") })
        next = LibraryPath.join(last.path, name)
        links = last.links + ((try? last.folder.entry(name))?.kind == .link ? 1 : 0)
        if links > Self.maximumFolderLinks { return .some(nil) }
        if spellings.isRespelled(name, in: last.folder, at: last.path) { return .some(nil) }
      }
      do throws(SystemError) {
        let folder = try root.open(next, isFolder: true)
        ancestors.append((path: next, folder: folder, links: links))
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
