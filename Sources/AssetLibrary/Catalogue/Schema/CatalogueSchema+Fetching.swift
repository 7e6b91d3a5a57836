// Migration 4: what makes a fetch over a million assets as quick as one over ten. A test reads the plans of SQLite for all
// that is to be quick.

extension CatalogueSchema {
  static let fetching = """
    -- Newest first in each kind of album. `listing` is in them, so that what a listing leaves out is passed over unread.
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

    -- How many assets are of a day (UTC: milliseconds since 1970 by 86,400,000, rounded down), for each value of `listing`.
    CREATE TABLE dayCount (
      day INTEGER NOT NULL,
      listing INTEGER NOT NULL,
      value INTEGER NOT NULL,
      PRIMARY KEY (day, listing)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO dayCount
      SELECT \(day("creationDate")), listing, count(*) FROM asset GROUP BY 1, 2;

    -- Days whose moments are to be made anew.
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

    -- What was taken together: the listed assets of a stretch of time, both ends included. Two sets of them: those of the
    -- one (`isByPlace`) also end where the place changes, and are for those who may know places.
    CREATE TABLE moment (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      localIdentifier TEXT NOT NULL UNIQUE,
      isByPlace INTEGER NOT NULL,
      startDate INTEGER NOT NULL,
      endDate INTEGER NOT NULL,
      assetCount INTEGER NOT NULL,
      -- Of its last change.
      revision INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX momentByDate ON moment (isByPlace, startDate, id);
    -- The zone in whose days moments lie.
    INSERT INTO library VALUES ('momentZone', '');

    -- The identifiers of assets that are gone, for who holds a list with them.
    CREATE TABLE deletedAsset (
      id INTEGER PRIMARY KEY,
      localIdentifier TEXT NOT NULL,
      -- The token of the change that it went with.
      revision INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX deletedAssetByIdentifier ON deletedAsset (localIdentifier);
    CREATE TRIGGER rememberDeletedAsset AFTER DELETE ON asset BEGIN
      INSERT INTO deletedAsset VALUES (
        OLD.id, OLD.localIdentifier, (SELECT value FROM library WHERE key = 'token'));
    END;
    """

  /// Rounds down, also before 1970.
  static func day(_ milliseconds: String) -> String {
    "(\(milliseconds) - ((\(milliseconds) % 86400000) + 86400000) % 86400000) / 86400000"
  }
}
