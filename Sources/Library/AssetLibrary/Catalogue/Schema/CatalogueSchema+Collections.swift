// Migration 3: assets of several files (RAW with JPEG, a live photo's picture and video), and collections. The tables
// of assets and files are recreated; the next scan reads every file again, because the new columns were not stored
// before.

import Foundation
import GRDB

extension CatalogueSchema {
  static func assetsOfSeveralFiles(_ db: Database) throws {
    try db.execute(sql: assetsAndFiles)
    try db.execute(sql: collections)
    for album in smartAlbums {
      try db.execute(
        sql: """
          INSERT INTO collection (localIdentifier, type, subtype, title, rule, ruleOrder, revision)
          VALUES (?, 'smartAlbum', ?, ?, ?, ?, 0)
          """,
        arguments: [Base64URL.randomIdentifier(), album.subtype, album.title, album.rule, album.order])
    }
    try db.execute(sql: counters)
  }

  /// The smart albums: their rules as predicates, and their sort orders.
  private static let smartAlbums: [(subtype: String, title: String, rule: String, order: String)] = [
    ("smartAlbumUserLibrary", "Library", "TRUEPREDICATE", "-creationDate"),
    ("smartAlbumRecentlyAdded", "Recently Added", "TRUEPREDICATE", "-addedDate"),
    ("smartAlbumFavorites", "Favorites", "isFavorite == YES", "-creationDate"),
    ("smartAlbumVideos", "Videos", "mediaType == video", "-creationDate"),
    ("smartAlbumPanoramas", "Panoramas", "(mediaSubtypes & photoPanorama) != 0", "-creationDate"),
    ("smartAlbumBursts", "Bursts", "representsBurst == YES", "-creationDate"),
    ("smartAlbumScreenshots", "Screenshots", "(mediaSubtypes & photoScreenshot) != 0", "-creationDate"),
    ("smartAlbumHDR", "HDR", "(mediaSubtypes & photoHDR) != 0", "-creationDate"),
    ("smartAlbumDepthEffect", "Portrait", "(mediaSubtypes & photoDepthEffect) != 0", "-creationDate"),
    ("smartAlbumLivePhotos", "Live Photos", "(mediaSubtypes & photoLive) != 0", "-creationDate"),
    ("smartAlbumRAW", "RAW", "isRAW == YES", "-creationDate"),
    ("smartAlbumAllHidden", "Hidden", "isHidden == YES", "-creationDate"),
  ]

