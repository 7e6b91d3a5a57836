import GRDB
import PhotoPredicate

extension Catalogue {
  /// Compares the words of each asset with its properties, and the full-text index with these words. Documents that are
  /// still queued are left out: the next opening of the catalogue for writing indexes them. After an update of photod
  /// that changes how text is split into words, these are all documents.
  static func checkSearch(_ db: Database, _ report: (CheckDifference) -> Void) throws {
    if try SearchIndex.hasCurrentWords(db) { try checkWords(db, report) }
    let surplus = try Int.fetchOne(
      db,
      sql: """
        SELECT count(*) FROM searchText
        WHERE document NOT IN (SELECT \(CatalogueSchema.document("creationDate", "id")) FROM asset)
          AND document NOT IN (SELECT document FROM searchQueue)
        """)
    if let surplus, surplus > 0 { report(.counter(name: "documents without an asset", kept: surplus, counted: 0)) }
    let (indexed, written) = (try indexedWords(db), try writtenWords(db))
    if indexed != written {
      report(.damaged("the search index has \(indexed.count) words of \(written.count), or other ones"))
    }
  }

  private static func checkWords(_ db: Database, _ report: (CheckDifference) -> Void) throws {
    let collections = try Set(Int64.fetchCursor(db, sql: "SELECT id FROM collection"))
    let albums = try db.cachedStatement(sql: SearchIndex.albumsOfAsset)
    let assets = try Row.fetchCursor(
      db,
      sql: """
        SELECT asset.id, asset.localIdentifier, searchText.text, \(SearchDocument.columns)
        FROM asset JOIN file ON file.asset = asset.id AND file.isPrimary = 1
          LEFT JOIN searchText ON searchText.document = \(CatalogueSchema.document("asset.creationDate", "asset.id"))
        WHERE \(CatalogueSchema.document("asset.creationDate", "asset.id")) NOT IN (SELECT document FROM searchQueue)
        """)
    while let row = try assets.next() {
      let kept = (row[2] as String?).map { SearchDocument.withoutAlbums($0, except: collections) }
      let expected = try SearchDocument(row, from: 3, albums: Int64.fetchAll(albums, arguments: [row[0] as Int64])).text
      if kept != expected { report(.searchWords(localIdentifier: row[1])) }
    }
  }

  /// The number of words, and a digest of them that does not depend on their order.
  private struct WordSum: Equatable {
    var count = 0
    private var digest: UInt64 = 0

    /// FNV-1a over the word, its document and its position.
    mutating func add(_ word: some Sequence<UInt8>, _ document: Int64, _ position: Int) {
      var hash: UInt64 = 0xCBF2_9CE4_8422_2325
      func add(_ byte: UInt8) { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
      for byte in word { add(byte) }
      for number in [UInt64(bitPattern: document), UInt64(position)] {
        withUnsafeBytes(of: number.littleEndian) { $0.forEach(add) }
      }
      count += 1
      digest &+= hash
    }
  }

  private static func indexedWords(_ db: Database) throws -> WordSum {
    var sum = WordSum()
    let rows = try Row.fetchCursor(db, sql: "SELECT term, doc, \"offset\" FROM searchInstance")
    while let row = try rows.next() { sum.add((row[0] as String).utf8, row[1], row[2]) }
    return sum
  }

  private static func writtenWords(_ db: Database) throws -> WordSum {
    var sum = WordSum()
    let rows = try Row.fetchCursor(db, sql: "SELECT document, text FROM searchText")
    while let row = try rows.next() {
      let words = (row[1] as String).utf8.split(separator: UInt8(ascii: " "))
      for (position, word) in words.enumerated() { sum.add(word, row[0], position) }
    }
    return sum
  }
}

extension SearchDocument {
  /// A text without the numbers of albums that no longer exist.
  fileprivate static func withoutAlbums(_ text: String, except collections: Set<Int64>) -> String {
    let mark = String(decoding: Field.album.mark, as: UTF8.self)
    guard let begin = text.unicodeScalars.firstIndex(of: mark.unicodeScalars[mark.unicodeScalars.startIndex]) else {
      return text
    }
    let albums = text[begin...].split(separator: " ").filter { $0 != mark }.filter { album in
      Int64(album.unicodeScalars.dropFirst().map(String.init).joined()).map(collections.contains) ?? false
    }
    return text[..<begin] + albums.map { "\(mark) \($0) " }.joined()
  }
}
