// Names that nothing was told of, of files that something was told of: hard links, and symbolic links that lead to them. The
// kernel tells of a change under the name by which it was made. A scan of everything meets the others by itself.

import PhotoModel

struct OtherNames {
  let catalogue: Catalogue
  let isWanted: Bool
  private(set) var paths: [[UInt8]] = []

  init(catalogue: Catalogue, isWanted: Bool) {
    self.catalogue = catalogue
    self.isWanted = isWanted
  }

  /// Of a file that is another by now: the rows that know it as it was.
  mutating func add(of row: KnownFile) throws(AssetSourceError) {
    guard isWanted, row.identity != .unknown else { return }
    for other in try catalogue.knownFiles(like: row.identity) where other.id != row.id && other.path.first != 0 {
      paths.append(other.path)
    }
  }

  mutating func add(ofMissing ids: [Int64]) throws(AssetSourceError) {
    let missing = Set(ids)
    for row in try catalogue.knownFiles(ids) where row.identity != .unknown {
      for other in try catalogue.knownFiles(like: row.identity)
      where !missing.contains(other.id) && other.path.first != 0 { paths.append(other.path) }
    }
  }
}
