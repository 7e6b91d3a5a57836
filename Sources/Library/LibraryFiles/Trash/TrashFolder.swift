// The folder for deleted files: `.photod-trash` at the top of the file system of the file, which is the library root
// unless another disk is mounted below it. Deleting and restoring are renames, so no bytes are copied and no incomplete
// copy can result. Scans skip hidden folders.

import LibraryCatalogue
import LibraryFolder
import LibraryScan
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

struct TrashFolder: Sendable {
  static let name = TrashWalk.name

  let root: LibraryFolder

  /// The trash folder for a file, below the library root: in the highest parent folder on the same mount. If another
  /// program has renamed or removed the file's folder, the nearest one that exists counts.
  func path(for file: [UInt8]) throws(SystemError) -> [UInt8] {
    var top = LibraryPath.folder(of: file)
    while !top.isEmpty, try isAbsent(top) { top = LibraryPath.folder(of: top) }
    let mount = try Mount(root.open(top, isFolder: true))
    while !top.isEmpty {
      let above = LibraryPath.folder(of: top)
      guard try Mount(root.open(above, isFolder: true)) == mount else { break }
      top = above
    }
    return LibraryPath.join(top, Self.name)
  }

  private func isAbsent(_ folder: [UInt8]) throws(SystemError) -> Bool {
    do throws(SystemError) {
      _ = try root.open(folder, isFolder: true)
      return false
    } catch {
      if error.code == ENOENT || error.code == ENOTDIR { return true }
      throw error
    }
  }

  /// Whether the disk of a file in the trash seems to be mounted: its trash folder exists, or the folder that has the
  /// trash folder is at the top of a mount.
  func isMounted(for trashPath: [UInt8]) -> Bool {
    let folder = LibraryPath.folder(of: LibraryPath.folder(of: trashPath))
    let top = LibraryPath.folder(of: folder)
    if top.isEmpty { return true }
    do throws(SystemError) {
      _ = try root.open(folder, isFolder: true)
      return true
    } catch {
      // Before the first deletion on a disk, or after the user removed the folder.
    }
    do throws(SystemError) {
      return try Mount(root.open(top, isFolder: true)) != Mount(root.open(LibraryPath.folder(of: top), isFolder: true))
    } catch {
      return false
    }
  }

  private struct Mount: Equatable {
    let device: UInt64
    let mount: UInt64

    init(_ folder: LibraryFile) throws(SystemError) {
      device = folder.device
      mount = try folder.mount()
    }
  }

  /// The files of an asset, and then its sidecars, with their trash paths. Each asset has its own folder, so no name is
  /// taken.
  ///
  /// - Parameters:
  ///   - paths: in the library, the primary file first.
  ///   - sidecars: their paths in the library.
  ///   - folder: the name of the folder in the trash.
  ///   - trash: the trash folder for a file.
  static func files(
    at paths: [[UInt8]], sidecars: [[UInt8]], in folder: [UInt8], trash: ([UInt8]) throws(SystemError) -> [UInt8]
  ) throws(SystemError) -> [TrashRecord.File] {
    var taken: Set<[UInt8]> = []
    var files: [TrashRecord.File] = []
    let numbers = Array(paths.indices) + sidecars.indices.map { TrashRecord.File.firstSidecar + $0 }
    for (number, path) in zip(numbers, paths + sidecars) {
      let name = LibraryPath.name(of: path)
      var trashName = name
      // Two files of an asset may have the same name in different folders.
      var attempt = 1
      while !taken.insert(trashName).inserted {
        attempt += 1
        trashName = LibraryPath.alternative(attempt, to: name)
      }
      let trashPath = LibraryPath.join(LibraryPath.join(try trash(path), folder), trashName)
      files.append(TrashRecord.File(number: number, path: path, trashPath: trashPath))
    }
    return files
  }

  /// Moves a file, makes missing target folders and syncs both folders. Returns false if there is no file to move.
  /// Never replaces a file (EEXIST).
  func move(_ from: [UInt8], to: [UInt8]) throws(SystemError) -> Bool {
    let source: LibraryFile
    do throws(SystemError) {
      source = try root.open(LibraryPath.folder(of: from), isFolder: true)
      _ = try source.entry(LibraryPath.name(of: from))
    } catch {
      if error.code == ENOENT || error.code == ENOTDIR { return false }
      throw error
    }
    let destination = try root.openMakingFolders(LibraryPath.folder(of: to), isPrivate: to.contains(Self.name))
    fault(.folderMade)
    do throws(SystemError) {
      try source.rename(LibraryPath.name(of: from), to: destination, as: LibraryPath.name(of: to))
    } catch {
      if error.code == ENOENT { return false }
      throw error
    }
    fault(.renamed)
    // Sync the new name first: after a power failure the file may have both names, but never none.
    try destination.sync()
    try source.sync()
    return true
  }

  /// Permanently removes a file in the trash, and the folder of the asset with its last file. A missing file is not an
  /// error. The removal is synced.
  func remove(_ trashPath: [UInt8]) throws(SystemError) {
    do throws(SystemError) {
      let folder = try root.open(LibraryPath.folder(of: trashPath), isFolder: true)
      do throws(SystemError) {
        try folder.remove(LibraryPath.name(of: trashPath))
      } catch {
        guard error.code == ENOENT else { throw error }
      }
      // Also if it was missing: an earlier process may have ended between these two steps.
      try folder.sync()
    } catch {
      guard error.code == ENOENT || error.code == ENOTDIR else { throw error }
    }
    removeFolder(of: trashPath)
  }

  /// Removes the folder of an asset in the trash if it is empty.
  func removeFolder(of trashPath: [UInt8]) {
    let folder = LibraryPath.folder(of: trashPath)
    // A folder that remains does no harm.
    if let trash = try? root.open(LibraryPath.folder(of: folder), isFolder: true) {
      try? trash.remove(LibraryPath.name(of: folder), isFolder: true)
    }
  }
}

extension [UInt8] {
  fileprivate func contains(_ name: [UInt8]) -> Bool {
    split(separator: UInt8(ascii: "/")).contains { $0.elementsEqual(name) }
  }
}