  private static let assetsAndFiles = """
    CREATE TABLE newAsset (
      -- Never reused: a stored list of row numbers must not show another asset in place of a deleted one.
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      localIdentifier TEXT NOT NULL UNIQUE,
      contentVersion TEXT NOT NULL,
      -- The token of the last change to its properties.
      revision INTEGER NOT NULL,
      -- PhotoKit's numbers: PHAssetMediaType, PHAssetMediaSubtype, PHAssetSourceType.
      mediaType INTEGER NOT NULL CHECK (mediaType BETWEEN 0 AND 3),
      mediaSubtypes INTEGER NOT NULL DEFAULT 0,
      sourceType INTEGER NOT NULL DEFAULT 1,
      uniformTypeIdentifier TEXT NOT NULL,
      -- Any of its files is RAW.
      isRAW INTEGER NOT NULL DEFAULT 0 CHECK (isRAW IN (0, 1)),
      -- For display: bytes that are not valid UTF-8 appear as U+FFFD. The exact name is in `file`.
      originalFilename TEXT NOT NULL,
      fileSize INTEGER NOT NULL,
      -- Of the picture after its orientation is applied.
      pixelWidth INTEGER NOT NULL,
      pixelHeight INTEGER NOT NULL,
      orientation INTEGER NOT NULL CHECK (orientation BETWEEN 1 AND 8),
      hasAlpha INTEGER NOT NULL CHECK (hasAlpha IN (0, 1)),
      -- Seconds.
      duration REAL NOT NULL DEFAULT 0,
      -- Milliseconds since 1970.
      creationDate INTEGER NOT NULL,
      creationDateSource TEXT NOT NULL,
      modificationDate INTEGER NOT NULL,
      -- When the asset was added to the library.
      addedDate INTEGER NOT NULL,
      latitude REAL,
      longitude REAL,
      altitude REAL,
      cameraMake TEXT,
      cameraModel TEXT,
      isFavorite INTEGER NOT NULL DEFAULT 0 CHECK (isFavorite IN (0, 1)),
      isHidden INTEGER NOT NULL DEFAULT 0 CHECK (isHidden IN (0, 1)),
      -- JSON: non-destructive edits.
      adjustments TEXT,
      burstIdentifier TEXT,
      representsBurst INTEGER NOT NULL DEFAULT 0 CHECK (representsBurst IN (0, 1)),
      -- PHAssetBurstSelectionType.
      burstSelectionTypes INTEGER NOT NULL DEFAULT 0,
      placeholder BLOB CHECK (length(placeholder) <= 64),
      placeholderVersion TEXT,
      -- Which listings include it: 0 all; 1 only those that include all burst assets (it is a burst picture that
      -- another one represents); 2 only those that include hidden assets; 3 only those that include both.
      listing INTEGER NOT NULL GENERATED ALWAYS AS (
        isHidden * 2 + (burstIdentifier IS NOT NULL AND representsBurst = 0 AND burstSelectionTypes = 0)) VIRTUAL,
      -- A bit for each counter that counts it: see the table `counter`.
      counted INTEGER NOT NULL GENERATED ALWAYS AS (
        1 | (isFavorite << 1) | ((mediaType = 2) << 2) | ((mediaSubtypes & 1) << 3) | (representsBurst << 4)
          | ((mediaSubtypes >> 2 & 1) << 5) | ((mediaSubtypes >> 1 & 1) << 6) | ((mediaSubtypes >> 4 & 1) << 7)
          | ((mediaSubtypes >> 3 & 1) << 8) | (isRAW << 9) | (isHidden << 10) | ((mediaType = 1) << 11)) VIRTUAL
    ) STRICT;
    INSERT INTO newAsset (
      id, localIdentifier, contentVersion, revision, mediaType, uniformTypeIdentifier, originalFilename, fileSize,
      pixelWidth, pixelHeight, orientation, hasAlpha, creationDate, creationDateSource, modificationDate, addedDate,
      latitude, longitude, altitude, cameraMake, cameraModel, isFavorite, isHidden, placeholder, placeholderVersion)
    SELECT asset.id, localIdentifier, contentVersion, revision,
      CASE mediaType WHEN 'image' THEN 1 WHEN 'video' THEN 2 WHEN 'audio' THEN 3 ELSE 0 END, uniformTypeIdentifier,
      -- The next scan fills it in.
      '', file.size, pixelWidth, pixelHeight, orientation, hasAlpha, creationDate, creationDateSource,
      modificationDate, modificationDate, latitude, longitude, altitude, cameraMake, cameraModel, isFavorite, isHidden,
      placeholder, placeholderVersion
    FROM asset JOIN file ON file.asset = asset.id;

    CREATE TABLE newFile (
      id INTEGER PRIMARY KEY,
      asset INTEGER REFERENCES asset (id) ON DELETE CASCADE,
      -- PHAssetResourceType: the role of an asset's file, as the primary picture or video, or as a companion of it.
      role TEXT CHECK (role IN ('photo', 'video', 'alternatePhoto', 'pairedVideo')),
      isPrimary INTEGER NOT NULL DEFAULT 0 CHECK (isPrimary IN (0, 1)),
      -- Bytes relative to the library's root. A path that begins with a NUL, which no real path can, means none:
      -- another file has taken this path, and this file's new path is not known yet.
      path BLOB NOT NULL UNIQUE,
      inode INTEGER NOT NULL,
      size INTEGER NOT NULL,
      -- Nanoseconds since 1970.
      modified INTEGER NOT NULL,
      -- A digest of the size and of the file's first and last bytes. It identifies a file that was moved to another
      -- disk.
      fingerprint BLOB CHECK (length(fingerprint) = 16),
      -- Metadata of the file that decides which files belong together: its uniform type identifier, its embedded date
      -- in milliseconds, if any, and Apple's identifiers of live photos and bursts.
      type TEXT,
      embeddedDate INTEGER,
      contentIdentifier TEXT,
      burst TEXT,
      -- The file contains a live photo's video.
      isLive INTEGER NOT NULL DEFAULT 0,
      thumbnailOffset INTEGER,
      thumbnailLength INTEGER,
      unreadableReason TEXT,
      CHECK ((asset IS NULL) = (role IS NULL))
    ) STRICT;
    INSERT INTO newFile (
      id, asset, role, isPrimary, path, inode, size, modified, thumbnailOffset, thumbnailLength, unreadableReason)
    SELECT id, asset, CASE WHEN asset IS NOT NULL THEN 'photo' END, asset IS NOT NULL, path, inode, size, modified,
      thumbnailOffset, thumbnailLength, unreadableReason
    FROM file;

    DROP TABLE file;
    DROP TABLE asset;
    DROP TABLE counter;
    ALTER TABLE newAsset RENAME TO asset;
    ALTER TABLE newFile RENAME TO file;

    CREATE INDEX assetByDate ON asset (creationDate DESC, localIdentifier);
    CREATE INDEX visibleAssetByDate ON asset (creationDate DESC, localIdentifier) WHERE listing = 0;
    CREATE INDEX assetWithoutPlaceholder ON asset (creationDate DESC, localIdentifier)
      WHERE placeholderVersion IS NOT contentVersion;
    CREATE INDEX assetByBurst ON asset (burstIdentifier) WHERE burstIdentifier IS NOT NULL;
    CREATE UNIQUE INDEX primaryFile ON file (asset) WHERE isPrimary = 1;
    CREATE INDEX fileByAsset ON file (asset) WHERE asset IS NOT NULL;
    CREATE INDEX fileByIdentity ON file (inode, size, modified);
    CREATE INDEX fileByFingerprint ON file (fingerprint) WHERE fingerprint IS NOT NULL;
    CREATE INDEX fileByContentIdentifier ON file (contentIdentifier) WHERE contentIdentifier IS NOT NULL;
    CREATE INDEX fileByBurst ON file (burst) WHERE burst IS NOT NULL;
    """

