// The folder of the library. All of the library's files are opened here, and none outside of its root.

import CPhotodSystem
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

/// An open library folder. Owns its descriptor.
package final class LibraryFolder: Sendable {
  let descriptor: Int32

  /// Opens a folder. Throws ``SystemError``.
  package init(path: String) throws(SystemError) {
    descriptor = Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw SystemError(code: errno) }
  }

  deinit { close(descriptor) }

  /// Opens a file at any path, as if its folder were a library. For command line tools.
  ///
  /// - Parameter path: absolute, or relative to the working directory.
  package static func file(at path: String) throws(SystemError) -> LibraryFile {
    let slash = path.lastIndex(of: "/")
    let folder = slash.map { String(path[...$0]) } ?? "."
    return try LibraryFolder(path: folder).open(
      Array(path[(slash.map { path.index(after: $0) } ?? path.startIndex)...].utf8))
  }

  /// Opens a file or a folder inside the library. Never through `..`, never through a link that leaves the library
  /// (EXDEV), and never blocks on a FIFO.
  ///
  /// - Parameter path: bytes below the root, without a leading slash; empty is the root itself.
  package func open(_ path: [UInt8], isFolder: Bool = false) throws(SystemError) -> LibraryFile {
    let name = path.isEmpty ? [UInt8(ascii: "."), 0] : path + [0]
    let descriptor = name.withUnsafeBytes {
      photod_open_beneath(self.descriptor, $0.assumingMemoryBound(to: CChar.self).baseAddress, isFolder)
    }
    guard descriptor >= 0 else { throw SystemError(code: errno) }
    return try LibraryFile(owning: descriptor)
  }
}
