// Assets and their files. The columns that a library needs to list, count and order assets are in `libraryAsset`.

extension CatalogueSchema {
  private static let localDay = day(
    "(creationDate + 1000 * CASE WHEN utcOffset IS NULL THEN zoneOffset ELSE utcOffset * 60 END)")

  /// The columns of `asset` that SQLite computes. They can't be written.
  static let generatedColumns: Set<String> = ["listing", "isRenderable", "counted", "dimensions", "grid", "localDay"]

  static let assets = """
    CREATE TABLE asset (
      -- Never reused: a stored list of row numbers must not show another asset in place of a deleted one.
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      -- Unique and looked up in `libraryAsset`.
      localIdentifier TEXT NOT NULL,
      -- Ends with `regionsVersion`.
      contentVersion TEXT NOT NULL,
      -- The token of the last change to its properties, and of the last one that is visible without the location scope;
      -- NULL means `revision`.
      revision INTEGER NOT NULL,
      nonLocationRevision INTEGER,
      -- PhotoKit's numbers: PHAssetMediaType, PHAssetMediaSubtype, PHAssetSourceType.
      mediaType INTEGER NOT NULL CHECK (mediaType BETWEEN 0 AND 3),
      mediaSubtypes INTEGER NOT NULL DEFAULT 0,
      sourceType INTEGER NOT NULL DEFAULT 1,
      uniformTypeIdentifier TEXT NOT NULL,
      -- Any of its files is RAW.
      isRAW INTEGER NOT NULL DEFAULT 0 CHECK (isRAW IN (0, 1)),
      -- Taken with a front camera; moving pictures in one file; exposed for a second or longer.
      isSelfPortrait INTEGER NOT NULL DEFAULT 0 CHECK (isSelfPortrait IN (0, 1)),
      isAnimated INTEGER NOT NULL DEFAULT 0 CHECK (isAnimated IN (0, 1)),
      isLongExposure INTEGER NOT NULL DEFAULT 0 CHECK (isLongExposure IN (0, 1)),
      -- A decoder exists for its uniform type: see `Catalogue.setRenderableTypes`.
      hasDecoder INTEGER NOT NULL DEFAULT 1 CHECK (hasDecoder IN (0, 1)),
      -- For display: bytes that are not valid UTF-8 appear as U+FFFD. The exact name is in `file`.
      originalFilename TEXT NOT NULL,
      fileSize INTEGER NOT NULL,
      -- Of the picture after its orientation and its adjustments are applied.
      pixelWidth INTEGER NOT NULL,
      pixelHeight INTEGER NOT NULL,
      orientation INTEGER NOT NULL CHECK (orientation BETWEEN 1 AND 8),
      hasAlpha INTEGER NOT NULL CHECK (hasAlpha IN (0, 1)),
      -- Seconds.
      duration REAL NOT NULL DEFAULT 0,
      -- Milliseconds since 1970.
      creationDate INTEGER NOT NULL,
      creationDateSource TEXT NOT NULL,
      -- Minutes east of UTC, NULL if the file gives no offset.
      utcOffset INTEGER CHECK (utcOffset BETWEEN -2047 AND 2047),
      -- Seconds east of UTC of the library's time zone at `creationDate`. Decides the day if `utcOffset` is NULL.
      zoneOffset INTEGER NOT NULL DEFAULT 0,
      -- When the asset last changed: in any way, and in a way that is visible without the location scope; NULL means
      -- `modificationDate`.
      modificationDate INTEGER NOT NULL,
      nonLocationModificationDate INTEGER,
      -- Of the primary file.
      fileModificationDate INTEGER NOT NULL DEFAULT 0,
      -- When the asset was added to the library.
      addedDate INTEGER NOT NULL,
      latitude REAL,
      longitude REAL,
      altitude REAL,
      -- A user set the location, which takes precedence over the file's.
      hasUserLocation INTEGER NOT NULL DEFAULT 0 CHECK (hasUserLocation IN (0, 1)),
      cameraMake TEXT,
      cameraModel TEXT,
      lensModel TEXT,
      -- The names of the place, from the file; NULL once a user set another location. Visible only with the location
      -- scope.
      placeCity TEXT,
      placeRegion TEXT,
      placeCountry TEXT,
      -- The coordinates in the file, NULL if it names no place, and the names in it: the names return when a user sets
      -- these coordinates again.
      fileLatitude REAL,
      fileLongitude REAL,
      fileCity TEXT,
      fileRegion TEXT,
      fileCountry TEXT,
      isFavorite INTEGER NOT NULL DEFAULT 0 CHECK (isFavorite IN (0, 1)),
      isHidden INTEGER NOT NULL DEFAULT 0 CHECK (isHidden IN (0, 1)),
      -- The originals of a remote library stay on this machine: see `Catalogue.keptOriginals`.
      keepsOriginal INTEGER NOT NULL DEFAULT 0 CHECK (keepsOriginal IN (0, 1)),
      burstIdentifier TEXT,
      representsBurst INTEGER NOT NULL DEFAULT 0 CHECK (representsBurst IN (0, 1)),
      -- PHAssetBurstSelectionType.
      burstSelectionTypes INTEGER NOT NULL DEFAULT 0,
      -- Of a picture without a burst: the one that it was part of, until the others left the library.
      formerBurst TEXT,
      -- A ThumbHash of the current content, at most 64 bytes, and the content version for which one was last made. That
      -- version without a ThumbHash means that none can be made from the content.
      placeholder BLOB,
      placeholderVersion TEXT,
      -- Where the eye looks first, made with the placeholder: see StoredPoint.
      saliency INTEGER,
      -- xmp:Rating: -1 rejected, 0 unrated, 1 to 5 stars.
      rating INTEGER CHECK (rating BETWEEN -1 AND 5),
      -- The properties that a user set, which take precedence over the file's: 1 title, 2 caption, 4 keywords, 8 rating,
      -- 16 regions and people.
      userFields INTEGER NOT NULL DEFAULT 0,
      -- A digest of the regions that a user set, after a dot; empty if no user did.
      regionsVersion TEXT NOT NULL DEFAULT '',
      -- Last, because a long text continues on other pages, and the columns before it are read without them.
      title TEXT,
      -- JSON arrays of strings; NULL for none.
      keywords TEXT,
      people TEXT,
      -- JSON: see RegionList; NULL for none.
      regions TEXT,
      -- A statement, and the URI of a license.
      rights TEXT,
      license TEXT,
      caption TEXT,
      -- The operations of its adjustments that are rendered, as canonical JSON: `[]` if all are of another program. NULL:
      -- it has no adjustments.
      adjustments TEXT,
      -- 'user': a user set or reverted its adjustments, which decides from then on. 'imported': they follow the edit that
      -- another program left in its file or in a sidecar. NULL: it has none of either.
      adjustmentOrigin TEXT CHECK (adjustmentOrigin IN ('user', 'imported')),
      -- Adjustments in the format of another program, byte for byte, and their format; NULL for those of this one. The
      -- data of imported ones stay in their file, and are NULL here.
      adjustmentFormat TEXT,
      adjustmentFormatVersion TEXT,
      adjustmentData BLOB,
      -- The picture without its adjustments; NULL if it has none.
      unadjustedVersion TEXT,
      unadjustedWidth INTEGER,
      unadjustedHeight INTEGER,
      -- When adjustments were last set or reverted, in milliseconds since 1970.
      adjustmentDate INTEGER,
      -- Which listings include it: 0 all; 1 only those that include all burst assets (it is a burst picture that
      -- another one represents); 2 only those that include hidden assets; 3 only those that include both.
      listing INTEGER NOT NULL GENERATED ALWAYS AS (
        isHidden * 2 + (burstIdentifier IS NOT NULL AND representsBurst = 0 AND burstSelectionTypes = 0)) VIRTUAL,
      -- False if no picture can be made of it: it has no decoder, or its current content was found to be unreadable.
      isRenderable INTEGER NOT NULL GENERATED ALWAYS AS (
        hasDecoder AND (placeholder IS NOT NULL OR placeholderVersion IS NOT contentVersion)) VIRTUAL,
      -- A bit for each counter that counts it: see `counters`.
      counted INTEGER NOT NULL GENERATED ALWAYS AS (
        1 | (isFavorite << 1) | ((mediaType = 2) << 2) | ((mediaSubtypes & 1) << 3) | (representsBurst << 4)
          | ((mediaSubtypes >> 2 & 1) << 5) | ((mediaSubtypes >> 1 & 1) << 6) | ((mediaSubtypes >> 4 & 1) << 7)
          | ((mediaSubtypes >> 3 & 1) << 8) | (isRAW << 9) | (isHidden << 10) | ((mediaType = 1) << 11)
          | ((mediaSubtypes >> 17 & 1) << 12) | ((mediaSubtypes >> 18 & 1) << 13) | (isSelfPortrait << 14)
          | (isAnimated << 15) | (isLongExposure << 16) | ((mediaSubtypes >> 21 & 1) << 17)
          | ((mediaSubtypes >> 10 & 1) << 18) | ((mediaSubtypes >> 19 & 1) << 19) | (isRenderable << 20)) VIRTUAL,
      -- For grids, which read thousands of assets: several columns as one number, because reading a value costs more than
      -- its bytes. See `GridColumns`.
      dimensions INTEGER NOT NULL GENERATED ALWAYS AS (pixelWidth << 32 | pixelHeight) VIRTUAL,
      grid INTEGER NOT NULL GENERATED ALWAYS AS (
        mediaType | (isFavorite << 2) | (CASE WHEN utcOffset IS NULL THEN 0 ELSE utcOffset + 2048 END << 3)
          | (mediaSubtypes << 15)) VIRTUAL,
      -- The day on which it was taken, in days since 1970: of its own offset from UTC if known, otherwise of the
      -- library's time zone. CASE and not coalesce: see CatalogueSchema about functions.
      localDay INTEGER NOT NULL GENERATED ALWAYS AS (\(localDay)) VIRTUAL
    ) STRICT;
    -- Contains only the assets whose placeholder is missing, in the order in which placeholders are made.
    CREATE INDEX assetWithoutPlaceholder ON asset (creationDate DESC, localIdentifier)
      WHERE placeholderVersion IS NOT contentVersion;

    CREATE INDEX assetWithKeptOriginal ON asset (id) WHERE keepsOriginal = 1;

    CREATE INDEX assetWithImportedEdit ON asset (id) WHERE adjustmentOrigin = 'imported';

    CREATE INDEX assetOfFormerBurst ON asset (formerBurst) WHERE formerBurst IS NOT NULL;

    -- Not a CHECK, which would call a function at each insertion.
    CREATE TRIGGER boundPlaceholder AFTER UPDATE OF placeholder ON asset WHEN length(NEW.placeholder) > 64 BEGIN
      SELECT RAISE(ABORT, 'a placeholder of more than 64 bytes');
    END;
    -- A placeholder always belongs to the current content, or is NULL, so it can be shown without comparing versions.
    -- Its version goes with it: if that content returns, the version alone would mean that none can be made from it.
    CREATE TRIGGER forgetPlaceholder AFTER UPDATE OF contentVersion ON asset
      WHEN NEW.placeholder IS NOT NULL AND NEW.contentVersion <> OLD.contentVersion
        AND NEW.placeholderVersion IS NOT NEW.contentVersion
    BEGIN
      UPDATE asset SET placeholder = NULL, saliency = NULL, placeholderVersion = NULL WHERE id = NEW.id;
    END;

    -- Every regular file that a scan found: part of an asset, or without an asset and with the reason.
    CREATE TABLE file (
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
      -- Its ctime when it was read, in nanoseconds since 1970; 0: not known. A scan that finds another one reads it
      -- again.
      changed INTEGER NOT NULL DEFAULT 0,
      -- A random number that a file gets when it is new and when it was rewritten; 0: none, as for an object of a remote
      -- store. It is part of the content version: other contents may have the same inode, size and times.
      rewritten INTEGER NOT NULL DEFAULT 0,
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
      -- The position of a live photo's video in the file.
      videoOffset INTEGER,
      videoLength INTEGER,
      -- The edit that another program left in this picture, or in this sidecar: JSON of ForeignEdit.
      edit TEXT,
      unreadableReason TEXT,
      CHECK ((asset IS NULL) = (role IS NULL)),
      CHECK ((videoOffset IS NULL) = (videoLength IS NULL))
    ) STRICT;
    CREATE UNIQUE INDEX primaryFile ON file (asset) WHERE isPrimary = 1;
    CREATE INDEX fileByAsset ON file (asset) WHERE asset IS NOT NULL;
    CREATE INDEX fileByIdentity ON file (inode, size, modified);
    CREATE INDEX fileByFingerprint ON file (fingerprint) WHERE fingerprint IS NOT NULL;
    CREATE INDEX fileByContentIdentifier ON file (contentIdentifier) WHERE contentIdentifier IS NOT NULL;
    CREATE INDEX fileByBurst ON file (burst) WHERE burst IS NOT NULL;
    CREATE INDEX fileWithEdit ON file (id) WHERE edit IS NOT NULL;
    """
}
