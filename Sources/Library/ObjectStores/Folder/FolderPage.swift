import LibraryFolder
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

/// Collects a page of the files of a folder, in the order of their paths.
struct FolderPage {
  /// Only paths after this one are added.
  private let after: [UInt8]
  private let limit: Int
  private(set) var page = ObjectPage()

  init(after: [UInt8], limit: Int) {
    self.after = after
    self.limit = max(1, limit)
  }

  /// Adds the files below a folder, and enters no folder whose files all come before the page.
  mutating func add(_ path: [UInt8], in folder: LibraryFolder) throws(SystemError) {
    let opened: LibraryFile
    var names: FolderNames
    do throws(SystemError) {
      opened = try folder.open(path, isFolder: true)
      // Links to folders are not followed: they could lead back to a parent folder.
      names = try FolderNames(of: opened) { name, isLink in
        !isLink && (try? opened.subfolder(name)) != nil
      }
    } catch {
      // The folder was removed, or is not readable for this user: its files are not in the list.
      if !path.isEmpty, [ENOENT, ENOTDIR, EACCES].contains(error.code) { return }
      throw error
    }
    names.sort()
    while page.next == nil, let (name, isFolder) = names.next() {
      let whole = LibraryPath.join(path, name)
      if isFolder {
        let prefix = whole + [UInt8(ascii: "/")]
        if after.starts(with: prefix) || after.lexicographicallyPrecedes(prefix) { try add(whole, in: folder) }
      } else if after.lexicographicallyPrecedes(whole) {
        add(whole, try? opened.entry(name))
      }
    }
  }

  private mutating func add(_ path: [UInt8], _ entry: FolderEntry?) {
    // Skip files that this store is writing, and entries that are not files.
    guard let entry, entry.kind == .file, !LibraryPath.name(of: path).starts(with: ".photod-".utf8) else { return }
    guard let key = ObjectKey(path) else {
      page.skipped += 1
      return
    }
    if page.entries.count == limit {
      page.next = page.entries.last.map { ObjectPage.Position(text: $0.key.bytes) }
      return
    }
    page.entries.append(
      ObjectPage.Entry(
        key: key, identity: ObjectIdentity(entry.identity), modified: entry.identity.modified / 1_000_000_000))
  }
}
