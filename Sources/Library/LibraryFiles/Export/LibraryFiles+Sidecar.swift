import LibraryCatalogue
import LibraryFolder
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

/// The outcome of adding a sidecar.
package enum AddedSidecar: Sendable, Hashable {
  case added
  /// The same bytes were there before.
  case unchanged
  /// Another file has that name and was kept.
  case kept
  /// It would also describe a file of another asset, and was not added.
  case shared
}

/// How the name of a sidecar is derived from that of its original.
package enum SidecarForm: Sendable, Hashable {
  /// `IMG_1.xmp`
  case stem
  /// `IMG_1.jpg.xmp`
  case wholeName
  /// `IMG_O1.aae`, the adjustment data of IMG_1; as `stem` for names that don't start with `IMG_`.
  case appleOriginal
}

extension LibraryFiles {
  /// Writes a sidecar beside an original, durably: `a/b.jpg` and the extension `xmp` give `a/b.xmp` or `a/b.jpg.xmp`.
  /// Never replaces a file, and never describes a file of another asset.
  package func addSidecar(
    _ bytes: [UInt8], _ form: SidecarForm, extension fileExtension: String, beside original: [UInt8]
  ) throws(LibraryFilesError) -> AddedSidecar {
    if isReadOnly || bucket != nil { throw .readOnly }
    let name = LibraryPath.name(of: original)
    let stem = LibraryPath.split(name).stem
    let camera = Array("IMG_".utf8)
    let base =
      switch form {
      case .stem: Array(stem)
      case .wholeName: name
      case .appleOriginal:
        stem.starts(with: camera) ? camera + Array("O".utf8) + stem.dropFirst(camera.count) : Array(stem)
      }
    let sidecar = base + Array(".\(fileExtension)".utf8)
    let folderPath = LibraryPath.folder(of: original)
    let path = LibraryPath.join(folderPath, sidecar)
    // Files of several assets may have one stem.
    if form != .wholeName {
      let isShared = try inCatalogue { catalogue throws(AssetSourceError) in
        try catalogue.isShared(sidecar: path, of: original)
      }
      if isShared { return hasContent(bytes, at: path) ? .unchanged : .shared }
    }
    var incoming = try receive(length: Int64(bytes.count))
    try incoming.write(bytes)
    do throws(SystemError) {
      try incoming.sync()
      let folder = try root.open(folderPath, isFolder: true)
      do throws(SystemError) {
        try incoming.place(in: folder, as: sidecar)
      } catch {
        guard error.code == EXDEV else { throw error }
        // Another disk is mounted at this folder.
        incoming = try incoming.copy(to: folder, at: folderPath)
        try incoming.place(in: folder, as: sidecar)
      }
      try folder.sync()
      return .added
    } catch {
      guard error.code == EEXIST else { throw LibraryFilesError(error, at: path) }
    }
    let written = incoming
    let (file, other) = try inFileSystem { () throws(SystemError) in (try written.file(), try root.open(path)) }
    return other.isRegularFile && Self.hasSameBytes(file, other) ? .unchanged : .kept
  }

  private func hasContent(_ bytes: [UInt8], at path: [UInt8]) -> Bool {
    guard let file = try? root.open(path), file.isRegularFile, file.size == Int64(bytes.count) else { return false }
    return (try? file.bytes(at: 0, count: bytes.count)) == bytes
  }
}
