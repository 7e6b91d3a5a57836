// Smart albums, albums and folders, the members of albums, the assets of folders, and which collections and assets
// limited libraries have.
//
// A folder has the assets of all albums below it, each once: `folderAsset.sources` counts those albums. `folderAbove`
// lists the folders above each collection at any depth, so triggers find them without recursion.
//
// The whole library has every collection. A limited library has the granted collections, the contents of granted
// folders, and the smart albums, which show only its own assets. `libraryAsset.sources` counts the library's albums
// that contain an asset; the asset leaves the library with the last of them.

import GRDB
import Primitives

extension CatalogueSchema {
  static let collections = """
    CREATE TABLE collection (
      -- Never reused, like an asset's.
      id INTEGER PRIMARY KEY AUTOINCREMENT,
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
      -- Of an album or folder: as `asset.keepsOriginal` of all of its assets.
      keepsOriginals INTEGER NOT NULL DEFAULT 0 CHECK (keepsOriginals IN (0, 1)),
      -- For a smart album: a predicate over asset keys, and sort descriptors.
      rule TEXT,
      ruleOrder TEXT,
      revision INTEGER NOT NULL,
      CHECK ((type = 'smartAlbum') = (rule IS NOT NULL))
    ) STRICT;
    CREATE INDEX collectionByParent ON collection (parent, position);
    -- The album that an import created for an album of an export, or merged it into, whatever its title is now.
    CREATE TABLE importedAlbum (
      key TEXT PRIMARY KEY,
      collection INTEGER NOT NULL REFERENCES collection (id) ON DELETE CASCADE
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX importedAlbumByCollection ON importedAlbum (collection);
    CREATE INDEX collectionByKeyAsset ON collection (keyAsset) WHERE keyAsset IS NOT NULL;

    -- The collections of each library.
    CREATE TABLE libraryCollection (
      collection INTEGER NOT NULL REFERENCES collection (id) ON DELETE CASCADE,
      library INTEGER NOT NULL REFERENCES library (id) ON DELETE CASCADE,
      -- The token of the change with which it entered the library.
      came INTEGER NOT NULL,
      -- Copies of the collection's columns.
      localIdentifier TEXT NOT NULL,
      type TEXT NOT NULL,
      position INTEGER NOT NULL,
      PRIMARY KEY (collection, library)
    ) STRICT, WITHOUT ROWID;
    CREATE UNIQUE INDEX libraryCollectionByIdentifier ON libraryCollection (library, localIdentifier);
    -- The order of the list of all collections: smart albums, folders, albums.
    CREATE INDEX libraryCollectionByType ON libraryCollection (library, type DESC, position, collection);

    -- The members of albums.
    CREATE TABLE member (
      collection INTEGER NOT NULL REFERENCES collection (id) ON DELETE CASCADE,
      -- Its position in the album, ascending; with gaps.
      position INTEGER NOT NULL,
      asset INTEGER NOT NULL REFERENCES asset (id) ON DELETE CASCADE,
      -- Copies of the asset's columns, kept up to date by a trigger, so that an album's dates and counts are read from
      -- an index. An insertion must supply the asset's values.
      creationDate INTEGER NOT NULL,
      listing INTEGER NOT NULL,
      PRIMARY KEY (collection, position)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX memberByDate ON member (collection, creationDate, listing);
    CREATE UNIQUE INDEX memberByAsset ON member (asset, collection);
    CREATE TRIGGER copyToMembers AFTER UPDATE OF creationDate, isHidden, burstIdentifier, representsBurst,
      burstSelectionTypes ON asset
      WHEN NEW.listing <> OLD.listing OR NEW.creationDate <> OLD.creationDate
    BEGIN
      UPDATE member SET listing = NEW.listing, creationDate = NEW.creationDate WHERE asset = NEW.id;
      UPDATE folderAsset SET listing = NEW.listing, creationDate = NEW.creationDate WHERE asset = NEW.id;
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

    -- The folders above each collection, at any depth. A table, because triggers can't contain WITH RECURSIVE.
    CREATE TABLE folderAbove (
      collection INTEGER NOT NULL REFERENCES collection (id) ON DELETE CASCADE,
      folder INTEGER NOT NULL REFERENCES collection (id) ON DELETE CASCADE,
      PRIMARY KEY (collection, folder)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX folderAboveByFolder ON folderAbove (folder, collection);
    CREATE TRIGGER enterFolders AFTER INSERT ON collection WHEN NEW.parent IS NOT NULL BEGIN
      INSERT INTO folderAbove (collection, folder)
        SELECT NEW.id, NEW.parent UNION ALL SELECT NEW.id, folder FROM folderAbove WHERE collection = NEW.parent;
    END;
    -- A folder moves with everything below it. Folders that stay above it keep their assets.
    CREATE TRIGGER changeFolders AFTER UPDATE OF parent ON collection WHEN NEW.parent IS NOT OLD.parent BEGIN
      DELETE FROM folderAbove
        WHERE folder IN (SELECT folder FROM folderAbove WHERE collection = NEW.id)
          AND folder IS NOT NEW.parent AND folder NOT IN (SELECT folder FROM folderAbove WHERE collection = NEW.parent)
          AND (collection = NEW.id OR collection IN (SELECT collection FROM folderAbove WHERE folder = NEW.id));
      INSERT INTO folderAbove (collection, folder)
        SELECT below.collection, above.folder
        FROM (SELECT NEW.id AS collection UNION ALL SELECT collection FROM folderAbove WHERE folder = NEW.id) AS below
          CROSS JOIN (
            SELECT NEW.parent AS folder UNION ALL SELECT folder FROM folderAbove WHERE collection = NEW.parent) AS above
        WHERE above.folder IS NOT NULL
        ON CONFLICT DO NOTHING;
    END;

    -- The assets of each folder, with copies of the asset's columns as in `member`.
    CREATE TABLE folderAsset (
      folder INTEGER NOT NULL REFERENCES collection (id) ON DELETE CASCADE,
      -- Without a foreign key, which would cost a lookup at each insertion of an asset: the rows follow `member`.
      asset INTEGER NOT NULL,
      creationDate INTEGER NOT NULL,
      listing INTEGER NOT NULL,
      -- The number of albums below the folder that contain the asset.
      sources INTEGER NOT NULL,
      PRIMARY KEY (folder, asset)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX folderAssetByDate ON folderAsset (folder, creationDate, listing);
    CREATE UNIQUE INDEX folderAssetByAsset ON folderAsset (asset, folder);
    -- Each pair of a member and a folder above it is counted once on entering and once on leaving, also if the album
    -- and the folder are deleted together, because one of them is deleted first.
    CREATE TRIGGER enterFolder AFTER INSERT ON folderAbove BEGIN
      INSERT INTO folderAsset (folder, asset, creationDate, listing, sources)
        SELECT NEW.folder, asset, creationDate, listing, 1 FROM member WHERE collection = NEW.collection
        ON CONFLICT DO UPDATE SET sources = sources + 1;
    END;
    CREATE TRIGGER leaveFolder AFTER DELETE ON folderAbove BEGIN
      UPDATE folderAsset SET sources = sources - 1
        WHERE folder = OLD.folder AND asset IN (SELECT asset FROM member WHERE collection = OLD.collection);
      DELETE FROM folderAsset
        WHERE folder = OLD.folder AND sources = 0
          AND asset IN (SELECT asset FROM member WHERE collection = OLD.collection);
    END;
    CREATE TRIGGER enterFolderWithMember AFTER INSERT ON member
      WHEN EXISTS (SELECT 1 FROM folderAbove WHERE collection = NEW.collection)
    BEGIN
      INSERT INTO folderAsset (folder, asset, creationDate, listing, sources)
        SELECT folder, NEW.asset, NEW.creationDate, NEW.listing, 1 FROM folderAbove WHERE collection = NEW.collection
        ON CONFLICT DO UPDATE SET sources = sources + 1;
    END;
    CREATE TRIGGER leaveFolderWithMember AFTER DELETE ON member
      WHEN EXISTS (SELECT 1 FROM folderAbove WHERE collection = OLD.collection)
    BEGIN
      UPDATE folderAsset SET sources = sources - 1
        WHERE asset = OLD.asset AND folder IN (SELECT folder FROM folderAbove WHERE collection = OLD.collection);
      DELETE FROM folderAsset WHERE asset = OLD.asset AND sources = 0;
    END;

    -- The number of assets of a folder, for each value of `listing`.
    CREATE TABLE folderCount (
      folder INTEGER NOT NULL REFERENCES collection (id) ON DELETE CASCADE,
      listing INTEGER NOT NULL,
      value INTEGER NOT NULL,
      PRIMARY KEY (folder, listing)
    ) STRICT, WITHOUT ROWID;
    CREATE TRIGGER countInsertedFolderAsset AFTER INSERT ON folderAsset BEGIN
      INSERT INTO folderCount VALUES (NEW.folder, NEW.listing, 1) ON CONFLICT DO UPDATE SET value = value + 1;
    END;
    CREATE TRIGGER countDeletedFolderAsset AFTER DELETE ON folderAsset BEGIN
      UPDATE folderCount SET value = value - 1 WHERE folder = OLD.folder AND listing = OLD.listing;
    END;
    CREATE TRIGGER countRelistedFolderAsset AFTER UPDATE OF listing ON folderAsset WHEN NEW.listing <> OLD.listing BEGIN
      UPDATE folderCount SET value = value - 1 WHERE folder = OLD.folder AND listing = OLD.listing;
      INSERT INTO folderCount VALUES (NEW.folder, NEW.listing, 1) ON CONFLICT DO UPDATE SET value = value + 1;
    END;

    -- The collections that each limited library must have, derived recursively from its grants: for its creation, and
    -- for checks of what the triggers below keep.
    CREATE VIEW limitedReach AS
      WITH RECURSIVE reach (library, collection) AS (
        SELECT libraryGrant.library, collection.id
        FROM libraryGrant JOIN collection ON collection.localIdentifier = libraryGrant.localIdentifier
        WHERE collection.type IN ('album', 'folder')
        UNION
        SELECT reach.library, collection.id FROM reach JOIN collection ON collection.parent = reach.collection)
      SELECT library, collection FROM reach
      UNION ALL
      SELECT library.id, collection.id FROM library, collection WHERE library.id > 0 AND collection.type = 'smartAlbum';

    CREATE TRIGGER addToLibraries AFTER INSERT ON collection BEGIN
      INSERT INTO libraryCollection (collection, library, came, localIdentifier, type, position)
        SELECT NEW.id, library, \(token), NEW.localIdentifier, NEW.type, NEW.position FROM (
          SELECT 0 AS library
          UNION SELECT library FROM libraryCollection WHERE collection = NEW.parent
          UNION SELECT library FROM libraryGrant
            WHERE localIdentifier = NEW.localIdentifier AND NEW.type IN ('album', 'folder')
          UNION SELECT id FROM library WHERE NEW.type = 'smartAlbum');
    END;
    -- A moved collection, and everything below it, leaves the libraries that have only its former parent, except for
    -- what is granted itself or below a granted folder of the same tree; and it enters those that have only its new
    -- parent. All other libraries keep what they have. `folderAbove` may still have the former folders above the tree,
    -- or already the new ones, so it is asked only for the folders within the tree.
    CREATE TRIGGER moveBetweenLibraries AFTER UPDATE OF parent ON collection
      WHEN NEW.parent IS NOT OLD.parent AND EXISTS (SELECT 1 FROM library WHERE id > 0)
    BEGIN
      DELETE FROM libraryCollection WHERE (collection, library) IN (
        SELECT below.collection, lost.library
        FROM (
            SELECT library FROM libraryCollection WHERE collection = OLD.parent AND library > 0
            EXCEPT SELECT library FROM libraryCollection WHERE collection = NEW.parent) AS lost
          CROSS JOIN (
            SELECT NEW.id AS collection
            UNION ALL SELECT collection FROM folderAbove WHERE folder = NEW.id) AS below
        WHERE NOT EXISTS (
          SELECT 1 FROM collection AS granted CROSS JOIN libraryGrant
            ON libraryGrant.localIdentifier = granted.localIdentifier AND libraryGrant.library = lost.library
          WHERE granted.id IN (
              SELECT below.collection UNION ALL SELECT folder FROM folderAbove WHERE collection = below.collection)
            AND (granted.id = NEW.id OR EXISTS (
              SELECT 1 FROM folderAbove WHERE collection = granted.id AND folder = NEW.id))));
      INSERT INTO libraryCollection (collection, library, came, localIdentifier, type, position)
        SELECT collection.id, gained.library, \(token), localIdentifier, type, position
        FROM (
            SELECT library FROM libraryCollection WHERE collection = NEW.parent AND library > 0
            EXCEPT SELECT library FROM libraryCollection WHERE collection = OLD.parent) AS gained
          CROSS JOIN (
            SELECT NEW.id AS collection
            UNION ALL SELECT collection FROM folderAbove WHERE folder = NEW.id) AS below
          CROSS JOIN collection ON collection.id = below.collection
        WHERE true
        ON CONFLICT DO NOTHING;
    END;
    CREATE TRIGGER copyPosition AFTER UPDATE OF position ON collection WHEN NEW.position <> OLD.position BEGIN
      UPDATE libraryCollection SET position = NEW.position WHERE collection = NEW.id;
    END;

    -- The assets of an album enter and leave a limited library with the album.
    CREATE TRIGGER enterWithAlbum AFTER INSERT ON libraryCollection WHEN NEW.library > 0 BEGIN
      INSERT INTO libraryAsset (library, asset, \(copies), sources, came)
        SELECT NEW.library, asset.id, \(copiesOfAsset), 1, \(token)
        FROM member CROSS JOIN asset ON asset.id = member.asset WHERE member.collection = NEW.collection
        ON CONFLICT DO UPDATE SET sources = sources + 1;
    END;
    -- If the library itself is being deleted, its rows are deleted by their foreign keys.
    CREATE TRIGGER leaveWithAlbum AFTER DELETE ON libraryCollection
      WHEN OLD.library > 0 AND EXISTS (SELECT 1 FROM library WHERE id = OLD.library)
    BEGIN
      UPDATE libraryAsset SET sources = sources - 1
        WHERE library = OLD.library AND asset IN (SELECT asset FROM member WHERE collection = OLD.collection);
      -- The plus sign keeps SQLite from reading all assets of the library along its primary key.
      DELETE FROM libraryAsset
        WHERE +library = OLD.library AND sources = 0
          AND asset IN (SELECT asset FROM member WHERE collection = OLD.collection);
    END;

    -- An asset enters and leaves limited libraries as it enters and leaves their albums.
    CREATE TRIGGER enterWithMember AFTER INSERT ON member
      WHEN EXISTS (SELECT 1 FROM libraryCollection WHERE collection = NEW.collection AND library > 0)
    BEGIN
      INSERT INTO libraryAsset (library, asset, \(copies), sources, came)
        SELECT library, asset.id, \(copiesOfAsset), 1, \(token)
        FROM libraryCollection CROSS JOIN asset
        WHERE collection = NEW.collection AND library > 0 AND asset.id = NEW.asset
        ON CONFLICT DO UPDATE SET sources = sources + 1;
    END;
    CREATE TRIGGER leaveWithMember AFTER DELETE ON member
      WHEN EXISTS (SELECT 1 FROM libraryCollection WHERE collection = OLD.collection AND library > 0)
    BEGIN
      UPDATE libraryAsset SET sources = sources - 1
        WHERE asset = OLD.asset
          AND library IN (SELECT library FROM libraryCollection WHERE collection = OLD.collection AND library > 0);
      DELETE FROM libraryAsset WHERE asset = OLD.asset AND sources = 0;
    END;
    """

