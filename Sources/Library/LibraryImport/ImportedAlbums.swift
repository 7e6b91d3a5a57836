import LibraryCatalogue
import PhotoModel

/// The albums of the library's top level, by their titles, and those that an import adds to.
struct ImportedAlbums {
  private static let pageSize = 1000

  private var identifiers: [String: LocalIdentifier] = [:]
  /// The titles of this import's albums, by their keys.
  private var titles: [[UInt8]: String] = [:]
  private var taken: Set<String> = []

  init(_ catalogue: Catalogue, _ principal: Principal) throws(AssetSourceError) {
    var query = CollectionQuery(type: .album, parent: .topLevel, limit: Self.pageSize)
    repeat {
      let page = try catalogue.collections(query, for: principal)
      for album in page.collections where album.type == .album {
        if let title = album.title, identifiers[title] == nil { identifiers[title] = album.localIdentifier }
      }
      query.cursor = page.nextCursor
    } while query.cursor != nil
  }

  /// The title that an album gets. Two albums of the export with one title stay two: the second is `Title (2)`. Sources
  /// name albums in the same order each time, so the next import finds the same titles.
  mutating func title(of album: ImportedAlbum) -> String {
    if let title = titles[album.key] { return title }
    var title = album.title
    var number = 2
    while !taken.insert(title).inserted {
      title = "\(album.title) (\(number))"
      number += 1
    }
    titles[album.key] = title
    return title
  }

  /// The library's album with a title, if it has one.
  func identifier(titled title: String) -> LocalIdentifier? { identifiers[title] }

  mutating func made(_ identifier: LocalIdentifier, titled title: String) { identifiers[title] = identifier }
}
