// Migration 7: limited libraries, for principals that may see only some collections.
//
// A limited library stands for one set of granted collections. It has a row for each visible collection and asset, with
// copies of all columns that an index needs. So every read for a limited principal starts at rows of its own and
// reaches others by key. It never reads, skips or counts an invisible object, and looking one up takes the same steps
// and time as looking up one that never existed.
//
// Triggers maintain these tables, so writing code need not know about them. `sources` counts the library's albums that
// contain an asset; the asset leaves the library with the last of them.

extension CatalogueSchema {
  static let limitedAccess = """
    -- One row for each set of granted collections that a principal has used.
    CREATE TABLE limitedLibrary (
      -- Never reused.
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      -- A digest of the granted identifiers.
      granted BLOB NOT NULL UNIQUE CHECK (length(granted) = 32),
      -- The token of the last visible change, in all and without location-only changes. Other changes do not move them.
      revision INTEGER NOT NULL,
      nonLocationRevision INTEGER NOT NULL,
      -- The token at its creation: its history begins there.
      madeRevision INTEGER NOT NULL,
      -- The last use, in milliseconds since 1970, accurate to a day. Unused libraries are deleted.
      usedDate INTEGER NOT NULL
    ) STRICT;

    CREATE TABLE limitedGrant (
      localIdentifier TEXT NOT NULL,
      library INTEGER NOT NULL REFERENCES limitedLibrary (id) ON DELETE CASCADE,
      PRIMARY KEY (localIdentifier, library)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX limitedGrantByLibrary ON limitedGrant (library);

    -- The granted collections, the contents of granted folders, and the smart albums, which show only visible assets.
    CREATE TABLE limitedCollection (
      collection INTEGER NOT NULL REFERENCES collection (id) ON DELETE CASCADE,
      library INTEGER NOT NULL REFERENCES limitedLibrary (id) ON DELETE CASCADE,
      -- The token of the change that made it visible.
      came INTEGER NOT NULL,
      -- Copies of the columns in the whole library.
      localIdentifier TEXT NOT NULL,
      type TEXT NOT NULL,
      position INTEGER NOT NULL,
      PRIMARY KEY (collection, library)
    ) STRICT, WITHOUT ROWID;
    CREATE UNIQUE INDEX limitedCollectionByIdentifier ON limitedCollection (library, localIdentifier);
    CREATE INDEX limitedCollectionByType ON limitedCollection (library, type DESC, position, collection);

    CREATE TABLE limitedAsset (
      asset INTEGER NOT NULL REFERENCES asset (id) ON DELETE CASCADE,
      library INTEGER NOT NULL REFERENCES limitedLibrary (id) ON DELETE CASCADE,
      -- The number of the library's albums that contain it.
      sources INTEGER NOT NULL,
      came INTEGER NOT NULL,
      -- Copies of the columns in the whole library.
      localIdentifier TEXT NOT NULL,
      creationDate INTEGER NOT NULL,
      addedDate INTEGER NOT NULL,
      listing INTEGER NOT NULL,
      counted INTEGER NOT NULL,
      burstIdentifier TEXT,
      PRIMARY KEY (asset, library)
    ) STRICT, WITHOUT ROWID;
    CREATE UNIQUE INDEX limitedAssetByIdentifier ON limitedAsset (library, localIdentifier);
    CREATE INDEX limitedAssetByDate ON limitedAsset (library, creationDate DESC, localIdentifier, listing);
    CREATE INDEX limitedAssetByAddition ON limitedAsset (library, addedDate DESC, localIdentifier, listing);
    CREATE INDEX limitedAssetByBurst ON limitedAsset (library, burstIdentifier) WHERE burstIdentifier IS NOT NULL;
    \(smartAlbums.map { name, bit in
      "CREATE INDEX \(name) ON limitedAsset (library, creationDate DESC, localIdentifier, listing) "
        + "WHERE (counted & \(bit)) <> 0;"
    }.joined(separator: "\n"))

    -- The identifiers of objects that have left the library. Kind 0 is an asset, 1 a collection.
    CREATE TABLE limitedGone (
      library INTEGER NOT NULL REFERENCES limitedLibrary (id) ON DELETE CASCADE,
      kind INTEGER NOT NULL CHECK (kind IN (0, 1)),
      object INTEGER NOT NULL,
      localIdentifier TEXT NOT NULL,
      -- The token of the change with which it last left.
      went INTEGER NOT NULL,
      PRIMARY KEY (library, kind, object)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX limitedGoneByIdentifier ON limitedGone (library, localIdentifier);
    CREATE INDEX limitedGoneByToken ON limitedGone (went);

    -- Like counter and dayCount.
    CREATE TABLE limitedCount (
      library INTEGER NOT NULL REFERENCES limitedLibrary (id) ON DELETE CASCADE,
      bit INTEGER NOT NULL,
      listing INTEGER NOT NULL,
      value INTEGER NOT NULL,
      PRIMARY KEY (library, bit, listing)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE limitedDayCount (
      library INTEGER NOT NULL REFERENCES limitedLibrary (id) ON DELETE CASCADE,
      day INTEGER NOT NULL,
      listing INTEGER NOT NULL,
      value INTEGER NOT NULL,
      PRIMARY KEY (library, day, listing)
    ) STRICT, WITHOUT ROWID;

    -- Like moment and staleDay.
    CREATE TABLE limitedMoment (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      library INTEGER NOT NULL REFERENCES limitedLibrary (id) ON DELETE CASCADE,
      localIdentifier TEXT NOT NULL UNIQUE,
      splitsByLocation INTEGER NOT NULL,
      startDate INTEGER NOT NULL,
      endDate INTEGER NOT NULL,
      assetCount INTEGER NOT NULL,
      revision INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX limitedMomentByDate ON limitedMoment (library, splitsByLocation, startDate, id);
    CREATE INDEX limitedMomentByIdentifier ON limitedMoment (library, splitsByLocation, localIdentifier);
    CREATE TABLE limitedStaleDay (
      library INTEGER NOT NULL REFERENCES limitedLibrary (id) ON DELETE CASCADE,
      day INTEGER NOT NULL,
      PRIMARY KEY (library, day)
    ) STRICT, WITHOUT ROWID;

    -- The collections of each library, derived recursively from its grants. A view, because triggers can't contain WITH
    -- RECURSIVE.
    CREATE VIEW limitedReach AS
      WITH RECURSIVE reach (library, collection) AS (
        SELECT limitedGrant.library, collection.id
        FROM limitedGrant JOIN collection ON collection.localIdentifier = limitedGrant.localIdentifier
        WHERE collection.type IN ('album', 'folder')
        UNION
        SELECT reach.library, collection.id FROM reach JOIN collection ON collection.parent = reach.collection)
      SELECT library, collection FROM reach
      UNION ALL
      SELECT limitedLibrary.id, collection.id FROM limitedLibrary, collection WHERE collection.type = 'smartAlbum';

    \(collectionTriggers)
    \(memberTriggers)
    \(assetTriggers)
    """

