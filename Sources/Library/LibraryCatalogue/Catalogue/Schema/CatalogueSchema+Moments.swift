extension CatalogueSchema {
  static let moments = """
    -- Moments: listed assets of a library that were taken together, in a period with both ends included. There are two
    -- sets: moments with `splitsByLocation` also end where the location changes, and are for principals with the
    -- location scope.
    CREATE TABLE moment (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      library INTEGER NOT NULL REFERENCES library (id) ON DELETE CASCADE,
      localIdentifier TEXT NOT NULL,
      splitsByLocation INTEGER NOT NULL,
      -- The `localDay` of all its assets.
      day INTEGER NOT NULL,
      startDate INTEGER NOT NULL,
      endDate INTEGER NOT NULL,
      assetCount INTEGER NOT NULL,
      -- From the places of its assets; only with `splitsByLocation`.
      title TEXT,
      -- The token of its last change.
      revision INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX momentByDate ON moment (library, splitsByLocation, startDate, id);
    CREATE UNIQUE INDEX momentByIdentifier ON moment (library, splitsByLocation, localIdentifier);
    """
}
