import Foundation

#if canImport(Glibc)
  import Glibc
#endif

/// A small file system in memory for one test, where mounting is permitted.
package final class TemporaryFileSystem {
  /// The system's error number, of a mount or a write.
  package struct MountError: Error {
    package let code: Int32
  }

  package let path: String

  package init(at path: String, bytes: Int) throws {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    guard mount("tmpfs", path, "tmpfs", 0, "size=\(bytes)") == 0 else { throw MountError(code: errno) }
    self.path = path
  }

  deinit { unmount() }

  package func remount(readOnly: Bool) throws {
    let flags = UInt(MS_REMOUNT) | (readOnly ? UInt(MS_RDONLY) : 0)
    guard mount("tmpfs", path, "tmpfs", flags, nil) == 0 else { throw MountError(code: errno) }
  }

  /// Changes its size and keeps its files.
  package func resize(bytes: Int) throws {
    guard mount("tmpfs", path, "tmpfs", UInt(MS_REMOUNT), "size=\(bytes)") == 0 else { throw MountError(code: errno) }
  }

  /// Writes a file until there is no space left, and returns its path.
  package func fill() throws -> String {
    let filler = path + "/filler"
    let descriptor = open(filler, O_CREAT | O_WRONLY, 0o600)
    guard descriptor >= 0 else { throw MountError(code: errno) }
    defer { close(descriptor) }
    let bytes = [UInt8](repeating: 1, count: 4096)
    while write(descriptor, bytes, bytes.count) > 0 {}
    guard errno == ENOSPC else { throw MountError(code: errno) }
    return filler
  }

  package func unmount() { umount2(path, Int32(MNT_DETACH)) }

  /// Mounting needs rights that test users rarely have; a kernel may refuse it to root too.
  package static let canMount: Bool = {
    var template = Array((FileManager.default.temporaryDirectory.path + "/photod-mount-XXXXXX").utf8CString)
    guard let path = mkdtemp(&template).map({ String(cString: $0) }) else { return false }
    defer { rmdir(path) }
    guard mount("tmpfs", path, "tmpfs", 0, "size=64k") == 0 else { return false }
    return umount2(path, 0) == 0
  }()
}