  /// The bits of `counted` for the smart albums that have an index.
  private static let smartAlbums: [(index: String, bit: Int)] = [
    ("limitedFavoriteByDate", 2), ("limitedVideoByDate", 4), ("limitedPanoramaByDate", 8), ("limitedBurstByDate", 16),
    ("limitedScreenshotByDate", 32), ("limitedHdrByDate", 64), ("limitedDepthByDate", 128),
    ("limitedLiveByDate", 256), ("limitedRawByDate", 512), ("limitedHiddenByDate", 1024),
  ]

  private static let tokenOfChange = "(SELECT value FROM library WHERE key = 'token')"
  private static let assetCopies = "localIdentifier, creationDate, addedDate, listing, counted, burstIdentifier"
  private static let collectionCopies = "localIdentifier, type, position"

  private static func touch(_ libraries: String) -> String {
    "UPDATE limitedLibrary SET revision = \(tokenOfChange), nonLocationRevision = \(tokenOfChange) WHERE \(libraries);"
  }

  /// Updates the revisions of limited libraries after a row of `changedObject`.
  static let noted = """
    UPDATE limitedLibrary SET revision = NEW.token
      WHERE id IN (SELECT library FROM limitedAsset WHERE NEW.kind = 0 AND asset = NEW.object
        UNION ALL SELECT library FROM limitedCollection WHERE NEW.kind = 1 AND collection = NEW.object);
    UPDATE limitedLibrary SET nonLocationRevision = NEW.token
      WHERE NEW.isLocationOnly = 0
        AND id IN (SELECT library FROM limitedAsset WHERE NEW.kind = 0 AND asset = NEW.object
          UNION ALL SELECT library FROM limitedCollection WHERE NEW.kind = 1 AND collection = NEW.object);
    """

