// The file that a command writes for its user. It gets its name once it is complete and synced, and replaces neither an
// original nor a file that photod uses.

import AccessControl
import DurableFiles
import LibraryCatalogue
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

struct OutputFile {
  private let path: String
  private let replaces: Bool

  /// Throws ``CommandFailure`` if the file may not be written. `Settings.checkOutput` checks more, for commands that
  /// know the library.
  ///
  /// - Parameter replaces: an existing file is replaced.
  init(_ path: String, replacing replaces: Bool) throws {
    (self.path, self.replaces) = (path, replaces)
    var status = stat()
    // A path that can't be used fails when it is written.
    guard lstat(path, &status) == 0 else { return }
    // The target of a link, if it exists.
    _ = stat(path, &status)
    switch status.st_mode & S_IFMT {
    case S_IFDIR: throw CommandFailure(description: "\(path) is a folder; give the name of a file")
    case S_IFREG, S_IFLNK: try checkFree()
    default: throw CommandFailure(description: "\(path) is not a regular file; choose another file")
    }
  }

  /// Writes to a file beside the output, and renames it when it is complete. Throws what `body` throws, or
  /// ``CommandFailure`` with the name of the output.
  ///
  /// - Parameter body: writes by calling its argument.
  func write(_ body: (_ put: ([UInt8]) throws -> Void) throws -> Void) throws {
    let unfinished = "\(path).\(getpid()).part"
    let descriptor = open(unfinished, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { throw failure(SystemError(code: errno)) }
    do {
      defer { close(descriptor) }
      try body { try Self.write($0, to: descriptor, path) }
    } catch {
      unlink(unfinished)
      throw error
    }
    do {
      // Another program may have created the file since `init`.
      try checkFree()
      try DurableFile.rename(unfinished, to: path)
    } catch let error as SystemError {
      unlink(unfinished)
      throw failure(error)
    } catch {
      unlink(unfinished)
      throw error
    }
  }

  /// Writes all bytes to a descriptor. Throws ``CommandFailure`` with the name of what it leads to.
  static func write(_ bytes: [UInt8], to descriptor: Int32, _ name: String) throws {
    do throws(SystemError) {
      try writeAll(bytes.span.bytes, to: descriptor)
    } catch {
      throw CommandFailure(description: "\(name): \(error)")
    }
  }

  /// Makes a folder and its missing parents. Throws ``CommandFailure``.
  static func makeFolder(_ path: String) throws {
    if mkdir(path, 0o777) == 0 || errno == EEXIST { return }
    let code = errno
    guard code == ENOENT, let slash = path.lastIndex(of: "/"), slash > path.startIndex else {
      throw CommandFailure(description: "\(path): \(SystemError(code: code))")
    }
    try makeFolder(String(path[..<slash]))
    guard mkdir(path, 0o777) == 0 || errno == EEXIST else {
      throw CommandFailure(description: "\(path): \(SystemError(code: errno))")
    }
  }

  private func checkFree() throws {
    var status = stat()
    if !replaces && lstat(path, &status) == 0 {
      throw CommandFailure(description: "\(path) already exists; choose another file, or pass --replace")
    }
  }

  private func failure(_ error: SystemError) -> CommandFailure {
    CommandFailure(description: "\(path): \(error)")
  }
}

extension Settings {
  /// Folders of the data folder whose files only photod replaces.
  private static let foldersInUse: Set<String> = ["cache", "heads", "originals", "remote", "renders"]

  /// Throws ``CommandFailure`` if a command must not write to a path: it is that of a file which photod uses, or of a
  /// file in the library, which may exist nowhere else.
  func checkOutput(_ path: String) throws {
    try checkUnused(path)
    var status = stat()
    guard lstat(path, &status) == 0, !library.isEmpty, !RemoteLocation.isRemote(library) else { return }
    if Self.names(of: Self.canonicalFolder(of: path), below: Self.canonicalNames(of: library.utf8)) != nil {
      throw CommandFailure(
        description: "\(path) is a file in the library, which photod never replaces; choose another file")
    }
  }

  /// Throws ``CommandFailure`` if a path is that of a file which photod uses in the data folder.
  func checkUnused(_ path: String) throws {
    let dataFolder = try dataFolder()
    let folder = Self.canonicalFolder(of: path)
    let inData = Self.names(of: folder, below: Self.canonicalNames(of: dataFolder.utf8))?.first
    let isInUse = inData.map { Self.foldersInUse.contains(String(decoding: $0, as: UTF8.self)) } ?? false
    let files = Catalogue.fileNames + AccessDatabase.fileNames
    if isInUse || DatabaseFile.isFile(path, in: dataFolder, named: files) {
      throw CommandFailure(description: "photod itself uses \(path); choose another file")
    }
  }

  /// The folder of a path. Renaming replaces a link, not the file that it leads to: only the folder is resolved.
  private static func canonicalFolder(of path: String) -> [[UInt8]] {
    // Without a slash, this is the current folder.
    let end = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path.utf8.index(after: $0) } ?? path.startIndex
    return canonicalNames(of: path.utf8[..<end])
  }
}
