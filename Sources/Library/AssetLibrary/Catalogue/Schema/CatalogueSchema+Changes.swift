// Migration 5: the history of changes. Triggers record each change, so no writing code can forget it, and set an
// object's revision to the token of its last change. The lists of columns below define a change; files, placeholders
// and moments are not part of it.

extension CatalogueSchema {
  /// The columns of an asset that clients see, without its location.
  private static let assetColumns = [
    "contentVersion", "mediaType", "mediaSubtypes", "sourceType", "uniformTypeIdentifier", "isRAW", "originalFilename",
    "fileSize", "pixelWidth", "pixelHeight", "orientation", "hasAlpha", "duration", "creationDate",
    "creationDateSource", "modificationDate", "cameraMake", "cameraModel", "isFavorite", "isHidden", "adjustments",
    "burstIdentifier", "representsBurst", "burstSelectionTypes",
  ]
  private static let placeColumns = ["latitude", "longitude", "altitude"]
  private static let collectionColumns = ["type", "subtype", "title", "parent", "position", "keyAsset"]

  private static func list(_ columns: [String], of row: String = "") -> String {
    columns.map { row.isEmpty ? $0 : "\(row).\($0)" }.joined(separator: ", ")
  }

  private static func differ(_ columns: [String]) -> String {
    "(\(list(columns, of: "NEW"))) IS NOT (\(list(columns, of: "OLD")))"
  }

  /// The token of the running change.
  private static let token = "(SELECT value FROM library WHERE key = 'token')"
  private static let isLocationOnly = "(\(differ(placeColumns)) AND NOT (\(differ(assetColumns))))"
  /// The revision for principals without the location scope: unchanged if only the location changed.
  private static let nonLocationRevision =
    "CASE WHEN \(isLocationOnly) THEN coalesce(OLD.nonLocationRevision, OLD.revision) END"

