// The paths to which the files of an asset return from the trash.

import LibraryCatalogue
import LibraryFolder
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

extension LibraryFiles {
  /// The files with the paths to which they return: their own, or free names next to them. A sidecar is renamed with the
  /// file that it describes, which otherwise would lose its edit. If a path is taken before it is used, that use fails.
  ///
  /// - Parameter taken: paths that are not free either, to which those of the files are added.
  func returning(
    _ files: [TrashRecord.File], except taken: inout Set<[UInt8]>
  ) throws(LibraryFilesError) -> [TrashRecord.File] {
    var paths: [Int: [UInt8]] = [:]
    // Sidecars come last. One that is reached without a path describes none of the files.
    for file in files where paths[file.number] == nil {
      let names = SidecarPaths.beside(file.path)
      var sidecars: [(number: Int, form: Int)] = []
      for sidecar in files where sidecar.isSidecar && !file.isSidecar && paths[sidecar.number] == nil {
        if let form = names.firstIndex(where: { $0.path == sidecar.path }) { sidecars.append((sidecar.number, form)) }
      }
      let path = try freePath(like: file.path, forms: sidecars.map(\.form), except: taken)
      paths[file.number] = path
      taken.insert(path)
      let newNames = SidecarPaths.beside(path)
      for (number, form) in sidecars {
        let name = newNames[form].path
        // Too long with the number; the sidecar keeps its name.
        if LibraryPath.name(of: name).count > LibraryPath.maximumNameBytes { continue }
        paths[number] = name
        taken.insert(name)
      }
    }
    return files.map { file in
      TrashRecord.File(number: file.number, path: paths[file.number] ?? file.path, trashPath: file.trashPath)
    }
  }

  /// The sidecars that come back with an asset although they went to the trash with another one. One whose path is
  /// taken stays there: the file at its path describes the asset.
  ///
  /// - Parameter taken: paths that are not free either, and trash paths of files that come back already.
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

  /// This path, or a name next to it, that is free with the sidecars of it that have these forms: indexes of
  /// ``SidecarPaths/beside(_:)``.
  private func freePath(
    like path: [UInt8], forms: [Int], except taken: Set<[UInt8]>
  ) throws(LibraryFilesError) -> [UInt8] {
    let folder = LibraryPath.folder(of: path)
    for attempt in 1...Self.maximumNameAttempts {
      let candidate = LibraryPath.join(folder, LibraryPath.alternative(attempt, to: LibraryPath.name(of: path)))
      let names = SidecarPaths.beside(candidate)
      if try areFree([candidate] + forms.map { names[$0].path }, except: taken) { return candidate }
    }
    throw .failed(path: path, SystemError(code: EEXIST))
  }

  private func areFree(_ paths: [[UInt8]], except taken: Set<[UInt8]>) throws(LibraryFilesError) -> Bool {
    for path in paths {
      if taken.contains(path) { return false }
      if try exists(path) { return false }
    }
    return true
  }
}
