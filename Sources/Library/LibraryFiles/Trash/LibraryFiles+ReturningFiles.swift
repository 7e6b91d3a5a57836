// The paths to which the files of an asset return from the trash.

import LibraryCatalogue
import LibraryFolder
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

extension LibraryFiles {
  /// The files with the paths to which they return: their own, or free names next to them. Files that differ only in
  /// the extension get one number, because their name shows that they belong together. A sidecar is renamed with the
  /// file that it describes, which otherwise would lose its edit. If a path is taken before the move, the move fails.
  ///
  /// - Parameter taken: further paths that are not free. The chosen paths are added.
  func returning(
    _ files: [TrashRecord.File], except taken: inout Set<[UInt8]>
  ) throws(LibraryFilesError) -> [TrashRecord.File] {
    var paths: [Int: [UInt8]] = [:]
    // Sidecars come last. One that is reached without a path describes none of the files.
    for file in files where paths[file.number] == nil {
      let stem = Self.pathWithoutExtension(file.path)
      let parts = files.filter { part in
        if part.number == file.number { return true }
        return !part.isSidecar && !file.isSidecar && Self.pathWithoutExtension(part.path) == stem
      }
      var sidecars: [SidecarPlace] = []
      for sidecar in files where sidecar.isSidecar && !file.isSidecar && paths[sidecar.number] == nil {
        for (part, described) in parts.enumerated() {
          let names = SidecarPaths.beside(described.path)
          guard let form = names.firstIndex(where: { $0.path == sidecar.path }) else { continue }
          sidecars.append(SidecarPlace(number: sidecar.number, part: part, form: form))
          break
        }
      }
      let free = try freePaths(like: parts.map(\.path), sidecars, except: taken)
      for (part, path) in zip(parts, free) {
        paths[part.number] = path
        taken.insert(path)
      }
      for sidecar in sidecars {
        let name = sidecar.path(beside: free)
        // Too long with the number; the sidecar keeps its name.
        if LibraryPath.name(of: name).count > LibraryPath.maximumNameBytes { continue }
        paths[sidecar.number] = name
        taken.insert(name)
      }
    }
    return files.map { file in
      TrashRecord.File(number: file.number, path: paths[file.number] ?? file.path, trashPath: file.trashPath)
    }
  }

  /// The sidecars that describe an asset but went to the trash with another one: they return with this asset. A sidecar
  /// whose path is taken stays in the trash, because the file at its path describes the asset now.
  ///
  /// - Parameter taken: further paths that are not free, and trash paths of files that already return.
  func sharedSidecars(
    of record: TrashRecord, except taken: Set<[UInt8]>
  ) throws(LibraryFilesError) -> [SharedSidecar] {
    let found = try inCatalogue { catalogue throws(AssetSourceError) in
      try catalogue.sharedSidecars(of: record)
    }
    var sidecars: [SharedSidecar] = []
    for sidecar in found where !taken.contains(sidecar.file.trashPath) {
      guard try exists(sidecar.file.trashPath), try areFree([sidecar.file.path], except: taken) else { continue }
      sidecars.append(sidecar)
    }
    return sidecars
  }

  /// A sidecar and the file that it describes.
  private struct SidecarPlace {
    /// The number of the sidecar in its record.
    let number: Int
    /// The index of the file that it describes.
    let part: Int
    /// The index of its name in ``SidecarPaths/beside(_:)``.
    let form: Int

    /// The path of the sidecar if the files have these paths.
    func path(beside files: [[UInt8]]) -> [UInt8] { SidecarPaths.beside(files[part])[form].path }
  }

  /// These paths, or alternatives that all have the same number. They and the paths of their sidecars are free.
  private func freePaths(
    like paths: [[UInt8]], _ sidecars: [SidecarPlace], except taken: Set<[UInt8]>
  ) throws(LibraryFilesError) -> [[UInt8]] {
    for attempt in 1...Self.maximumNameAttempts {
      let candidates = paths.map { path in
        LibraryPath.join(
          LibraryPath.folder(of: path), LibraryPath.alternative(attempt, to: LibraryPath.name(of: path)))
      }
      if try areFree(candidates + sidecars.map { $0.path(beside: candidates) }, except: taken) { return candidates }
    }
    throw .failed(path: paths.first ?? [], SystemError(code: EEXIST))
  }

  private static func pathWithoutExtension(_ path: [UInt8]) -> [UInt8] {
    LibraryPath.join(LibraryPath.folder(of: path), Array(LibraryPath.split(LibraryPath.name(of: path)).stem))
  }

  private func areFree(_ paths: [[UInt8]], except taken: Set<[UInt8]>) throws(LibraryFilesError) -> Bool {
    for path in paths {
      if taken.contains(path) { return false }
      if try exists(path) { return false }
    }
    return true
  }
}
