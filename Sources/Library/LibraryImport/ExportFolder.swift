// Reads the folder of an export: never writes to it, never leaves it, never follows a link.

import LibraryFolder
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

/// The folder of an export.
struct ExportFolder {
  /// The names in one folder, sorted by their bytes.
  struct Listing {
    var files: [[UInt8]] = []
    var folders: [[UInt8]] = []
  }

  let path: String
  let root: LibraryFolder

  init(_ path: String) throws(ImportError) {
    self.path = path
    do throws(SystemError) { root = try LibraryFolder(path: path) } catch { throw .folderUnreadable(path: path, error) }
  }

  /// The names in a folder below the root. Links are reported and left out; so are hidden folders, which belong to
  /// other programs.
  func list(_ folder: [UInt8], _ report: ImportReport) throws(ImportError) -> Listing {
    do throws(SystemError) {
      let opened = try root.open(folder, isFolder: true)
      var links: Set<[UInt8]> = []
      var names = try FolderNames(of: opened) { name, isLink in
        if isLink {
          links.insert(name)
          return false
        }
        // The file system does not report types.
        return (try? opened.subfolder(name)) != nil
      }
      var listing = Listing()
      while let (name, isFolder) = names.next() {
        if links.contains(name) {
          report.noteSkip(LibraryPath.join(folder, name), "a symbolic link")
        } else if isFolder {
          listing.folders.append(name)
        } else {
          listing.files.append(name)
        }
      }
      listing.files.sort { $0.lexicographicallyPrecedes($1) }
      listing.folders.sort { $0.lexicographicallyPrecedes($1) }
      return listing
    } catch {
      if folder.isEmpty { throw .folderUnreadable(path: path, error) }
      report.noteFailure(folder, "the folder can't be read (\(error))")
      return Listing()
    }
  }

  /// Calls `body` with each folder and its names, each folder before those below it.
  func walk(
    _ report: ImportReport, _ body: ([UInt8], Listing) throws(ImportError) -> Void
  ) throws(ImportError) {
    var waiting: [[UInt8]] = [[]]
    while let folder = waiting.popLast() {
      let listing = try list(folder, report)
      try body(folder, listing)
      waiting += listing.folders.reversed().map { LibraryPath.join(folder, $0) }
    }
  }

  /// The bytes of a small file. EFBIG if it has more than `limit`.
  func read(_ path: [UInt8], limit: Int) throws(SystemError) -> [UInt8] {
    try Self.read(path, in: root, limit: limit)
  }

  static func read(_ path: [UInt8], in root: LibraryFolder, limit: Int) throws(SystemError) -> [UInt8] {
    let file = try root.open(path)
    guard file.isRegularFile else { throw SystemError(code: EINVAL) }
    guard file.size <= Int64(limit) else { throw SystemError(code: EFBIG) }
    do throws(ByteSourceError) {
      return try file.bytes(at: 0, count: limit)
    } catch {
      switch error {
      case .readFailed(let code): throw SystemError(code: code)
      }
    }
  }
}
