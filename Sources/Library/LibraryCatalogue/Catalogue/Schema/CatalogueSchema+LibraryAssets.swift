// The assets of each library, in the order of their dates, with copies of the columns that listings, counters and grids
// read. Pages read `asset` by row number; grids, row lists, counts and key assets read only this table and its indexes.
//
// An asset is in the whole library from its insertion to its deletion. It is in a limited library while an album of
// that library contains it: see CatalogueSchema+Collections.

extension CatalogueSchema {
  static let libraryAssets = """
    CREATE TABLE libraryAsset (
      library INTEGER NOT NULL REFERENCES library (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
      -- Copies of the asset's columns.
      creationDate INTEGER NOT NULL,
      localIdentifier TEXT NOT NULL,
      listing INTEGER NOT NULL,
      counted INTEGER NOT NULL,
      asset INTEGER NOT NULL REFERENCES asset (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
      dimensions INTEGER NOT NULL,
      grid INTEGER NOT NULL,
      duration REAL NOT NULL,
      contentVersion TEXT NOT NULL,
      placeholder BLOB,
      addedDate INTEGER NOT NULL,
      burstIdentifier TEXT,
      localDay INTEGER NOT NULL,
      -- Why the library has it: the number of its albums that contain the asset; 1 for the whole library. 0 only while
      -- the library is being created.
      sources INTEGER NOT NULL,
      -- The token of the change with which it entered the library.
      came INTEGER NOT NULL,
      -- The order of a listing. A grid of ten thousand cells is read from a few hundred consecutive pages, and not from
      -- ten thousand rows of `asset`, each of which may be a random read from the disk.
      -- It ascends, although listings show the newest first: a scan mostly adds newer assets, and SQLite fills pages
      -- only if rows are appended. `asset` is part of it so that every index contains it, which SQLite appends to each
      -- of their entries.
      PRIMARY KEY (library, creationDate, localIdentifier DESC, asset)
    ) STRICT, WITHOUT ROWID;
    CREATE UNIQUE INDEX libraryAssetByAsset ON libraryAsset (asset, library);
    CREATE UNIQUE INDEX libraryAssetByIdentifier ON libraryAsset (library, localIdentifier);
    CREATE INDEX libraryAssetByAddition ON libraryAsset (library, addedDate DESC, localIdentifier, listing, asset);
    CREATE INDEX libraryAssetByBurst ON libraryAsset (library, burstIdentifier, asset)
      WHERE burstIdentifier IS NOT NULL;
    -- Newest first for each kind of smart album, by its bit of `counted`. They contain `listing`, so that unlisted
    -- assets are skipped without reading their rows, and `counted`, because SQLite tests the condition on each row
    -- again.
    CREATE INDEX favoriteByDate ON libraryAsset (library, creationDate DESC, localIdentifier, listing, counted, asset)
      WHERE (counted & 2) <> 0;
    CREATE INDEX videoByDate ON libraryAsset (library, creationDate DESC, localIdentifier, listing, counted, asset)
      WHERE (counted & 4) <> 0;
    CREATE INDEX panoramaByDate ON libraryAsset (library, creationDate DESC, localIdentifier, listing, counted, asset)
      WHERE (counted & 8) <> 0;
    CREATE INDEX burstByDate ON libraryAsset (library, creationDate DESC, localIdentifier, listing, counted, asset)
      WHERE (counted & 16) <> 0;
    CREATE INDEX screenshotByDate ON libraryAsset (library, creationDate DESC, localIdentifier, listing, counted, asset)
      WHERE (counted & 32) <> 0;
    CREATE INDEX hdrByDate ON libraryAsset (library, creationDate DESC, localIdentifier, listing, counted, asset)
      WHERE (counted & 64) <> 0;
    CREATE INDEX depthByDate ON libraryAsset (library, creationDate DESC, localIdentifier, listing, counted, asset)
      WHERE (counted & 128) <> 0;
    CREATE INDEX liveByDate ON libraryAsset (library, creationDate DESC, localIdentifier, listing, counted, asset)
      WHERE (counted & 256) <> 0;
    CREATE INDEX rawByDate ON libraryAsset (library, creationDate DESC, localIdentifier, listing, counted, asset)
      WHERE (counted & 512) <> 0;
    CREATE INDEX hiddenByDate ON libraryAsset (library, creationDate DESC, localIdentifier, listing, counted, asset)
      WHERE (counted & 1024) <> 0;
    CREATE INDEX slomoByDate
      ON libraryAsset (library, creationDate DESC, localIdentifier, listing, counted, asset)
      WHERE (counted & 4096) <> 0;
    CREATE INDEX timelapseByDate
      ON libraryAsset (library, creationDate DESC, localIdentifier, listing, counted, asset)
      WHERE (counted & 8192) <> 0;
    CREATE INDEX selfPortraitByDate
      ON libraryAsset (library, creationDate DESC, localIdentifier, listing, counted, asset)
      WHERE (counted & 16384) <> 0;
    CREATE INDEX animatedByDate
      ON libraryAsset (library, creationDate DESC, localIdentifier, listing, counted, asset)
      WHERE (counted & 32768) <> 0;
    CREATE INDEX longExposureByDate
      ON libraryAsset (library, creationDate DESC, localIdentifier, listing, counted, asset)
      WHERE (counted & 65536) <> 0;
    CREATE INDEX cinematicByDate
      ON libraryAsset (library, creationDate DESC, localIdentifier, listing, counted, asset)
      WHERE (counted & 131072) <> 0;
    CREATE INDEX spatialByDate
      ON libraryAsset (library, creationDate DESC, localIdentifier, listing, counted, asset)
      WHERE (counted & 262144) <> 0;
    CREATE INDEX screenRecordingByDate
      ON libraryAsset (library, creationDate DESC, localIdentifier, listing, counted, asset)
      WHERE (counted & 524288) <> 0;

    CREATE TRIGGER addToWholeLibrary AFTER INSERT ON asset BEGIN
      INSERT INTO libraryAsset (library, asset, \(copies), sources, came)
        VALUES (0, NEW.id, \(copiesOfNewAsset), 1, \(token));
    END;

    -- The copies follow the asset. SQLite rewrites each index of which a column is assigned, so columns that change
    -- separately have separate triggers.
    CREATE TRIGGER copyCounted AFTER UPDATE OF mediaType, mediaSubtypes, isRAW, isFavorite, isHidden, representsBurst,
      isSelfPortrait, isAnimated, isLongExposure, hasDecoder, placeholder, placeholderVersion, contentVersion
      ON asset WHEN NEW.counted <> OLD.counted
    BEGIN
      UPDATE libraryAsset SET counted = NEW.counted, grid = NEW.grid WHERE asset = NEW.id;
    END;
    CREATE TRIGGER copyListing AFTER UPDATE OF isHidden, burstIdentifier, representsBurst, burstSelectionTypes ON asset
      WHEN NEW.listing <> OLD.listing OR NEW.burstIdentifier IS NOT OLD.burstIdentifier
    BEGIN
      UPDATE libraryAsset SET listing = NEW.listing, burstIdentifier = NEW.burstIdentifier WHERE asset = NEW.id;
    END;
    CREATE TRIGGER copyDates AFTER UPDATE OF creationDate, addedDate ON asset
      WHEN NEW.creationDate <> OLD.creationDate OR NEW.addedDate <> OLD.addedDate
    BEGIN
      UPDATE libraryAsset SET creationDate = NEW.creationDate, localDay = NEW.localDay, addedDate = NEW.addedDate
        WHERE asset = NEW.id;
    END;
    CREATE TRIGGER copyDay AFTER UPDATE OF utcOffset, zoneOffset ON asset
      WHEN NEW.localDay <> OLD.localDay AND NEW.creationDate = OLD.creationDate AND NEW.addedDate = OLD.addedDate
    BEGIN
      UPDATE libraryAsset SET localDay = NEW.localDay WHERE asset = NEW.id;
    END;
    -- These columns are in no index. The placeholder is read again, because `forgetPlaceholder` may have removed it.
    CREATE TRIGGER copyPicture
      AFTER UPDATE OF pixelWidth, pixelHeight, mediaType, mediaSubtypes, utcOffset, duration, contentVersion, placeholder
      ON asset
      WHEN (\(pictureColumns.map { "NEW." + $0 }.joined(separator: ", ")))
        IS NOT (\(pictureColumns.map { "OLD." + $0 }.joined(separator: ", ")))
    BEGIN
      UPDATE libraryAsset SET \(pictureColumns.dropLast().map { "\($0) = NEW.\($0)" }.joined(separator: ", ")),
          placeholder = (SELECT placeholder FROM asset WHERE id = NEW.id)
        WHERE asset = NEW.id;
    END;

    -- The counters follow the copies. If the library itself is being deleted, they are deleted by their foreign keys.
    CREATE TRIGGER countInsertedAsset AFTER INSERT ON libraryAsset BEGIN
      \(count("+", "NEW"))
      INSERT INTO dayCount VALUES (NEW.library, NEW.localDay, NEW.listing, 0) ON CONFLICT DO NOTHING;
      UPDATE dayCount SET value = value + 1
        WHERE library = NEW.library AND day = NEW.localDay AND listing = NEW.listing;
      INSERT INTO staleDay VALUES (NEW.library, NEW.localDay) ON CONFLICT DO NOTHING;
    END;
    CREATE TRIGGER countDeletedAsset AFTER DELETE ON libraryAsset
      WHEN EXISTS (SELECT 1 FROM library WHERE id = OLD.library)
    BEGIN
      \(count("-", "OLD"))
      UPDATE dayCount SET value = value - 1
        WHERE library = OLD.library AND day = OLD.localDay AND listing = OLD.listing;
      INSERT INTO staleDay VALUES (OLD.library, OLD.localDay) ON CONFLICT DO NOTHING;
    END;
    CREATE TRIGGER countChangedAsset AFTER UPDATE OF counted ON libraryAsset
      WHEN NEW.counted <> OLD.counted AND NEW.listing = OLD.listing
    BEGIN
      \(count("+", "NEW", "-", "OLD"))
    END;
    CREATE TRIGGER countMovedAsset AFTER UPDATE OF creationDate, localDay, listing ON libraryAsset
      WHEN NEW.creationDate <> OLD.creationDate OR NEW.localDay <> OLD.localDay OR NEW.listing <> OLD.listing
    BEGIN
      \(count("-", "OLD"))
      \(count("+", "NEW"))
      UPDATE dayCount SET value = value - 1
        WHERE library = OLD.library AND day = OLD.localDay AND listing = OLD.listing;
      INSERT INTO dayCount VALUES (NEW.library, NEW.localDay, NEW.listing, 1)
        ON CONFLICT DO UPDATE SET value = value + 1;
      INSERT INTO staleDay VALUES
        (OLD.library, OLD.localDay), (NEW.library, NEW.localDay) ON CONFLICT DO NOTHING;
    END;
    -- Moments may end where the location changes, and have their titles from places.
    CREATE TRIGGER staleDayOfLocation AFTER UPDATE OF latitude, longitude, placeCity, placeRegion, placeCountry ON asset
      WHEN NEW.latitude IS NOT OLD.latitude OR NEW.longitude IS NOT OLD.longitude
        OR NEW.placeCity IS NOT OLD.placeCity OR NEW.placeRegion IS NOT OLD.placeRegion
        OR NEW.placeCountry IS NOT OLD.placeCountry
    BEGIN
      INSERT INTO staleDay SELECT library, NEW.localDay FROM libraryAsset WHERE asset = NEW.id
        ON CONFLICT DO NOTHING;
    END;
    """

