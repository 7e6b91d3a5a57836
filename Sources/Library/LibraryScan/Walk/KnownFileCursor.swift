import LibraryCatalogue
import PhotoModel

/// The known files within a scope, as they were when the scan began, in path order, one page at a time.
package struct KnownFileCursor {
  let catalogue: Catalogue
  let pageSize: Int
  /// Rows above this one were added by this scan.
  package let lastID: Int64
  /// Remaining targets, the next one last.
  private var targets: [ScanScope.Target]
  private var page: ArraySlice<KnownFile> = []
  /// The last path of the previous page.
  private var last: [UInt8]?

  /// Over the whole library.
  package init(catalogue: Catalogue, pageSize: Int, lastID: Int64) {
    self.init(catalogue: catalogue, pageSize: pageSize, lastID: lastID, scope: .everything)
  }

  init(catalogue: Catalogue, pageSize: Int, lastID: Int64, scope: ScanScope) {
    self.catalogue = catalogue
    self.pageSize = pageSize
    self.lastID = lastID
    targets = scope.targets.reversed()
  }

  /// The next file if its path sorts before `path`; a `nil` path returns any next file.
  package mutating func next(before path: [UInt8]?) throws(AssetSourceError) -> KnownFile? {
    guard let file = try peek() else { return nil }
    if let path, !file.path.lexicographicallyPrecedes(path) { return nil }
    page.removeFirst()
    return file
  }

  /// The next file if its path equals `path`.
  package mutating func next(at path: [UInt8]) throws(AssetSourceError) -> KnownFile? {
    guard let file = try peek(), file.path == path else { return nil }
    page.removeFirst()
    return file
  }

  private mutating func peek() throws(AssetSourceError) -> KnownFile? {
    while page.isEmpty, let target = targets.last {
      switch target {
      case .file(let path):
        targets.removeLast()
        if let file = try catalogue.knownFile(at: path), file.id <= lastID { page = [file] }
      case .folder(let folder):
        page = try catalogue.knownFiles(below: folder, after: last, upTo: lastID, limit: pageSize)[...]
        last = page.last?.path
        if page.count < pageSize {
          targets.removeLast()
          last = nil
        }
      }
    }
    return page.first
  }
}
