import PhotoModel

/// The catalogue's files within a scope, as they were when the scan began, in the order of their paths, a page at a time.
struct KnownFiles {
  let catalogue: Catalogue
  let pageSize: Int
  /// Rows above this one were added by the scan itself.
  let lastID: Int64
  /// Those that are not read yet, the next one last.
  private var stretches: [ScanScope.Stretch]
  private var page: ArraySlice<KnownFile> = []
  /// The last path of a folder's page before.
  private var last: [UInt8]?

  init(catalogue: Catalogue, pageSize: Int, lastID: Int64, scope: ScanScope = .everything) {
    self.catalogue = catalogue
    self.pageSize = pageSize
    self.lastID = lastID
    stretches = scope.stretches.reversed()
  }

  /// The next file if its path comes before this one; `nil` as the path: whatever comes.
  mutating func next(before path: [UInt8]?) throws(AssetSourceError) -> KnownFile? {
    guard let file = try peek() else { return nil }
    if let path, !file.path.lexicographicallyPrecedes(path) { return nil }
    page.removeFirst()
    return file
  }

  /// The next file if it has exactly this path.
  mutating func next(at path: [UInt8]) throws(AssetSourceError) -> KnownFile? {
    guard let file = try peek(), file.path == path else { return nil }
    page.removeFirst()
    return file
  }

  private mutating func peek() throws(AssetSourceError) -> KnownFile? {
    while page.isEmpty, let stretch = stretches.last {
      switch stretch {
      case .file(let path):
        stretches.removeLast()
        if let file = try catalogue.knownFile(at: path), file.id <= lastID { page = [file] }
      case .folder(let folder):
        page = try catalogue.knownFiles(below: folder, after: last, upTo: lastID, limit: pageSize)[...]
        last = page.last?.path
        if page.count < pageSize {
          stretches.removeLast()
          last = nil
        }
      }
    }
    return page.first
  }
}