  private static let collections = """
    CREATE TABLE collection (
      id INTEGER PRIMARY KEY,
      localIdentifier TEXT NOT NULL UNIQUE,
      -- PHAssetCollectionType or PHCollectionListType, by name; PhotoKit's subtype.
      type TEXT NOT NULL CHECK (type IN ('album', 'smartAlbum', 'folder')),
      subtype TEXT NOT NULL,
      title TEXT,
      -- The parent folder; NULL at the top level.
      parent INTEGER REFERENCES collection (id) ON DELETE CASCADE,
      -- Its position in the folder, ascending; with gaps.
      position INTEGER NOT NULL DEFAULT 0,
      keyAsset INTEGER REFERENCES asset (id) ON DELETE SET NULL,
      -- For a smart album: a predicate over asset keys, and sort descriptors.
      rule TEXT,
      ruleOrder TEXT,
      revision INTEGER NOT NULL,
      CHECK ((type = 'smartAlbum') = (rule IS NOT NULL))
    ) STRICT;
    -- The orders of a folder, and of the list of all collections: smart albums, folders, albums.
    CREATE INDEX collectionByParent ON collection (parent, position);
    CREATE INDEX collectionByType ON collection (type DESC, position);
    CREATE INDEX collectionByKeyAsset ON collection (keyAsset) WHERE keyAsset IS NOT NULL;

    CREATE TABLE member (
      collection INTEGER NOT NULL REFERENCES collection (id) ON DELETE CASCADE,
      -- Its position in the album, ascending; with gaps.
      position INTEGER NOT NULL,
      asset INTEGER NOT NULL REFERENCES asset (id) ON DELETE CASCADE,
      -- Copies of the asset's columns, kept up to date by triggers, so that an album's dates and counts are read from
      -- an index. An insertion must supply the asset's values.
      creationDate INTEGER NOT NULL,
      listing INTEGER NOT NULL,
      PRIMARY KEY (collection, position)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX memberByDate ON member (collection, creationDate, listing);
    CREATE UNIQUE INDEX memberByAsset ON member (asset, collection);
    """