  /// The columns of `libraryAsset` that are copies of columns of `asset`.
  static let copiedColumns =
    ["creationDate", "localIdentifier", "listing", "counted", "addedDate", "burstIdentifier", "localDay"]
    + pictureColumns
  /// The copied columns that only grids read, the placeholder last.
  private static let pictureColumns = ["dimensions", "grid", "duration", "contentVersion", "placeholder"]
  static let copies = copiedColumns.joined(separator: ", ")
  private static let copiesOfNewAsset = copiedColumns.map { "NEW." + $0 }.joined(separator: ", ")
  /// The copies, where `asset` is joined with other tables.
  static let copiesOfAsset = copiedColumns.map { "asset." + $0 }.joined(separator: ", ")

  /// A statement that adds a row of `libraryAsset` to its counters, or subtracts it. With a second sign and row, it
  /// replaces a row by another one with the same `listing`.
  private static func count(_ sign: String, _ row: String, _ sign2: String? = nil, _ row2: String = "") -> String {
    let values = counters.enumerated().map { bit, counter in
      "\(counter) = \(counter) \(sign) (\(row).counted >> \(bit) & 1)"
        + (sign2.map { " \($0) (\(row2).counted >> \(bit) & 1)" } ?? "")
    }
    return """
      UPDATE counter SET \(values.joined(separator: ", "))
              WHERE library = \(row).library AND listing = \(row).listing;
      """
  }
}
