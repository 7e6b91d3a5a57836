// photod check: the catalogue held against the library folder in both directions, and against itself. It only reads,
// takes no lock that a scan would want, and holds a folder's names and a page of rows, however large the library is.

import LibraryFolder
import PhotoModel

package struct CatalogueCheck {
  package struct Summary: Sendable, Hashable {
    /// Files met below the root.
    package var files = 0
    package var differences = 0
    /// The library changed meanwhile: a difference may be a file that came or went.
    package var changedMeanwhile = false
  }

  private static let pageSize = 1000

  let catalogue: Catalogue
  private let directory: String
  private let surroundings: LibrarySurroundings

  /// - Parameters:
  ///   - catalogue: may be one that was opened for reading alone.
  ///   - directory: the library's folder.
  package init(catalogue: Catalogue, directory: String, surroundings: LibrarySurroundings = .system) {
    self.catalogue = catalogue
    self.directory = directory
    self.surroundings = surroundings
  }

  /// Reports each difference as it is found. Blocks; reads no file's contents.
  package func run(_ report: (Difference) -> Void) throws(AssetLibraryError) -> Summary {
    do {
      return try compare(report)
    } catch let error as AssetLibraryError {
      throw error
    } catch let error as SystemError {
      throw .libraryUnavailable(path: directory, error)
    } catch {
      throw AssetLibraryError(Catalogue.translated(error), dataFolder: catalogue.dataFolder)
    }
  }

  private func compare(_ report: (Difference) -> Void) throws -> Summary {
    let root = try LibraryFolder(path: directory)
    var summary = Summary()
    let token = try catalogue.changeToken()
    func note(_ difference: Difference) {
      summary.differences += 1
      report(difference)
    }
    try catalogue.examine { note($0) }
    let absent = try MountCheck(catalogue: catalogue, root: root, surroundings: surroundings).absent()
    var walk = LibraryWalk(root: root, surroundings: surroundings, passingOver: Set(absent.map(\.path)))
    // Of a library that is not here there is nothing to say, least of all that each of its files is gone.
    let count = try catalogue.fileCount()
    if walk.isEmpty && count > 0 { throw AssetLibraryError.libraryIsEmpty(path: directory, known: count) }
    if absent.contains(where: \.path.isEmpty) { throw AssetLibraryError.otherFileSystem(path: directory) }
    var passedOver = absent.map(\.path)
    for path in passedOver { note(.diskNotHere(path: path)) }

    var known = KnownFiles(catalogue: catalogue, pageSize: Self.pageSize, lastID: .max)
    func miss(_ row: KnownFile) {
      if row.path.first == 0 {
        note(.withoutPath(row: row.id))
      } else if !passedOver.contains(where: { isPath(row.path, below: $0) }) {
        note(.onlyInCatalogue(path: row.path))
      }
    }
    while let item = walk.next() {
      let path: [UInt8]
      var identity: FileIdentity?
      switch item {
      case .unreadableFolder(let folder, let reason):
        note(.unreadableFolder(path: folder, reason: reason))
        passedOver.append(folder)
        continue
      case .unreadable(let itsPath, _): path = itsPath
      case .file(let file): (path, identity) = (file.path, file.identity)
      }
      summary.files += 1
      while let row = try known.next(before: path) { miss(row) }
      guard let row = try known.next(at: path) else {
        note(.onlyOnDisk(path: path))
        continue
      }
      // What could not be read is looked at again by every scan, and known for that.
      if row.identity != .unknown && row.identity != identity { note(.changed(path: path)) }
    }
    while let row = try known.next(before: nil) { miss(row) }
    summary.changedMeanwhile = try catalogue.changeToken() != token
    return summary
  }
}
