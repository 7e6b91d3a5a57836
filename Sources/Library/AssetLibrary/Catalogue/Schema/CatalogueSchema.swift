import GRDB

/// The catalogue's tables, as named migrations. A migration is never edited after its release.
package enum CatalogueSchema {
  package static var migrator: DatabaseMigrator {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("1: files and assets") { db in
      try db.execute(sql: filesAndAssets)
    }
    // Only adds columns and indexes, so existing foreign keys need no second check.
    migrator.registerMigration("2: placeholders", foreignKeyChecks: .immediate) { db in
      try db.execute(sql: placeholders)
    }
    migrator.registerMigration("3: assets of several files, collections") { db in
      try assetsOfSeveralFiles(db)
    }
    // Only adds tables, columns, indexes or triggers.
    migrator.registerMigration("4: fetching", foreignKeyChecks: .immediate) { db in
      try db.execute(sql: fetching)
    }
    migrator.registerMigration("5: changes") { db in
      try db.execute(sql: changes)
    }
    // Only adds tables, columns, indexes or triggers.
    migrator.registerMigration("6: trash", foreignKeyChecks: .immediate) { db in
      try db.execute(sql: trash)
    }
    // Only adds tables, columns, indexes or triggers.
    migrator.registerMigration("7: limited access", foreignKeyChecks: .immediate) { db in
      try db.execute(sql: limitedAccess)
    }
    // Changes no foreign key.
    migrator.registerMigration("8: grid", foreignKeyChecks: .immediate) { db in
      try db.execute(sql: grid)
    }
    migrator.registerMigration("9: history of limited libraries", foreignKeyChecks: .immediate) { db in
      try db.execute(sql: limitedHistory)
    }
    // Changes no row.
    migrator.registerMigration("10: triggers for less", foreignKeyChecks: .immediate) { db in
      try triggersForLess(db)
    }
    return migrator
  }

  private static let filesAndAssets = """
    -- Single values: the token of the last change, the key of content versions, whether a scan was ever completed, and
    -- the probe version of the last full scan (limits, time zone, code). A scan with another probe version reads every
    -- file again.
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
      -- Of the picture after its orientation is applied.
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

    -- Every regular file that a scan found: part of an asset, or without an asset and with the reason.
    CREATE TABLE file (
      id INTEGER PRIMARY KEY,
      asset INTEGER REFERENCES asset (id) ON DELETE CASCADE,
      -- Bytes relative to the library's root. A path that begins with a NUL, which no real path can, means none:
      -- another file has taken this path, and this file's new path is not known yet.
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

    -- Stored counters, because counting a million rows takes a tenth of a second.
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
    -- A ThumbHash, and the content version it was made from. A version without a ThumbHash means that none can be made
    -- from that content.
    ALTER TABLE asset ADD COLUMN placeholder BLOB CHECK (length(placeholder) <= 64);
    ALTER TABLE asset ADD COLUMN placeholderVersion TEXT;
    -- Contains only the assets whose placeholder is missing, in the order in which placeholders are made.
    CREATE INDEX assetWithoutPlaceholder ON asset (creationDate DESC, localIdentifier)
      WHERE placeholderVersion IS NOT contentVersion;
    -- The version of the placeholder maker. A new version tries again where the previous one failed.
    INSERT INTO library VALUES ('placeholderMark', '');
    """
}
