import LibraryCatalogue
import PhotoModel

/// Maps albums of an export to albums of the library: to the album that an earlier import made for it, wherever it is
/// now; otherwise to an album at the top level that has the same title and that no import made; otherwise to a new one.
struct ImportedAlbums {
  private static let pageSize = 1000

  /// Albums of earlier imports and of this one, by key.
  private var imported: [String: LocalIdentifier]
  /// Albums at the top level that users have made, by title.
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

  /// Notes that an album no longer exists. Returns false if this was noted before, or if the album does not belong to
  /// this import.
  mutating func noteDeletion(of identifier: LocalIdentifier) -> Bool {
    guard let key = imported.first(where: { $0.value == identifier })?.key else { return false }
    return deleted.insert(key).inserted
  }

  /// Whether a user has deleted an album since this import began. It gets no more assets; the next import makes it
  /// again.
  func wasDeleted(_ album: ImportedAlbum) -> Bool { deleted.contains(album.key) }

  /// Whether the key of an album that was found by its title must be recorded in the catalogue. Then the next import
  /// finds it by its key, also if its title has changed or the export has another album with this title.
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
