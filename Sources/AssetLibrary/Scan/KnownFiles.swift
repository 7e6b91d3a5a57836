import PhotoModel

/// The catalogue's files as they were when the scan began, in the order of their paths, a page at a time.
struct KnownFiles {
  let catalogue: Catalogue
  let pageSize: Int
  /// Rows above this one were added by the scan itself.
  let lastID: Int64
  private var page: ArraySlice<KnownFile> = []
  private var last: [UInt8]?
  private var isAtEnd = false

  init(catalogue: Catalogue, pageSize: Int, lastID: Int64) {
    self.catalogue = catalogue
    self.pageSize = pageSize
    self.lastID = lastID
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
    if page.isEmpty && !isAtEnd {
      page = try catalogue.knownFiles(after: last, upTo: lastID, limit: pageSize)[...]
      isAtEnd = page.count < pageSize
      last = page.last?.path
    }
    return page.first
  }
}
