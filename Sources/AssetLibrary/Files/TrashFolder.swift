// The folder that deleted files are kept in: `.photod-trash` at the top of the file system that they are on, which is the
// library's root unless another disk is mounted below it. To delete and to restore is to rename, so nothing is copied and
// nothing is ever the only copy of half a file; scans pass over hidden folders.

import LibraryFolder
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

struct TrashFolder: Sendable {
  static let name = [UInt8](".photod-trash".utf8)

  let root: LibraryFolder

  /// The trash folder for a file, below the library's root: in the highest folder above it that is on the same mount.
  func path(for file: [UInt8]) throws(SystemError) -> [UInt8] {
    var top = FilePath.folder(of: file)
    let mount = try Mount(root.open(top, isFolder: true))
    while !top.isEmpty {
      let above = FilePath.folder(of: top)
      guard try Mount(root.open(above, isFolder: true)) == mount else { break }
      top = above
    }
    return FilePath.join(top, Self.name)
  }

  private struct Mount: Equatable {
    let device: UInt64
    let mount: UInt64

    init(_ folder: LibraryFile) throws(SystemError) {
      device = folder.device
      mount = try folder.mount()
    }
  }

  /// A file of an asset, here and there: bytes below the library's root.
  struct Place: Sendable, Hashable {
    let number: Int
    var path: [UInt8]
    var trashPath: [UInt8]
  }

  /// Where the files of an asset go: a folder of their own, so that no name is taken.
  ///
  /// - Parameter folder: its name.
  func places(for paths: [[UInt8]], in folder: [UInt8]) throws(SystemError) -> [Place] {
    var taken: Set<[UInt8]> = []
    var places: [Place] = []
    for (number, path) in paths.enumerated() {
      let name = FilePath.name(of: path)
      var itsName = name
      // Two of an asset may have one name in two folders.
      var attempt = 1
      while !taken.insert(itsName).inserted {
        attempt += 1
        itsName = FilePath.alternative(attempt, to: name)
      }
      let trashPath = FilePath.join(FilePath.join(try self.path(for: path), folder), itsName)
      places.append(Place(number: number, path: path, trashPath: trashPath))
    }
    return places
  }

  /// Moves a file; the folders that it goes to are made, and both made sure of. False: there is none to move. Never in place
  /// of what is there (EEXIST).
  func move(_ from: [UInt8], to: [UInt8]) throws(SystemError) -> Bool {
    let source: LibraryFile
    do throws(SystemError) {
      source = try root.open(FilePath.folder(of: from), isFolder: true)
      _ = try source.entry(FilePath.name(of: from))
    } catch {
      if error.code == ENOENT || error.code == ENOTDIR { return false }
      throw error
    }
    let destination = try root.madeFolder(FilePath.folder(of: to), isPrivate: to.contains(Self.name))
    fault(.folderMade)
    do throws(SystemError) {
      try source.rename(FilePath.name(of: from), to: destination, as: FilePath.name(of: to))
    } catch {
      if error.code == ENOENT { return false }
      throw error
    }
    fault(.renamed)
    // The new name before the old one goes: behind a power cut it may have both, but never none.
    try destination.sync()
    try source.sync()
    return true
  }

  /// Removes a file of the trash for good, and the asset's folder where it was the last. One that is gone is gone.
  func remove(_ trashPath: [UInt8]) throws(SystemError) {
    do throws(SystemError) {
      let folder = try root.open(FilePath.folder(of: trashPath), isFolder: true)
      try folder.remove(FilePath.name(of: trashPath))
    } catch {
      guard error.code == ENOENT || error.code == ENOTDIR else { throw error }
    }
    removeFolder(of: trashPath)
  }

  /// Removes the folder that an asset had in the trash, if nothing is left in it.
  func removeFolder(of trashPath: [UInt8]) {
    let folder = FilePath.folder(of: trashPath)
    // One that is not empty, or can't be removed, is in nobody's way.
    if let trash = try? root.open(FilePath.folder(of: folder), isFolder: true) {
      try? trash.remove(FilePath.name(of: folder), isFolder: true)
    }
  }
}

extension [UInt8] {
  fileprivate func contains(_ name: [UInt8]) -> Bool {
    split(separator: UInt8(ascii: "/")).contains { $0.elementsEqual(name) }
  }
}

extension LibraryFolder {
  /// A folder below the root, made with those above it where it is not there. None is made through a link that leaves the
  /// library (EXDEV), and each is made sure of.
  package func madeFolder(_ path: [UInt8], isPrivate: Bool = false) throws(SystemError) -> LibraryFile {
    do throws(SystemError) {
      return try open(path, isFolder: true)
    } catch {
      guard error.code == ENOENT, !path.isEmpty else { throw error }
    }
    let above = try madeFolder(FilePath.folder(of: path), isPrivate: isPrivate)
    do throws(SystemError) {
      try above.makeFolder(FilePath.name(of: path), mode: isPrivate ? 0o700 : 0o755)
      try above.sync()
    } catch {
      // Somebody else was quicker.
      guard error.code == EEXIST else { throw error }
    }
    return try above.subfolder(FilePath.name(of: path))
  }
}