  private static let counters = """
    -- Stored counters, because counting a million rows takes a tenth of a second. A row for each bit of `counted` and
    -- each value of `listing`.
    CREATE TABLE counter (
      listing INTEGER NOT NULL,
      bit INTEGER NOT NULL,
      name TEXT NOT NULL,
      value INTEGER NOT NULL DEFAULT 0,
      PRIMARY KEY (listing, bit)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO counter (listing, bit, name)
      WITH names (bit, name) AS (VALUES (0, 'assets'), (1, 'favorites'), (2, 'videos'), (3, 'panoramas'), (4, 'bursts'),
        (5, 'screenshots'), (6, 'hdr'), (7, 'depthEffect'), (8, 'livePhotos'), (9, 'raw'), (10, 'hidden'),
        (11, 'images'))
      SELECT listing, bit, name FROM names, (SELECT 0 AS listing UNION SELECT 1 UNION SELECT 2 UNION SELECT 3);
    UPDATE counter SET value = (
      SELECT count(*) FROM asset WHERE asset.listing = counter.listing AND asset.counted >> counter.bit & 1);
    CREATE TRIGGER countInsertedAsset AFTER INSERT ON asset BEGIN
      UPDATE counter SET value = value + 1 WHERE listing = NEW.listing AND NEW.counted >> bit & 1;
    END;
    CREATE TRIGGER countDeletedAsset AFTER DELETE ON asset BEGIN
      UPDATE counter SET value = value - 1 WHERE listing = OLD.listing AND OLD.counted >> bit & 1;
    END;
    CREATE TRIGGER countChangedAsset AFTER UPDATE ON asset WHEN NEW.counted <> OLD.counted OR NEW.listing <> OLD.listing
    BEGIN
      UPDATE counter SET value = value - 1 WHERE listing = OLD.listing AND OLD.counted >> bit & 1;
      UPDATE counter SET value = value + 1 WHERE listing = NEW.listing AND NEW.counted >> bit & 1;
    END;

    -- The number of members of an album, for each value of `listing`.
    CREATE TABLE memberCount (
      collection INTEGER NOT NULL REFERENCES collection (id) ON DELETE CASCADE,
      listing INTEGER NOT NULL,
      value INTEGER NOT NULL,
      PRIMARY KEY (collection, listing)
    ) STRICT, WITHOUT ROWID;
    CREATE TRIGGER countInsertedMember AFTER INSERT ON member BEGIN
      INSERT INTO memberCount VALUES (NEW.collection, NEW.listing, 1) ON CONFLICT DO UPDATE SET value = value + 1;
    END;
    CREATE TRIGGER countDeletedMember AFTER DELETE ON member BEGIN
      UPDATE memberCount SET value = value - 1 WHERE collection = OLD.collection AND listing = OLD.listing;
    END;
    CREATE TRIGGER countRelistedMember AFTER UPDATE OF listing ON member WHEN NEW.listing <> OLD.listing BEGIN
      UPDATE memberCount SET value = value - 1 WHERE collection = OLD.collection AND listing = OLD.listing;
      INSERT INTO memberCount VALUES (NEW.collection, NEW.listing, 1) ON CONFLICT DO UPDATE SET value = value + 1;
    END;
    CREATE TRIGGER followAssetOfMember AFTER UPDATE ON asset
      WHEN NEW.listing <> OLD.listing OR NEW.creationDate <> OLD.creationDate
    BEGIN
      UPDATE member SET listing = NEW.listing, creationDate = NEW.creationDate WHERE asset = NEW.id;
    END;
    """
}