  private static let collectionTriggers = """
    CREATE TRIGGER limitInsertedCollection AFTER INSERT ON collection BEGIN
      INSERT OR IGNORE INTO limitedCollection (collection, library, came, \(collectionCopies))
        SELECT NEW.id, library, \(tokenOfChange), NEW.localIdentifier, NEW.type, NEW.position FROM (
          SELECT library FROM limitedCollection WHERE collection = NEW.parent
          UNION SELECT library FROM limitedGrant
            WHERE localIdentifier = NEW.localIdentifier AND NEW.type IN ('album', 'folder')
          UNION SELECT id FROM limitedLibrary WHERE NEW.type = 'smartAlbum');
    END;
    CREATE TRIGGER limitMovedCollection AFTER UPDATE OF parent ON collection
      WHEN NEW.parent IS NOT OLD.parent AND EXISTS (SELECT 1 FROM limitedLibrary)
    BEGIN
      DELETE FROM limitedCollection WHERE (library, collection) NOT IN (SELECT library, collection FROM limitedReach);
      INSERT OR IGNORE INTO limitedCollection (collection, library, came, \(collectionCopies))
        SELECT collection.id, library, \(tokenOfChange), localIdentifier, type, position
        FROM limitedReach JOIN collection ON collection.id = limitedReach.collection;
    END;
    CREATE TRIGGER limitShiftedCollection AFTER UPDATE OF position ON collection WHEN NEW.position <> OLD.position BEGIN
      UPDATE limitedCollection SET position = NEW.position WHERE collection = NEW.id;
    END;

    CREATE TRIGGER fillLimitedCollection AFTER INSERT ON limitedCollection BEGIN
      INSERT INTO limitedAsset (asset, library, sources, came, \(assetCopies))
        SELECT asset.id, NEW.library, 1, \(tokenOfChange), localIdentifier, asset.creationDate, addedDate, asset.listing, counted,
          burstIdentifier
        FROM member CROSS JOIN asset ON asset.id = member.asset WHERE member.collection = NEW.collection
        ON CONFLICT DO UPDATE SET sources = sources + 1;
      \(touch("id = NEW.library"))
    END;
    -- If the library itself is being deleted, its rows are deleted by their foreign keys.
    CREATE TRIGGER emptyLimitedCollection AFTER DELETE ON limitedCollection
      WHEN EXISTS (SELECT 1 FROM limitedLibrary WHERE id = OLD.library)
    BEGIN
      INSERT OR REPLACE INTO limitedGone VALUES (OLD.library, 1, OLD.collection, OLD.localIdentifier, \(tokenOfChange));
      UPDATE limitedAsset SET sources = sources - 1
        WHERE library = OLD.library AND asset IN (SELECT asset FROM member WHERE collection = OLD.collection);
      DELETE FROM limitedAsset
        WHERE library = OLD.library AND sources = 0
          AND asset IN (SELECT asset FROM member WHERE collection = OLD.collection);
      \(touch("id = OLD.library"))
    END;
    """

  private static let memberTriggers = """
    CREATE TRIGGER limitInsertedMember AFTER INSERT ON member
      WHEN EXISTS (SELECT 1 FROM limitedCollection WHERE collection = NEW.collection)
    BEGIN
      INSERT INTO limitedAsset (asset, library, sources, came, \(assetCopies))
        SELECT asset.id, library, 1, \(tokenOfChange), asset.localIdentifier, creationDate, addedDate, listing, counted,
          burstIdentifier
        FROM limitedCollection CROSS JOIN asset WHERE collection = NEW.collection AND asset.id = NEW.asset
        ON CONFLICT DO UPDATE SET sources = sources + 1;
    END;
    CREATE TRIGGER limitDeletedMember AFTER DELETE ON member
      WHEN EXISTS (SELECT 1 FROM limitedCollection WHERE collection = OLD.collection)
    BEGIN
      UPDATE limitedAsset SET sources = sources - 1
        WHERE asset = OLD.asset AND library IN (SELECT library FROM limitedCollection WHERE collection = OLD.collection);
      DELETE FROM limitedAsset WHERE asset = OLD.asset AND sources = 0;
    END;
    CREATE TRIGGER limitMovedMember AFTER UPDATE OF collection, asset ON member
      WHEN EXISTS (SELECT 1 FROM limitedCollection WHERE collection IN (OLD.collection, NEW.collection))
    BEGIN
      INSERT INTO limitedAsset (asset, library, sources, came, \(assetCopies))
        SELECT asset.id, library, 1, \(tokenOfChange), asset.localIdentifier, creationDate, addedDate, listing, counted,
          burstIdentifier
        FROM limitedCollection CROSS JOIN asset WHERE collection = NEW.collection AND asset.id = NEW.asset
        ON CONFLICT DO UPDATE SET sources = sources + 1;
      UPDATE limitedAsset SET sources = sources - 1
        WHERE asset = OLD.asset AND library IN (SELECT library FROM limitedCollection WHERE collection = OLD.collection);
      DELETE FROM limitedAsset WHERE asset = OLD.asset AND sources = 0;
    END;
    """

