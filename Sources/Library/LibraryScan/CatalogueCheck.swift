// photod check: compares the catalogue with the library folder in both directions, and checks the catalogue itself. It
// only reads, and takes no lock that a scan needs. It holds the names of one folder, one page of rows and a page of
// differences in memory, whatever the size of the library.

import LibraryCatalogue
import LibraryFolder
import PhotoModel

package struct CatalogueCheck {
  package struct Summary: Sendable, Hashable {
    /// Files found below the root.
    package var files = 0
    package var differences = 0
    /// The library changed during the check: a difference may be a file that was added or removed.
    package var changedDuringCheck = false
  }

  static let pageSize = 1000

  let catalogue: Catalogue
  private let directory: String
  let environment: LibraryEnvironment

  /// - Parameters:
  ///   - catalogue: may be opened read-only.
  ///   - directory: the folder of the library.
  package init(catalogue: Catalogue, directory: String, environment: LibraryEnvironment = .system) {
    self.catalogue = catalogue
    self.directory = directory
    self.environment = environment
  }

  /// Reports each difference, once it is confirmed. Blocks; reads no file contents.
  package func run(_ report: (CheckDifference) -> Void) throws(LibraryError) -> Summary {
    do {
      return try compare(report)
    } catch let error as LibraryError {
      throw error
    } catch let error as SystemError {
      throw .libraryUnavailable(path: directory, error)
    } catch let error as AssetSourceError {
      throw LibraryError(error, dataFolder: catalogue.dataFolder)
    } catch {
      throw .catalogueFailed("\(error)")
    }
  }

  private func compare(_ report: (CheckDifference) -> Void) throws -> Summary {
    let root = try LibraryFolder(path: directory)
    _ = try root.open([], isFolder: true)
    var summary = Summary()
    let token = try catalogue.changeToken()
    // Several parts of the check may meet the same page.
    var damages: Set<CheckDifference> = []
    func note(_ difference: CheckDifference) {
      if case .damaged = difference, !damages.insert(difference).inserted { return }
      summary.differences += 1
      report(difference)
    }
    try catalogue.checkConsistency { note($0) }
    do {
      summary.files = try compareFolder(root, since: token) { note($0) }
      try compareTrash(root) { note($0) }
    } catch AssetSourceError.storageFailed(.damaged, let detail) {
      // The rest can't be compared before a repair.
      note(.damaged(detail))
    }
    summary.changedDuringCheck = try catalogue.changeToken() != token
    return summary
  }

  /// Compares the rows of files with the folder.
  ///
  /// - Parameter token: the change token from before the check.
  /// - Returns: the number of files below the root.
  private func compareFolder(
    _ root: LibraryFolder, since token: Int64, _ note: (CheckDifference) -> Void
  ) throws -> Int {
    var fileCount = 0
    let disks = try MountCheck(catalogue: catalogue, root: root, environment: environment)
    let absent = try disks.missingMounts()
    var walk = LibraryWalk(root: root, environment: environment, skipping: Set(absent.map(\.path)))
    // If the library is not mounted, do not report each of its files as missing.
    let count = try catalogue.fileCount()
    if walk.isEmpty && count > 0 { throw LibraryError.libraryIsEmpty(path: directory, known: count) }
    if let own = absent.first(where: \.path.isEmpty) {
      // `run` reports it as a library that can't be read.
      if let error = try disks.denial(of: own) { throw error }
      throw LibraryError.otherFileSystem(path: directory)
    }
    var skippedFolders = absent.map(\.path)
    for mount in absent {
      if let error = try disks.denial(of: mount) {
        note(.unreadableFolder(path: mount.path, reason: error.description))
      } else {
        note(.mountMissing(path: mount.path))
      }
    }

    var known = KnownFileCursor(catalogue: catalogue, pageSize: Self.pageSize, lastID: .max)
    var unconfirmed = UnconfirmedDifferences(catalogue: catalogue, root: root, environment: environment, token: token)
    func noteMissing(_ row: KnownFile) throws {
      if row.hasPath, skippedFolders.contains(where: { LibraryPath.isPath(row.path, below: $0) }) { return }
      // The file that a link leads to may be on the missing disk.
      if !absent.isEmpty, LibraryWalk.isLink(row.path, in: root) { return }
      try unconfirmed.add(.row(row.id)) { note($0) }
    }
    while let item = walk.next() {
      let path: [UInt8]
      var identity: FileIdentity?
      switch item {
      case .fileSystem: continue
      case .unreadableFolder(let folder, let reason):
        note(.unreadableFolder(path: folder, reason: reason))
        skippedFolders.append(folder)
        continue
      case .unreadable(let unreadable, _): path = unreadable
      case .file(let file): (path, identity) = (file.path, file.identity)
      }
      fileCount += 1
      while let row = try known.next(before: path) { try noteMissing(row) }
      // Unreadable files have no identity; every scan checks them again.
      if let row = try known.next(at: path), row.identity == .unknown || row.identity == identity { continue }
      try unconfirmed.add(.path(path)) { note($0) }
    }
    while let row = try known.next(before: nil) { try noteMissing(row) }
    try unconfirmed.confirm { note($0) }
    return fileCount
  }
}
