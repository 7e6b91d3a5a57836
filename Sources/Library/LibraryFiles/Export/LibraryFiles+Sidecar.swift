import LibraryCatalogue
import LibraryFolder
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

/// What became of a sidecar.
package enum AddedSidecar: Sendable, Hashable {
  case added
  /// The same bytes were there before.
  case unchanged
  /// Another file has that name and was kept.
  case kept
}

extension LibraryFiles {
  /// Writes a sidecar beside an original, durably: `a/b.jpg` and the extension `xmp` give `a/b.xmp`. Never replaces a
  /// file.
  package func addSidecar(
    _ bytes: [UInt8], extension fileExtension: String, beside original: [UInt8]
  ) throws(LibraryFilesError) -> AddedSidecar {
    if isReadOnly || bucket != nil { throw .readOnly }
    let name = LibraryPath.name(of: original)
    let dot = name.lastIndex(of: UInt8(ascii: ".")) ?? name.endIndex
    let sidecar = Array(name[..<dot]) + Array(".\(fileExtension)".utf8)
    let folderPath = LibraryPath.folder(of: original)
    var incoming = try receive(length: Int64(bytes.count))
    try incoming.write(bytes)
    let path = LibraryPath.join(folderPath, sidecar)
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
}
