// The search index: the words of each asset, and an FTS5 index of them in the order of the assets' dates.
//
// The triggers queue what may have changed, and `SearchIndex` indexes it at the end of the same transaction. So every
// commit leaves the queue empty, and no reader sees an index that differs from the rows.
//
// The rows of the index are numbered by date, newest first, so FTS5 returns the newest matches first and a page of them
// is read without the others. The number is unique, because its lower half is the asset's row.

extension CatalogueSchema {
  static var search: String { searchTables + searchTriggers }

  static let searchTables = """
    -- The words of an asset: see SearchDocument.
    CREATE TABLE searchText (
      -- By date, newest first: see `document`.
      document INTEGER PRIMARY KEY,
      text TEXT NOT NULL
    ) STRICT;
    -- The text consists of words of folded letters and digits, separated by spaces, so the simplest tokenizer suffices.
    -- Nothing reads the sizes of columns.
    CREATE VIRTUAL TABLE search USING fts5 (
      text, content = 'searchText', content_rowid = 'document', columnsize = 0, tokenize = 'ascii');
    -- Fewer, larger merges: less work for each asset, and a few more segments to read.
    INSERT INTO search (search, rank) VALUES ('automerge', 8);
    -- All that the index contains, for the check.
    CREATE VIRTUAL TABLE searchInstance USING fts5vocab (search, instance);
    -- The indexed words, and words no longer indexed until Catalogue.pruneSearchTerms removes them. For a prefix, it is
    -- faster to look up the words that begin with it here and to search for these words than to let FTS5 merge their
    -- lists.
    CREATE TABLE searchTerm (term TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
    -- Documents that may have to be indexed again, added or removed. Empty after each commit.
    CREATE TABLE searchQueue (document INTEGER PRIMARY KEY) STRICT;
    """

  private static let searchTriggers = """
    CREATE TRIGGER queueInsertedAsset AFTER INSERT ON asset BEGIN
      \(queue("NEW.creationDate", "NEW.id"))
    END;
    CREATE TRIGGER queueUpdatedAsset AFTER UPDATE OF \(searchedColumns.joined(separator: ", ")) ON asset
      WHEN (\(searchedColumns.map { "NEW." + $0 }.joined(separator: ", ")))
        IS NOT (\(searchedColumns.map { "OLD." + $0 }.joined(separator: ", ")))
    BEGIN
      \(queue("OLD.creationDate", "OLD.id"))
      \(queue("NEW.creationDate", "NEW.id"))
    END;
    CREATE TRIGGER queueDeletedAsset AFTER DELETE ON asset BEGIN
      \(queue("OLD.creationDate", "OLD.id"))
    END;
    -- A file that becomes an asset's primary one by its insertion comes with a new asset, or after an update of the
    -- file that was the primary one.
    CREATE TRIGGER queueMovedFile AFTER UPDATE OF path, asset, isPrimary ON file
      WHEN NEW.path <> OLD.path OR NEW.isPrimary <> OLD.isPrimary OR NEW.asset IS NOT OLD.asset
    BEGIN
      INSERT INTO searchQueue SELECT \(document("creationDate", "id")) FROM asset WHERE id IN (OLD.asset, NEW.asset)
        ON CONFLICT DO NOTHING;
    END;
    CREATE TRIGGER queueInsertedMember AFTER INSERT ON member BEGIN
      \(queue("NEW.creationDate", "NEW.asset"))
    END;
    -- The number of a deleted album is never used again, so the words of its members may keep it.
    CREATE TRIGGER queueDeletedMember AFTER DELETE ON member
      WHEN EXISTS (SELECT 1 FROM collection WHERE id = OLD.collection)
    BEGIN
      \(queue("OLD.creationDate", "OLD.asset"))
    END;
    """

  /// The columns of `asset` that decide on its words and on the number of its document.
  private static let searchedColumns = [
    "originalFilename", "title", "caption", "keywords", "people", "cameraMake", "cameraModel", "lensModel", "placeCity",
    "placeRegion", "placeCountry", "creationDate",
  ]

  private static func queue(_ date: String, _ asset: String) -> String {
    "INSERT INTO searchQueue VALUES (\(document(date, asset))) ON CONFLICT DO NOTHING;"
  }

  /// The number of an asset's document, in SQL: above the asset's 32 bits, the inverted date in units of 4.096 seconds,
  /// from 1691 to 2248. Without functions: see the note at the head of CatalogueSchema.swift.
  static func document(_ date: String, _ asset: String) -> String {
    """
    ((CASE WHEN \(date) BETWEEN -8796093022208 AND 8796093022207 THEN ~(\(date) >> 12) \
    WHEN \(date) < 0 THEN 2147483647 ELSE -2147483648 END) << 32 | \(asset))
    """
  }
}
