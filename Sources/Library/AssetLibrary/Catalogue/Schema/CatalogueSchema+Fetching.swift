// Migration 4: indexes and counters that keep fetches fast for a million assets. A test checks SQLite's query plans of
// all fetches that must be fast.

extension CatalogueSchema {
  static let fetching = """
    -- Newest first for each kind of smart album. The indexes contain `listing`, so that unlisted assets are skipped
    -- without reading their rows.
    CREATE INDEX favoriteByDate ON asset (creationDate DESC, localIdentifier, listing) WHERE isFavorite = 1;
    CREATE INDEX videoByDate ON asset (creationDate DESC, localIdentifier, listing) WHERE mediaType = 2;
    CREATE INDEX hiddenByDate ON asset (creationDate DESC, localIdentifier, listing) WHERE isHidden = 1;
    CREATE INDEX burstByDate ON asset (creationDate DESC, localIdentifier, listing) WHERE representsBurst = 1;
    CREATE INDEX rawByDate ON asset (creationDate DESC, localIdentifier, listing) WHERE isRAW = 1;
    CREATE INDEX panoramaByDate ON asset (creationDate DESC, localIdentifier, listing) WHERE (mediaSubtypes & 1) <> 0;
    CREATE INDEX hdrByDate ON asset (creationDate DESC, localIdentifier, listing) WHERE (mediaSubtypes & 2) <> 0;
    CREATE INDEX screenshotByDate ON asset (creationDate DESC, localIdentifier, listing) WHERE (mediaSubtypes & 4) <> 0;
    CREATE INDEX liveByDate ON asset (creationDate DESC, localIdentifier, listing) WHERE (mediaSubtypes & 8) <> 0;
    CREATE INDEX depthByDate ON asset (creationDate DESC, localIdentifier, listing) WHERE (mediaSubtypes & 16) <> 0;
    CREATE INDEX assetByAddition ON asset (addedDate DESC, localIdentifier, listing);

    -- The number of assets of each day (UTC: milliseconds since 1970 divided by 86,400,000, rounded down), for each
    -- value of `listing`.
    CREATE TABLE dayCount (
      day INTEGER NOT NULL,
      listing INTEGER NOT NULL,
      value INTEGER NOT NULL,
      PRIMARY KEY (day, listing)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO dayCount
      SELECT \(day("creationDate")), listing, count(*) FROM asset GROUP BY 1, 2;

    -- Days whose moments must be recomputed.
    CREATE TABLE staleDay (
      day INTEGER PRIMARY KEY
    ) STRICT;
    INSERT INTO staleDay SELECT DISTINCT day FROM dayCount;

    CREATE TRIGGER dayOfInsertedAsset AFTER INSERT ON asset BEGIN
      INSERT INTO dayCount VALUES (\(day("NEW.creationDate")), NEW.listing, 1)
        ON CONFLICT DO UPDATE SET value = value + 1;
      INSERT OR IGNORE INTO staleDay VALUES (\(day("NEW.creationDate")));
    END;
    CREATE TRIGGER dayOfDeletedAsset AFTER DELETE ON asset BEGIN
      UPDATE dayCount SET value = value - 1 WHERE day = \(day("OLD.creationDate")) AND listing = OLD.listing;
      INSERT OR IGNORE INTO staleDay VALUES (\(day("OLD.creationDate")));
    END;
    CREATE TRIGGER dayOfChangedAsset AFTER UPDATE ON asset
      WHEN NEW.creationDate <> OLD.creationDate OR NEW.listing <> OLD.listing
        OR NEW.latitude IS NOT OLD.latitude OR NEW.longitude IS NOT OLD.longitude
    BEGIN
      UPDATE dayCount SET value = value - 1 WHERE day = \(day("OLD.creationDate")) AND listing = OLD.listing;
      INSERT INTO dayCount VALUES (\(day("NEW.creationDate")), NEW.listing, 1)
        ON CONFLICT DO UPDATE SET value = value + 1;
      INSERT OR IGNORE INTO staleDay VALUES (\(day("OLD.creationDate"))), (\(day("NEW.creationDate")));
    END;

    -- Moments: listed assets that were taken together, in a period with both ends included. There are two sets: moments
    -- with `splitsByLocation` also end where the location changes, and are for principals with the location scope.
    CREATE TABLE moment (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      localIdentifier TEXT NOT NULL UNIQUE,
      splitsByLocation INTEGER NOT NULL,
      startDate INTEGER NOT NULL,
      endDate INTEGER NOT NULL,
      assetCount INTEGER NOT NULL,
      -- The token of its last change.
      revision INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX momentByDate ON moment (splitsByLocation, startDate, id);
    -- The time zone that divides moments into days.
    INSERT INTO library VALUES ('momentZone', '');

    -- The identifiers of deleted assets, for fetch results that still list them.
    CREATE TABLE deletedAsset (
      id INTEGER PRIMARY KEY,
      localIdentifier TEXT NOT NULL,
      -- The token of the change that deleted it.
      revision INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX deletedAssetByIdentifier ON deletedAsset (localIdentifier);
    CREATE TRIGGER rememberDeletedAsset AFTER DELETE ON asset BEGIN
      INSERT INTO deletedAsset VALUES (
        OLD.id, OLD.localIdentifier, (SELECT value FROM library WHERE key = 'token'));
    END;
    """

  /// The day number of an SQL expression in milliseconds; rounds down, also before 1970.
  static func day(_ milliseconds: String) -> String {
    "(\(milliseconds) - ((\(milliseconds) % 86400000) + 86400000) % 86400000) / 86400000"
  }
}
