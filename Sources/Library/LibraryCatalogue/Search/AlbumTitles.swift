// A cache of the words of album titles. The search index contains albums by number, so each search looks for its words
// here. The words of a library are cached until its next change, because folding the titles of thousands of albums
// takes longer than most searches.

import GRDB
import PhotoPredicate
import Primitives
import Synchronization

final class AlbumTitles: Sendable {
  /// The maximum number of libraries whose titles are cached. The least recently searched one is evicted.
  private static let maximumLibraries = 16
  /// The maximum size of the cache in bytes: enough for about 60,000 albums.
  private static let maximumBytes = 8 << 20

  struct Title: Sendable {
    let album: Int64
    let words: [String]
  }

  private struct Library: Sendable {
    /// The revision of the library from which the titles were read.
    let revision: Int64
    let titles: [Title]
  }

  private let libraries = Mutex(
    LRUCache<LibraryID, Library>(capacity: AlbumTitles.maximumLibraries, capacityBytes: AlbumTitles.maximumBytes))

  /// The titles of all albums that a library has, in a read transaction.
  func titles(of id: LibraryID, _ db: Database) throws -> [Title] {
    // The revision changes when an album enters or leaves the library, and when an album's title changes.
    let revision = try id.revision(db)
    if let kept = libraries.withLock({ $0.value(for: id) }), kept.revision == revision { return kept.titles }
    let library = Library(revision: revision, titles: try Self.read(id, db))
    let bytes = library.titles.reduce(0) { $0 + $1.bytes }
    // The dropped ones are released after the lock.
    _ = libraries.withLock { $0.keep(library, for: id, bytes: bytes) }
    return library.titles
  }

  private static func read(_ library: LibraryID, _ db: Database) throws -> [Title] {
    let rows = try Row.fetchCursor(
      db.cachedStatement(
        sql: """
          SELECT collection.id, collection.title
          FROM libraryCollection CROSS JOIN collection ON collection.id = libraryCollection.collection
          WHERE libraryCollection.library = ? AND libraryCollection.type = 'album'
          """), arguments: [library.row])
    var titles: [Title] = []
    while let row = try rows.next() {
      if let title: String = row[1] { titles.append(Title(album: row[0], words: SearchText.words(of: title))) }
    }
    return titles
  }
}

extension AlbumTitles.Title {
  /// Approximate memory in bytes.
  fileprivate var bytes: Int { words.reduce(64) { $0 + 16 + $1.utf8.count } }

  /// Whether the words of a term follow each other in the title.
  func matches(_ term: SearchQuery.Term) -> Bool {
    guard words.count >= term.words.count else { return false }
    return (0...words.count - term.words.count).contains { start in
      term.words.indices.allSatisfy { index in
        let word = words[start + index]
        if term.isPrefix && index == term.words.count - 1 {
          return word.unicodeScalars.starts(with: term.words[index].unicodeScalars)
        }
        return word.unicodeScalars.elementsEqual(term.words[index].unicodeScalars)
      }
    }
  }
}