  private static let assetTriggers = """
    -- Lists its columns, because a new placeholder changes nothing here.
    CREATE TRIGGER limitChangedAsset AFTER UPDATE OF creationDate, addedDate, mediaType, mediaSubtypes, isRAW,
      isFavorite, isHidden, burstIdentifier, representsBurst, burstSelectionTypes, latitude, longitude ON asset
      WHEN EXISTS (SELECT 1 FROM limitedAsset WHERE asset = NEW.id)
    BEGIN
      INSERT OR IGNORE INTO limitedStaleDay
        SELECT library, \(day("NEW.creationDate")) FROM limitedAsset
        WHERE asset = NEW.id AND (NEW.latitude IS NOT OLD.latitude OR NEW.longitude IS NOT OLD.longitude);
      UPDATE limitedAsset
        SET creationDate = NEW.creationDate, addedDate = NEW.addedDate, listing = NEW.listing, counted = NEW.counted,
          burstIdentifier = NEW.burstIdentifier
        WHERE asset = NEW.id AND (creationDate, addedDate, listing, counted, burstIdentifier)
          IS NOT (NEW.creationDate, NEW.addedDate, NEW.listing, NEW.counted, NEW.burstIdentifier);
    END;

    -- An update of a visible object is a change of the library. Objects that enter or leave have already updated its
    -- revision.
    CREATE TRIGGER limitNotedChange AFTER INSERT ON changedObject WHEN NEW.event = 1 BEGIN
      \(noted)
    END;
    CREATE TRIGGER limitNotedAgain AFTER UPDATE ON changedObject
      WHEN NEW.event = 1 AND (NEW.event <> OLD.event OR NEW.isLocationOnly < OLD.isLocationOnly)
    BEGIN
      \(noted)
    END;

    CREATE TRIGGER countInsertedLimitedAsset AFTER INSERT ON limitedAsset BEGIN
      \(count("NEW", 1))
      \(touch("id = NEW.library"))
    END;
    CREATE TRIGGER countDeletedLimitedAsset AFTER DELETE ON limitedAsset
      WHEN EXISTS (SELECT 1 FROM limitedLibrary WHERE id = OLD.library)
    BEGIN
      INSERT OR REPLACE INTO limitedGone VALUES (OLD.library, 0, OLD.asset, OLD.localIdentifier, \(tokenOfChange));
      \(count("OLD", -1))
      \(touch("id = OLD.library"))
    END;
    CREATE TRIGGER countChangedLimitedAsset AFTER UPDATE OF creationDate, listing, counted ON limitedAsset
      WHEN NEW.creationDate <> OLD.creationDate OR NEW.listing <> OLD.listing OR NEW.counted <> OLD.counted
    BEGIN
      \(count("OLD", -1))
      \(count("NEW", 1))
    END;
    """

  private static func count(_ row: String, _ step: Int) -> String {
    """
    INSERT INTO limitedCount
      SELECT \(row).library, bit, listing, \(step) FROM counter
      WHERE listing = \(row).listing AND \(row).counted >> bit & 1
      ON CONFLICT DO UPDATE SET value = value + excluded.value;
    INSERT INTO limitedDayCount VALUES (\(row).library, \(day("\(row).creationDate")), \(row).listing, \(step))
      ON CONFLICT DO UPDATE SET value = value + excluded.value;
    INSERT OR IGNORE INTO limitedStaleDay VALUES (\(row).library, \(day("\(row).creationDate")));
    """
  }
}