  static func insertSmartAlbums(_ db: Database) throws {
    // Prepared once, because the triggers make that take a millisecond, and the first scan waits for it.
    let insert = try db.makeStatement(
      sql: """
        INSERT INTO collection (localIdentifier, type, subtype, title, rule, ruleOrder, revision)
        VALUES (?, 'smartAlbum', ?, ?, ?, ?, 0)
        """)
    for album in smartAlbums {
      try insert.execute(
        arguments: [Base64URL.randomIdentifier(), album.subtype, album.title, album.rule, album.order])
    }
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
    ("smartAlbumSlomoVideos", "Slo-mo", "(mediaSubtypes & videoHighFrameRate) != 0", "-creationDate"),
    ("smartAlbumTimelapses", "Time-lapse", "(mediaSubtypes & videoTimelapse) != 0", "-creationDate"),
    ("smartAlbumSelfPortraits", "Selfies", "isSelfPortrait == YES", "-creationDate"),
    ("smartAlbumAnimated", "Animated", "isAnimated == YES", "-creationDate"),
    ("smartAlbumLongExposures", "Long Exposure", "isLongExposure == YES", "-creationDate"),
    ("smartAlbumCinematic", "Cinematic", "(mediaSubtypes & videoCinematic) != 0", "-creationDate"),
    ("smartAlbumSpatial", "Spatial", "(mediaSubtypes & spatialMedia) != 0", "-creationDate"),
    (
      "smartAlbumScreenRecordings", "Screen Recordings", "(mediaSubtypes & videoScreenRecording) != 0", "-creationDate"
    ),
    ("smartAlbumAllHidden", "Hidden", "isHidden == YES", "-creationDate"),
  ]
}