  static let changes = """
    -- A row for each commit that changed the library.
    CREATE TABLE change (
      token INTEGER PRIMARY KEY,
      -- Milliseconds since 1970.
      time INTEGER NOT NULL,
      -- The number of its rows in changedObject and changedMember.
      objects INTEGER NOT NULL,
      -- Invisible to principals without the location scope.
      isLocationOnly INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX changeBeyondLocation ON change (token) WHERE isLocationOnly = 0;
    -- The objects that it changed, each once.
    CREATE TABLE changedObject (
      token INTEGER NOT NULL,
      -- 0 for an asset, 1 for a collection.
      kind INTEGER NOT NULL,
      -- The object's row number.
      object INTEGER NOT NULL,
      -- 0 inserted, 1 updated, 2 deleted.
      event INTEGER NOT NULL,
      -- The asset has a new content version.
      isContentChanged INTEGER NOT NULL,
      -- Only the asset's location changed.
      isLocationOnly INTEGER NOT NULL,
      PRIMARY KEY (token, kind, object)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE changedMember (
      token INTEGER NOT NULL,
      collection INTEGER NOT NULL,
      asset INTEGER NOT NULL,
      -- 0 added, 1 moved, 2 removed.
      event INTEGER NOT NULL,
      PRIMARY KEY (token, collection, asset)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX deletedAssetByRevision ON deletedAsset (revision);
    CREATE TABLE deletedCollection (
      id INTEGER PRIMARY KEY,
      localIdentifier TEXT NOT NULL,
      -- The token of the change that deleted it.
      revision INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX deletedCollectionByRevision ON deletedCollection (revision);
    -- The oldest token from which the history is complete.
    INSERT INTO library SELECT 'historyStart', value FROM library WHERE key = 'token';

    -- The token of the last change that is visible without the location scope; NULL means `revision`.
    ALTER TABLE asset ADD COLUMN nonLocationRevision INTEGER;
    -- A user set the location, which takes precedence over the file's.
    ALTER TABLE asset ADD COLUMN hasUserLocation INTEGER NOT NULL DEFAULT 0 CHECK (hasUserLocation IN (0, 1));

    -- Recreated with AUTOINCREMENT, so that a collection's row number is never reused, like an asset's.
    CREATE TABLE newCollection (
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
      -- For a smart album: a predicate over asset keys, and sort descriptors.
      rule TEXT,
      ruleOrder TEXT,
      revision INTEGER NOT NULL,
      CHECK ((type = 'smartAlbum') = (rule IS NOT NULL))
    ) STRICT;
    INSERT INTO newCollection
      SELECT id, localIdentifier, type, subtype, title, parent, position, keyAsset, rule, ruleOrder, revision
      FROM collection;
    DROP TABLE collection;
    ALTER TABLE newCollection RENAME TO collection;
    -- The orders of a folder, and of the list of all collections: smart albums, folders, albums.
    CREATE INDEX collectionByParent ON collection (parent, position);
    CREATE INDEX collectionByType ON collection (type DESC, position);
    CREATE INDEX collectionByKeyAsset ON collection (keyAsset) WHERE keyAsset IS NOT NULL;

    CREATE TRIGGER noteInsertedAsset AFTER INSERT ON asset BEGIN
      INSERT INTO changedObject VALUES (\(token), 0, NEW.id, 0, 0, 0)
        ON CONFLICT DO UPDATE SET event = 1, isContentChanged = 1, isLocationOnly = 0;
    END;
    CREATE TRIGGER noteUpdatedAsset AFTER UPDATE OF \(list(assetColumns + placeColumns + ["revision"])) ON asset
      WHEN \(differ(assetColumns + placeColumns + ["revision"]))
    BEGIN
      INSERT INTO changedObject
        VALUES (\(token), 0, NEW.id, 1, NEW.contentVersion <> OLD.contentVersion, \(isLocationOnly))
        ON CONFLICT DO UPDATE SET isContentChanged = max(isContentChanged, excluded.isContentChanged),
          isLocationOnly = min(isLocationOnly, excluded.isLocationOnly);
      UPDATE asset SET revision = \(token), nonLocationRevision = \(nonLocationRevision)
        WHERE id = NEW.id AND (revision <> \(token) OR nonLocationRevision IS NOT \(nonLocationRevision));
    END;
    -- An asset that is inserted and deleted within one change leaves no entry.
    CREATE TRIGGER noteDeletedAsset AFTER DELETE ON asset BEGIN
      INSERT INTO changedObject VALUES (\(token), 0, OLD.id, 2, 0, 0)
        ON CONFLICT DO UPDATE SET event = CASE event WHEN 0 THEN 3 ELSE 2 END, isContentChanged = 0, isLocationOnly = 0;
      DELETE FROM changedObject WHERE token = \(token) AND kind = 0 AND object = OLD.id AND event = 3;
    END;
    -- An asset can be restored and deleted again.
    DROP TRIGGER rememberDeletedAsset;
    CREATE TRIGGER rememberDeletedAsset AFTER DELETE ON asset BEGIN
      INSERT OR REPLACE INTO deletedAsset VALUES (OLD.id, OLD.localIdentifier, \(token));
    END;

    -- A folder changes when a collection is added to it or removed from it.
    CREATE TRIGGER noteInsertedCollection AFTER INSERT ON collection BEGIN
      INSERT INTO changedObject VALUES (\(token), 1, NEW.id, 0, 0, 0)
        ON CONFLICT DO UPDATE SET event = 1;
      UPDATE collection SET revision = \(token) WHERE id = NEW.parent AND revision <> \(token);
    END;
    CREATE TRIGGER noteUpdatedCollection AFTER UPDATE OF \(list(collectionColumns)) ON collection
      WHEN \(differ(collectionColumns))
    BEGIN
      UPDATE collection SET revision = \(token)
        WHERE (id = NEW.id OR NEW.parent IS NOT OLD.parent AND (id = NEW.parent OR id = OLD.parent))
          AND revision <> \(token);
    END;
    CREATE TRIGGER noteRevisedCollection AFTER UPDATE OF revision ON collection WHEN NEW.revision <> OLD.revision
    BEGIN
      INSERT INTO changedObject VALUES (\(token), 1, NEW.id, 1, 0, 0) ON CONFLICT DO NOTHING;
    END;
    CREATE TRIGGER noteDeletedCollection AFTER DELETE ON collection BEGIN
      INSERT INTO changedObject VALUES (\(token), 1, OLD.id, 2, 0, 0)
        ON CONFLICT DO UPDATE SET event = CASE event WHEN 0 THEN 3 ELSE 2 END;
      DELETE FROM changedObject WHERE token = \(token) AND kind = 1 AND object = OLD.id AND event = 3;
      INSERT OR REPLACE INTO deletedCollection VALUES (OLD.id, OLD.localIdentifier, \(token));
      UPDATE collection SET revision = \(token) WHERE id = OLD.parent AND revision <> \(token);
    END;

    -- An album changes when its members change.
    CREATE TRIGGER noteInsertedMember AFTER INSERT ON member BEGIN
      INSERT INTO changedMember VALUES (\(token), NEW.collection, NEW.asset, 0)
        ON CONFLICT DO UPDATE SET event = CASE event WHEN 2 THEN 1 ELSE event END;
      UPDATE collection SET revision = \(token) WHERE id = NEW.collection AND revision <> \(token);
    END;
    CREATE TRIGGER noteMovedMember AFTER UPDATE OF position ON member WHEN NEW.position <> OLD.position BEGIN
      INSERT INTO changedMember VALUES (\(token), NEW.collection, NEW.asset, 1) ON CONFLICT DO NOTHING;
      UPDATE collection SET revision = \(token) WHERE id = NEW.collection AND revision <> \(token);
    END;
    CREATE TRIGGER noteDeletedMember AFTER DELETE ON member BEGIN
      INSERT INTO changedMember VALUES (\(token), OLD.collection, OLD.asset, 2)
        ON CONFLICT DO UPDATE SET event = CASE event WHEN 0 THEN 3 ELSE 2 END;
      DELETE FROM changedMember
        WHERE token = \(token) AND collection = OLD.collection AND asset = OLD.asset AND event = 3;
      UPDATE collection SET revision = \(token) WHERE id = OLD.collection AND revision <> \(token);
    END;
    """
}
