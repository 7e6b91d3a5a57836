// Decides whether the library and its disks are mounted, by comparing the current file systems with those that scans
// met.
//
// A disk that is not mounted looks like a folder whose files were all deleted. The catalogue therefore records the
// identity of each file system in the library. If an identity has changed, some known files of that file system are
// looked up: if one exists, it is the same library, remounted or copied to a new disk. If none exists, the disk is
// missing, and none of its files may be removed. The sample is taken from the rows of the catalogue, so it is never out
// of date.
//
// A disk that is mounted over a folder of the library hides the files of that folder, but nothing is recorded at its
// path. So the first scan that meets it records that folder as a missing file system.

import LibraryCatalogue
import LibraryFolder
import PhotoModel

package struct MountCheck {
  /// Number of known files that are looked up before a file system counts as missing.
  static let sampleFileCount = 8
  /// Maximum number of recorded file systems, in walk order.
  static let mountLimit = 1000

  let catalogue: Catalogue
  let root: LibraryFolder
  let environment: LibraryEnvironment
  /// The file systems that were recorded when this check was created.
  let recorded: [KnownMount]
  /// The list of file systems is damaged. None is recorded then, and scans must not remove what they don't find.
  let isRecordUnreadable: Bool

  package init(
    catalogue: Catalogue, root: LibraryFolder, environment: LibraryEnvironment
  ) throws(AssetSourceError) {
    self.catalogue = catalogue
    self.root = root
    self.environment = environment
    let readable = try catalogue.readableMounts()
    recorded = readable ?? []
    isRecordUnreadable = readable == nil
  }

  /// The recorded file systems that are missing, including that of the root.
  package func missingMounts() throws(AssetSourceError) -> [KnownMount] {
    var absent: [KnownMount] = []
    for mount in recorded where try !isMounted(mount) { absent.append(mount) }
    return absent
  }

  /// The permission error because of which a mounted file system may count as missing: its folder, or a known file that
  /// is looked up, may not be opened. `nil` if no permission is lacking.
  func denial(of mount: KnownMount) throws(AssetSourceError) -> SystemError? {
    if let error = denial(at: mount.path, isFolder: true) { return error }
    for file in try catalogue.sampleFiles(below: mount.path, count: Self.sampleFileCount) {
      if let error = denial(at: file.path, isFolder: false) { return error }
    }
    return nil
  }

  private func denial(at path: [UInt8], isFolder: Bool) -> SystemError? {
    do throws(SystemError) {
      _ = try root.open(path, isFolder: isFolder)
      return nil
    } catch {
      return error.isPermissionDenied ? error : nil
    }
  }

  /// Whether the recorded file system of a path is mounted, so that a file that is not found there does not exist.
  /// Before the first scan, nothing is recorded, and this is true.
  ///
  /// Stricter than a scan: another file system without known files is not accepted, because all files of the recorded
  /// one may be in its trash.
  package func isMounted(at path: [UInt8]) throws(AssetSourceError) -> Bool {
    guard let mount = mount(of: path), Self.fileSystem(at: mount.path, in: root, environment) != mount.fileSystem else {
      return true
    }
    return try catalogue.sampleFiles(below: mount.path, count: Self.sampleFileCount).contains { isPresent($0) }
  }

  /// Whether a file system hides assets: no file system is recorded at its path, assets are known below it, and none of
  /// the files that are looked up is there.
  func hidesAssets(_ mount: KnownMount) throws(AssetSourceError) -> Bool {
    if recorded.contains(where: { $0.path == mount.path }) { return false }
    guard try catalogue.hasAssets(below: mount.path) else { return false }
    let sampleFiles = try catalogue.sampleFiles(below: mount.path, count: Self.sampleFileCount)
    return !sampleFiles.contains { isPresent($0) }
  }

  /// Whether the recorded file system of a path has known files and is not mounted.
  package func isMissing(at path: [UInt8]) throws(AssetSourceError) -> Bool {
    guard let mount = mount(of: path) else { return false }
    return try !isMounted(mount)
  }

  /// Whether the recorded file system of a path is one of these.
  package func isPath(_ path: [UInt8], onOneOf mounts: [KnownMount]) -> Bool {
    mount(of: path).map { mounts.contains($0) } ?? false
  }

  /// The innermost recorded file system of a path.
  private func mount(of path: [UInt8]) -> KnownMount? {
    recorded.filter { LibraryPath.isPath(path, below: $0.path) }.max { $0.path.count < $1.path.count }
  }

  /// The current file systems at the root and at every recorded path.
  func state() -> [[UInt8]: FileSystemIdentity?] { Self.state(of: recorded.map(\.path) + [[]], in: root, environment) }

  /// Whether all file systems from before the walk and from the walk are still mounted. The root is opened by name
  /// again, because an open descriptor stays on the old file system.
  func isUnchanged(
    since before: [[UInt8]: FileSystemIdentity?], _ met: [KnownMount], directory: String
  ) -> Bool {
    guard let root = try? LibraryFolder(path: directory) else { return false }
    let now = Self.state(of: Array(before.keys) + met.map(\.path), in: root, environment)
    return before.allSatisfy { now[$0.key] == $0.value } && met.allSatisfy { now[$0.path] == $0.fileSystem }
  }

  /// The file systems to record for the next scan: those that this scan met, and the missing ones that were kept.
  func mountsToRecord(_ mounts: [KnownMount], absent: [KnownMount]) -> [KnownMount] {
    Array((own + absent + mounts).prefix(Self.mountLimit))
  }

  /// The recorded file systems and those that a scan has met so far, to record before files on them; `nil` if it met
  /// no other ones.
  func mountsToAdd(_ met: [KnownMount]) -> [KnownMount]? {
    let known = Set(recorded)
    let ownAdded = recorded.contains { $0.path.isEmpty } ? [] : own
    let added = met.filter { !known.contains($0) }
    if ownAdded.isEmpty && added.isEmpty { return nil }
    let paths = Set(added.map(\.path))
    return Array((ownAdded + recorded.filter { !paths.contains($0.path) } + added).prefix(Self.mountLimit))
  }

  /// The file system of the root.
  private var own: [KnownMount] {
    Self.fileSystem(at: [], in: root, environment).map { [KnownMount(path: [], fileSystem: $0)] } ?? []
  }

  private static func state(
    of paths: [[UInt8]], in root: LibraryFolder, _ environment: LibraryEnvironment
  ) -> [[UInt8]: FileSystemIdentity?] {
    Dictionary(paths.map { ($0, fileSystem(at: $0, in: root, environment)) }) { a, _ in a }
  }

  /// The file system at a path; `nil` if nothing can be opened there.
  private static func fileSystem(
    at path: [UInt8], in root: LibraryFolder, _ environment: LibraryEnvironment
  ) -> FileSystemIdentity? {
    do throws(SystemError) {
      return try environment.fileSystem(path, try root.open(path, isFolder: true))
    } catch {
      return nil
    }
  }

  private func isMounted(_ mount: KnownMount) throws(AssetSourceError) -> Bool {
    if Self.fileSystem(at: mount.path, in: root, environment) == mount.fileSystem { return true }
    let sampleFiles = try catalogue.sampleFiles(below: mount.path, count: Self.sampleFileCount)
    return sampleFiles.isEmpty || sampleFiles.contains { isPresent($0) }
  }

  /// Compares path and size: a copy on a new disk has another inode, and perhaps another time.
  private func isPresent(_ file: SampleFile) -> Bool {
    do throws(SystemError) {
      let opened = try root.open(file.path)
      return opened.isRegularFile && opened.size == file.size
    } catch {
      return false
    }
  }
}
