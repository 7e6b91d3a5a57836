// Finds other names of changed files: hard links, and symbolic links to them. The kernel reports a change only under
// the name that it was made through. A full scan finds the other names without this type.

import LibraryCatalogue
import PhotoModel

struct LinkedNames {
  let catalogue: Catalogue
  let isEnabled: Bool
  private(set) var paths: [[UInt8]] = []

  init(catalogue: Catalogue, isEnabled: Bool) {
    self.catalogue = catalogue
    self.isEnabled = isEnabled
  }

  /// Adds the other paths of a file that changed: the rows with its previous identity.
  mutating func add(of row: KnownFile) throws(AssetSourceError) {
    guard isEnabled, row.identity != .unknown else { return }
    for other in try catalogue.knownFiles(like: row.identity) where other.id != row.id && other.hasPath {
      paths.append(other.path)
    }
  }

  mutating func add(ofMissing ids: [Int64]) throws(AssetSourceError) {
    let missing = Set(ids)
    for row in try catalogue.knownFiles(ids) where row.identity != .unknown {
      for other in try catalogue.knownFiles(like: row.identity)
      where !missing.contains(other.id) && other.hasPath { paths.append(other.path) }
    }
  }
}
