// Migration 9: which changes are a limited library's own, so that what others change, and how the history is shortened by
// that, is nothing to it.

extension CatalogueSchema {
  static let limitedHistory = """
    -- What was theirs before is not known: they begin anew.
    UPDATE limitedLibrary SET madeRevision = revision, placelessRevision = revision;

    -- A row for each change of anything in a limited library. The last one that the history has lost stays.
    CREATE TABLE limitedRevision (
      library INTEGER NOT NULL REFERENCES limitedLibrary (id) ON DELETE CASCADE,
      token INTEGER NOT NULL,
      -- It is none for who may not know places.
      isPlaceOnly INTEGER NOT NULL,
      -- About as many of its objects changed.
      objects INTEGER NOT NULL,
      PRIMARY KEY (library, token)
    ) STRICT, WITHOUT ROWID;
    CREATE TRIGGER noteLimitedRevision AFTER UPDATE OF revision, placelessRevision ON limitedLibrary BEGIN
      INSERT INTO limitedRevision VALUES (NEW.id, NEW.revision, 1, 0) ON CONFLICT DO NOTHING;
      UPDATE limitedRevision
        SET isPlaceOnly = isPlaceOnly AND NEW.placelessRevision < NEW.revision, objects = objects + 1
        WHERE library = NEW.id AND token = NEW.revision;
    END;
    """
}
