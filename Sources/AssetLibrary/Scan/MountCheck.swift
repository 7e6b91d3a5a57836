// Whether the library is here: the file systems that the last scan met, held against those of now.
//
// A disk that is not mounted looks like a folder whose files were all deleted. The catalogue keeps what the kernel said
// of each file system that the library reaches over. One that is another now is looked at closer: where one of a few
// known files is in its place it is the same library (remounted, or brought to a new disk); where none is, it is not
// here, and nothing of it may be removed. The known files are no list of their own: they are the catalogue's rows, some
// of them spread over all, so they are never out of date.

import LibraryFolder
import PhotoModel

/// A file system as a scan met it: the library's own, or one that is mounted below its root.
struct KnownMount: Sendable, Hashable, Codable {
  /// Below the root; the root's is empty.
  var path: [UInt8]
  var fileSystem: FileSystemIdentity
}

struct MountCheck {
  /// Files that are looked for before a file system is said not to be here.
  static let witnessCount = 8
  /// File systems below the root that are remembered; of more, the first.
  static let mountLimit = 1000

  let catalogue: Catalogue
  let root: LibraryFolder
  let surroundings: LibrarySurroundings
  /// What the last scan met.
  let noted: [KnownMount]

  init(
    catalogue: Catalogue, root: LibraryFolder, surroundings: LibrarySurroundings
  ) throws(AssetSourceError) {
    self.catalogue = catalogue
    self.root = root
    self.surroundings = surroundings
    noted = try catalogue.mounts()
  }

  /// Those of the noted that are not here, the root's own among them.
  func absent() throws(AssetSourceError) -> [KnownMount] {
    var absent: [KnownMount] = []
    for mount in noted where try !isHere(mount) { absent.append(mount) }
    return absent
  }

  /// What stands now at the root and where something was noted.
  func state() -> [[UInt8]: FileSystemIdentity?] { Self.state(of: noted.map(\.path) + [[]], in: root, surroundings) }

  /// Whether all that stood before a walk, and all that the walk met, is still there. The root is looked for by its
  /// name: one that is open stays where it was.
  func isUnchanged(
    since before: [[UInt8]: FileSystemIdentity?], _ met: [KnownMount], directory: String
  ) -> Bool {
    guard let root = try? LibraryFolder(path: directory) else { return false }
    let now = Self.state(of: Array(before.keys) + met.map(\.path), in: root, surroundings)
    return before.allSatisfy { now[$0.key] == $0.value } && met.allSatisfy { now[$0.path] == $0.fileSystem }
  }

  /// What the next scan is to be told: what this one met, and what it missed and kept.
  func met(_ mounts: [KnownMount], absent: [KnownMount]) -> [KnownMount] {
    let own = Self.fileSystem(at: [], in: root, surroundings).map { [KnownMount(path: [], fileSystem: $0)] } ?? []
    return Array((own + absent + mounts).prefix(Self.mountLimit))
  }

  private static func state(
    of paths: [[UInt8]], in root: LibraryFolder, _ surroundings: LibrarySurroundings
  ) -> [[UInt8]: FileSystemIdentity?] {
    Dictionary(paths.map { ($0, fileSystem(at: $0, in: root, surroundings)) }) { a, _ in a }
  }

  /// What stands at a path now; `nil` where nothing can be opened there.
  private static func fileSystem(
    at path: [UInt8], in root: LibraryFolder, _ surroundings: LibrarySurroundings
  ) -> FileSystemIdentity? {
    do throws(SystemError) {
      return try surroundings.fileSystem(path, try root.open(path, isFolder: true))
    } catch {
      return nil
    }
  }

  private func isHere(_ mount: KnownMount) throws(AssetSourceError) -> Bool {
    if Self.fileSystem(at: mount.path, in: root, surroundings) == mount.fileSystem { return true }
    let witnesses = try catalogue.witnesses(below: mount.path, count: Self.witnessCount)
    return witnesses.isEmpty || witnesses.contains { isThere($0) }
  }

  /// By path and size: what was copied to a new disk has another inode, and perhaps another time.
  private func isThere(_ file: Witness) -> Bool {
    do throws(SystemError) {
      let opened = try root.open(file.path)
      return opened.isRegularFile && opened.size == file.size
    } catch {
      return false
    }
  }
}
