// Keeps the search index current: indexes the assets that triggers queued, at the end of the same transaction.
//
// Documents are written in the order of their numbers. FTS5 collects the words of many documents in memory and sorts
// them once, but only while the numbers ascend: a number below the previous one starts a new segment, which takes about
// ten times as long.

import GRDB
import PhotoPredicate

package enum SearchIndex {
  /// The number of documents that are read at a time.
  private static let batchSize = 512

  /// Indexes the queued documents, within a write transaction.
  ///
  /// - Parameter limit: the maximum number of documents.
  /// - Returns: whether the queue is empty now.
  @discardableResult
  package static func update(_ db: Database, atMost limit: Int = .max) throws -> Bool {
    var last = Int64.min
    var count = 0
    while count < limit {
      let size = min(batchSize, limit - count)
      let documents = try queued(after: last, size, db)
      guard let end = documents.last?.number else { break }
      try write(documents, db)
      last = end
      count += documents.count
      if documents.count < size { break }
    }
    if count == 0 { return true }
    if count < limit {
      try db.cachedStatement(sql: "DELETE FROM searchQueue").execute()
      return true
    }
    try db.cachedStatement(sql: "DELETE FROM searchQueue WHERE document <= ?").execute(arguments: [last])
    return try isCurrent(db)
  }

  /// Whether the index contains all committed changes. False only if a program other than photod changed the catalogue.
  static func isCurrent(_ db: Database) throws -> Bool {
    try Int.fetchOne(db.cachedStatement(sql: "SELECT 1 FROM searchQueue LIMIT 1")) == nil
  }

  /// Whether the indexed words are those that ``SearchText`` makes. False after an update of photod that changes them.
  static func hasCurrentWords(_ db: Database) throws -> Bool {
    let version: Int? = try CatalogueValue.searchWords.read(db)
    return version == SearchText.version
  }

  /// Queues all assets, and records the current version of ``SearchText``. Unchanged documents are not written again.
  static func queueAll(_ db: Database) throws {
    try db.execute(
      sql: "INSERT OR IGNORE INTO searchQueue SELECT \(CatalogueSchema.document("creationDate", "id")) FROM asset")
    try CatalogueValue.searchWords.write(SearchText.version, db)
  }

  /// Drops the tables of the index, creates them empty, and queues all assets. FTS5 can't drop an index that it can't
  /// read, so its row in the schema is deleted first, and then its tables are dropped like any others. The caller drops
  /// the triggers that queue documents before.
  static func recreateTables(_ db: Database) throws {
    try db.execute(
      sql: """
        DROP TABLE searchInstance;
        PRAGMA writable_schema = ON;
        DELETE FROM sqlite_schema WHERE type = 'table' AND name = 'search';
        PRAGMA writable_schema = RESET;
        DROP TABLE search_data;
        DROP TABLE search_idx;
        DROP TABLE search_config;
        DROP TABLE searchText;
        DROP TABLE searchTerm;
        DROP TABLE searchQueue;
        """)
    try db.execute(sql: CatalogueSchema.searchTables)
    try queueAll(db)
  }

  private struct Document {
    let number: Int64
    /// The indexed text; `nil` if the document is new.
    let old: String?
    /// The text to index; `nil` if the document is to be removed.
    let new: String?
  }

  private static func queued(after last: Int64, _ size: Int, _ db: Database) throws -> [Document] {
    let rows = try Row.fetchCursor(
      db.cachedStatement(
        sql: """
          SELECT queued.document, searchText.text, asset.id, \(SearchDocument.columns)
          FROM (SELECT document FROM searchQueue WHERE document > ? ORDER BY document LIMIT ?) AS queued
            LEFT JOIN searchText ON searchText.document = queued.document
            LEFT JOIN asset ON asset.id = queued.document & 4294967295
              AND \(CatalogueSchema.document("asset.creationDate", "asset.id")) = queued.document
            LEFT JOIN file ON file.asset = asset.id AND file.isPrimary = 1
          ORDER BY queued.document
          """), arguments: [last, size])
    let albums = try db.cachedStatement(sql: albumsOfAsset)
    var documents: [Document] = []
    documents.reserveCapacity(size)
    while let row = try rows.next() {
      let asset: Int64? = row[2]
      let new = try asset.map { asset in
        try SearchDocument(row, from: 3, albums: Int64.fetchAll(albums, arguments: [asset])).text
      }
      documents.append(Document(number: row[0], old: row[1], new: new))
    }
    return documents
  }

  static let albumsOfAsset = "SELECT collection FROM member WHERE asset = ? ORDER BY collection"

  private static func write(_ documents: [Document], _ db: Database) throws {
    let unindex = try db.cachedStatement(sql: "INSERT INTO search (search, rowid, text) VALUES ('delete', ?, ?)")
    let index = try db.cachedStatement(sql: "INSERT INTO search (rowid, text) VALUES (?, ?)")
    let delete = try db.cachedStatement(sql: "DELETE FROM searchText WHERE document = ?")
    let replace = try db.cachedStatement(sql: "INSERT OR REPLACE INTO searchText VALUES (?, ?)")
    for document in documents where document.old != document.new {
      if let old = document.old { try unindex.execute(arguments: [document.number, old]) }
      if let new = document.new {
        try index.execute(arguments: [document.number, new])
        try replace.execute(arguments: [document.number, new])
      } else {
        try delete.execute(arguments: [document.number])
      }
    }
    try noteTerms(documents, db)
  }

  /// Adds new words to `searchTerm`. ``removeUnused(_:_:)`` removes words that are no longer used.
  private static func noteTerms(_ documents: [Document], _ db: Database) throws {
    var terms: Set<Substring> = []
    for document in documents where document.old != document.new {
      guard let new = document.new else { continue }
      for word in new.utf8.split(separator: UInt8(ascii: " ")) where !isMark(word) { terms.insert(Substring(word)) }
    }
    let insert = try db.cachedStatement(sql: "INSERT INTO searchTerm VALUES (?) ON CONFLICT DO NOTHING")
    for term in terms.sorted() { try insert.execute(arguments: [String(term)]) }
  }

  /// Whether a word is the mark of a field or the number of an album.
  private static func isMark(_ word: Substring.UTF8View) -> Bool {
    word.starts(with: [0xEE, 0x80])
      && ![SearchDocument.placeMark, SearchDocument.nameMark].contains { word.starts(with: $0.utf8) }
  }
}
