import GRDB

/// The catalogue's tables, as named steps that are never edited once released.
package enum CatalogueSchema {
  package static var migrator: DatabaseMigrator {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("1: files and assets") { db in
      try db.execute(sql: filesAndAssets)
    }
    // Only adds, so that no reference has to be checked anew.
    migrator.registerMigration("2: placeholders", foreignKeyChecks: .immediate) { db in
      try db.execute(sql: placeholders)
    }
    migrator.registerMigration("3: assets of several files, collections") { db in
      try assetsOfSeveralFiles(db)
    }
    // Only adds.
    migrator.registerMigration("4: fetching", foreignKeyChecks: .immediate) { db in
      try db.execute(sql: fetching)
    }
    migrator.registerMigration("5: changes") { db in
      try db.execute(sql: changes)
    }
    // Only adds.
    migrator.registerMigration("6: trash", foreignKeyChecks: .immediate) { db in
      try db.execute(sql: trash)
    }
    // Only adds.
    migrator.registerMigration("7: limited access", foreignKeyChecks: .immediate) { db in
      try db.execute(sql: limitedAccess)
    }
    // Counts and dates are what they were.
    migrator.registerMigration("8: grid", foreignKeyChecks: .immediate) { db in
      try db.execute(sql: grid)
    }
    migrator.registerMigration("9: history of limited libraries", foreignKeyChecks: .immediate) { db in
      try db.execute(sql: limitedHistory)
    }
    // Leaves every row as it is.
    migrator.registerMigration("10: triggers for less", foreignKeyChecks: .immediate) { db in
      try triggersForLess(db)
    }
    return migrator
  }

  private static let filesAndAssets = """
    -- Single values: the token of the last change, the key of content versions, whether a scan was ever complete, and
    -- what the last complete scan was made with (limits, zone, code), for a scan made with something else reads anew.
    CREATE TABLE library (
      key TEXT PRIMARY KEY,
      value ANY
    ) STRICT;
    INSERT INTO library VALUES ('token', 0), ('contentKey', randomblob(32)), ('isFirstScanComplete', 0), ('probe', '');

    CREATE TABLE asset (
      id INTEGER PRIMARY KEY,
      localIdentifier TEXT NOT NULL UNIQUE,
      contentVersion TEXT NOT NULL,
      revision INTEGER NOT NULL,
      mediaType TEXT NOT NULL,
      uniformTypeIdentifier TEXT NOT NULL,
      -- Of the upright picture.
      pixelWidth INTEGER NOT NULL,
      pixelHeight INTEGER NOT NULL,
      orientation INTEGER NOT NULL CHECK (orientation BETWEEN 1 AND 8),
      hasAlpha INTEGER NOT NULL,
      -- Milliseconds since 1970.
      creationDate INTEGER NOT NULL,
      creationDateSource TEXT NOT NULL,
      modificationDate INTEGER NOT NULL,
      latitude REAL,
      longitude REAL,
      altitude REAL,
      cameraMake TEXT,
      cameraModel TEXT,
      isFavorite INTEGER NOT NULL DEFAULT 0,
      isHidden INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE INDEX assetByDate ON asset (creationDate DESC, localIdentifier);
    CREATE INDEX visibleAssetByDate ON asset (creationDate DESC, localIdentifier) WHERE isHidden = 0;

    -- Every regular file that a scan met: an asset's, or one that is none, with the reason.
    CREATE TABLE file (
      id INTEGER PRIMARY KEY,
      asset INTEGER REFERENCES asset (id) ON DELETE CASCADE,
      -- Bytes below the library's root. One that begins with a NUL, which no path can, stands for none: another file has
      -- taken this one's place, and where it went is not known yet.
      path BLOB NOT NULL UNIQUE,
      inode INTEGER NOT NULL,
      size INTEGER NOT NULL,
      -- Nanoseconds since 1970.
      modified INTEGER NOT NULL,
      thumbnailOffset INTEGER,
      thumbnailLength INTEGER,
      unreadableReason TEXT
    ) STRICT;
    CREATE UNIQUE INDEX fileByAsset ON file (asset);
    CREATE INDEX fileByIdentity ON file (inode, size, modified);

    -- Counting a million rows takes a tenth of a second; these are kept instead.
    CREATE TABLE counter (
      name TEXT PRIMARY KEY,
      value INTEGER NOT NULL
    ) STRICT;
    INSERT INTO counter VALUES ('assets', 0), ('hiddenAssets', 0);
    CREATE TRIGGER countInsertedAsset AFTER INSERT ON asset BEGIN
      UPDATE counter SET value = value + 1 WHERE name = 'assets';
      UPDATE counter SET value = value + NEW.isHidden WHERE name = 'hiddenAssets' AND NEW.isHidden;
    END;
    CREATE TRIGGER countDeletedAsset AFTER DELETE ON asset BEGIN
      UPDATE counter SET value = value - 1 WHERE name = 'assets';
      UPDATE counter SET value = value - OLD.isHidden WHERE name = 'hiddenAssets' AND OLD.isHidden;
    END;
    CREATE TRIGGER countHiddenAsset AFTER UPDATE OF isHidden ON asset WHEN NEW.isHidden <> OLD.isHidden BEGIN
      UPDATE counter SET value = value + NEW.isHidden - OLD.isHidden WHERE name = 'hiddenAssets';
    END;
    """

  private static let placeholders = """
    -- A ThumbHash, and the content version that it was made of; a version without one: none can be made of that.
    ALTER TABLE asset ADD COLUMN placeholder BLOB CHECK (length(placeholder) <= 64);
    ALTER TABLE asset ADD COLUMN placeholderVersion TEXT;
    -- Holds those that are to be made and nothing else, in the order in which they are.
    CREATE INDEX assetWithoutPlaceholder ON asset (creationDate DESC, localIdentifier)
      WHERE placeholderVersion IS NOT contentVersion;
    -- What placeholders were last made with: what it could not make, something else may.
    INSERT INTO library VALUES ('placeholderMark', '');
    """
}
