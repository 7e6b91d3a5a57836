// Migration 9: the history of each limited library, so that neither invisible changes nor pruning of the whole history
// affects its tokens.

extension CatalogueSchema {
  static let limitedHistory = """
    -- Earlier changes can't be assigned to a library, so its history begins here.
    UPDATE limitedLibrary SET madeRevision = revision, nonLocationRevision = revision;

    -- A row for each change that is visible in a limited library. The newest pruned row is kept.
    CREATE TABLE limitedRevision (
      -- Deferred: an immediate check would make SQLite journal pages for each insertion of an asset, to be able to undo
      -- that statement.
      library INTEGER NOT NULL REFERENCES limitedLibrary (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
      token INTEGER NOT NULL,
      -- Invisible to principals without the location scope.
      isLocationOnly INTEGER NOT NULL,
      -- The approximate number of its changed objects.
      objects INTEGER NOT NULL,
      PRIMARY KEY (library, token)
    ) STRICT, WITHOUT ROWID;
    CREATE TRIGGER noteLimitedRevision AFTER UPDATE OF revision, nonLocationRevision ON limitedLibrary BEGIN
      INSERT INTO limitedRevision VALUES (NEW.id, NEW.revision, 1, 0) ON CONFLICT DO NOTHING;
      UPDATE limitedRevision
        SET isLocationOnly = isLocationOnly AND NEW.nonLocationRevision < NEW.revision, objects = objects + 1
        WHERE library = NEW.id AND token = NEW.revision;
    END;
    """
}
