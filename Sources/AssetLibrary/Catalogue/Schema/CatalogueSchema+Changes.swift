// Migration 5: what changed, and with which token. Triggers note it, so that no writer can forget to; they also see to it
// that an object's revision is the token of its last change. What a change is, is in the list of columns below: files,
// placeholders and moments are none.

extension CatalogueSchema {
  /// What the world may see of an asset, without its place.
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

  /// Of the change that is being made.
  private static let token = "(SELECT value FROM library WHERE key = 'token')"
  private static let isPlaceOnly = "(\(differ(placeColumns)) AND NOT (\(differ(assetColumns))))"
  /// The revision for who may not know places: that of before, where only the place is another now.
  private static let placelessRevision =
    "CASE WHEN \(isPlaceOnly) THEN coalesce(OLD.placelessRevision, OLD.revision) END"

  static let changes = """
    -- A row for each commit that changed the library.
    CREATE TABLE change (
      token INTEGER PRIMARY KEY,
      -- Milliseconds since 1970.
      time INTEGER NOT NULL,
      -- Of the rows below, how many it has.
      objects INTEGER NOT NULL,
      -- It is none for who may not know places.
      isPlaceOnly INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX changeOfMoreThanPlaces ON change (token) WHERE isPlaceOnly = 0;
    -- What it changed: each object once.
    CREATE TABLE changedObject (
      token INTEGER NOT NULL,
      -- 0 an asset, 1 a collection.
      kind INTEGER NOT NULL,
      -- The object's row number.
      object INTEGER NOT NULL,
      -- 0 inserted, 1 updated, 2 deleted.
      event INTEGER NOT NULL,
      -- The asset has another content version.
      isContentChanged INTEGER NOT NULL,
      -- Nothing but the asset's place is another.
      isPlaceOnly INTEGER NOT NULL,
      PRIMARY KEY (token, kind, object)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE changedMember (
      token INTEGER NOT NULL,
      collection INTEGER NOT NULL,
      asset INTEGER NOT NULL,
      -- 0 came, 1 moved, 2 went.
      event INTEGER NOT NULL,
      PRIMARY KEY (token, collection, asset)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX deletedAssetByRevision ON deletedAsset (revision);
    CREATE TABLE deletedCollection (
      id INTEGER PRIMARY KEY,
      localIdentifier TEXT NOT NULL,
      -- The token of the change that it went with.
      revision INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX deletedCollectionByRevision ON deletedCollection (revision);
    -- The oldest token that what came after is still known of.
    INSERT INTO library SELECT 'historyStart', value FROM library WHERE key = 'token';

    -- The token of the last change that one may know of who may not know places; none: `revision`.
    ALTER TABLE asset ADD COLUMN placelessRevision INTEGER;
    -- Somebody said where it was taken; what its file says does not count any more.
    ALTER TABLE asset ADD COLUMN hasUserLocation INTEGER NOT NULL DEFAULT 0 CHECK (hasUserLocation IN (0, 1));

    -- Anew, so that the number of a collection is never given out twice, as an asset's is not.
    CREATE TABLE newCollection (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      localIdentifier TEXT NOT NULL UNIQUE,
      -- PHAssetCollectionType or PHCollectionListType, by name; PhotoKit's subtype.
      type TEXT NOT NULL CHECK (type IN ('album', 'smartAlbum', 'folder')),
      subtype TEXT NOT NULL,
      title TEXT,
      -- The folder that it lies in; none: at the top.
      parent INTEGER REFERENCES collection (id) ON DELETE CASCADE,
      -- Its place among those in the same folder, from the front; gaps are left.
      position INTEGER NOT NULL DEFAULT 0,
      keyAsset INTEGER REFERENCES asset (id) ON DELETE SET NULL,
      -- Of a smart album: a predicate over the keys of an asset, and sort descriptors.
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
    -- In the order of a folder, and in that of a list of all: smart albums, folders, albums.
    CREATE INDEX collectionByParent ON collection (parent, position);
    CREATE INDEX collectionByType ON collection (type DESC, position);
    CREATE INDEX collectionByKeyAsset ON collection (keyAsset) WHERE keyAsset IS NOT NULL;

    CREATE TRIGGER noteInsertedAsset AFTER INSERT ON asset BEGIN
      INSERT INTO changedObject VALUES (\(token), 0, NEW.id, 0, 0, 0)
        ON CONFLICT DO UPDATE SET event = 1, isContentChanged = 1, isPlaceOnly = 0;
    END;
    CREATE TRIGGER noteUpdatedAsset AFTER UPDATE OF \(list(assetColumns + placeColumns + ["revision"])) ON asset
      WHEN \(differ(assetColumns + placeColumns + ["revision"]))
    BEGIN
      INSERT INTO changedObject
        VALUES (\(token), 0, NEW.id, 1, NEW.contentVersion <> OLD.contentVersion, \(isPlaceOnly))
        ON CONFLICT DO UPDATE SET isContentChanged = max(isContentChanged, excluded.isContentChanged),
          isPlaceOnly = min(isPlaceOnly, excluded.isPlaceOnly);
      UPDATE asset SET revision = \(token), placelessRevision = \(placelessRevision)
        WHERE id = NEW.id AND (revision <> \(token) OR placelessRevision IS NOT \(placelessRevision));
    END;
    -- What came and went with one change was never there.
    CREATE TRIGGER noteDeletedAsset AFTER DELETE ON asset BEGIN
      INSERT INTO changedObject VALUES (\(token), 0, OLD.id, 2, 0, 0)
        ON CONFLICT DO UPDATE SET event = CASE event WHEN 0 THEN 3 ELSE 2 END, isContentChanged = 0, isPlaceOnly = 0;
      DELETE FROM changedObject WHERE token = \(token) AND kind = 0 AND object = OLD.id AND event = 3;
    END;
    -- An asset may come back, and go again.
    DROP TRIGGER rememberDeletedAsset;
    CREATE TRIGGER rememberDeletedAsset AFTER DELETE ON asset BEGIN
      INSERT OR REPLACE INTO deletedAsset VALUES (OLD.id, OLD.localIdentifier, \(token));
    END;

    -- A folder changes with what is in it.
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

    -- An album changes with its members.
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
