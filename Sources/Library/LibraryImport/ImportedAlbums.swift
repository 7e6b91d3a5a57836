import LibraryCatalogue
import PhotoModel

/// The albums that an import adds to. An album of the export is the one that an earlier import has made of it, wherever it
/// is now; otherwise the album at the top level with its title that no import has made; otherwise a new one.
struct ImportedAlbums {
  private static let pageSize = 1000

  /// By their keys.
  private var imported: [String: LocalIdentifier]
  /// Albums at the top level that users have made, by their titles.
  private var others: [String: LocalIdentifier] = [:]
  /// The titles of the albums that this import has made or found by their title.
  private var taken: Set<String> = []
  /// The keys of the albums that were found by their title and are not recorded in the catalogue yet.
  private var unrecorded: Set<String> = []
  /// The keys of the albums that users have deleted since this import began.
  private var deleted: Set<String> = []

  init(_ catalogue: Catalogue, _ principal: Principal) throws(AssetSourceError) {
    imported = try catalogue.importedAlbums()
    let made = Set(imported.values)
    var query = CollectionQuery(type: .album, parent: .topLevel, limit: Self.pageSize)
    repeat {
      let page = try catalogue.collections(query, for: principal)
      for album in page.collections where album.type == .album {
        guard let title = album.title else { continue }
        if made.contains(album.localIdentifier) {
          taken.insert(title)
        } else if others[title] == nil {
          others[title] = album.localIdentifier
        }
      }
      query.cursor = page.nextCursor
    } while query.cursor != nil
  }

  /// The library's album for one of the export.
  mutating func identifier(of album: ImportedAlbum) -> LocalIdentifier? {
    if let identifier = imported[album.key] { return identifier }
    guard !taken.contains(album.title), let identifier = others[album.title] else { return nil }
    taken.insert(album.title)
    imported[album.key] = identifier
    unrecorded.insert(album.key)
    return identifier
  }

  /// Leaves out an album that no longer exists. Returns false if it is left out already, or does not belong to this
  /// import.
  mutating func forget(_ identifier: LocalIdentifier) -> Bool {
    guard let key = imported.first(where: { $0.value == identifier })?.key else { return false }
    return deleted.insert(key).inserted
  }

  /// Whether a user has deleted an album since this import began. It gets no more assets; the next import makes it again.
  func wasDeleted(_ album: ImportedAlbum) -> Bool { deleted.contains(album.key) }

  /// Whether the catalogue must record that an album of the library is this one, so that the next import finds it by its
  /// key: then it may have another title, or the export another album with this title.
  func needsRecord(_ album: ImportedAlbum) -> Bool { unrecorded.contains(album.key) }

  mutating func recorded(_ album: ImportedAlbum) { unrecorded.remove(album.key) }

  /// The title of a new album: the second one with a title gets `Title (2)`.
  func title(of album: ImportedAlbum) -> String {
    var title = album.title
    var number = 2
    while taken.contains(title) || others[title] != nil && number > 2 {
      title = "\(album.title) (\(number))"
      number += 1
    }
    return title
  }

  mutating func made(_ identifier: LocalIdentifier, of album: ImportedAlbum, titled title: String) {
    imported[album.key] = identifier
    taken.insert(title)
  }
}
