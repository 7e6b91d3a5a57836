// The history of changes, written by triggers. They also set an object's revision to the token of its last change,
// and an asset's modification date to the time of that change. The lists of columns below define a change; files,
// placeholders and moments are not part of it.
//
// All libraries share one history. The part that a limited library sees follows from its objects, and from the changes
// with which they entered and left it (`changedVisibility`). Its own `revision` and rows of `change` are not affected
// by invisible changes, or by pruning of other libraries' history.

extension CatalogueSchema {
  /// The columns of an asset that clients see, without its location.
  private static let assetColumns = [
    "contentVersion", "mediaType", "mediaSubtypes", "sourceType", "uniformTypeIdentifier", "isRAW", "originalFilename",
    "fileSize", "pixelWidth", "pixelHeight", "orientation", "hasAlpha", "duration", "creationDate",
    "creationDateSource", "utcOffset", "fileModificationDate", "cameraMake", "cameraModel", "isFavorite", "isHidden",
    "keepsOriginal", "adjustments", "burstIdentifier", "representsBurst", "burstSelectionTypes", "lensModel", "rating",
    "title",
    "keywords", "people", "regions", "rights", "license", "caption", "isSelfPortrait", "isAnimated", "isLongExposure",
  ]
  private static let placeColumns = ["latitude", "longitude", "altitude", "placeCity", "placeRegion", "placeCountry"]
  /// Without the position: a collection keeps its place when its neighbours are renumbered to make room. Code that
  /// moves a collection sets its revision and that of the folder.
  private static let collectionColumns = ["type", "subtype", "title", "parent", "keyAsset", "keepsOriginals"]

  private static func list(_ columns: [String], of row: String = "") -> String {
    columns.map { row.isEmpty ? $0 : "\(row).\($0)" }.joined(separator: ", ")
  }

  private static func differ(_ columns: [String]) -> String {
    "(\(list(columns, of: "NEW"))) IS NOT (\(list(columns, of: "OLD")))"
  }

  // CASE instead of AND: SQLite evaluates both sides of an AND whose value is stored.
  private static let isLocationOnly =
    "(CASE WHEN \(differ(placeColumns)) THEN NOT (\(differ(assetColumns))) ELSE 0 END)"
  /// The revision for principals without the location scope: unchanged if only the location changed.
  private static let nonLocationRevision =
    "CASE WHEN \(isLocationOnly) THEN coalesce(OLD.nonLocationRevision, OLD.revision) END"
  private static let nonLocationModificationDate =
    "CASE WHEN \(isLocationOnly) THEN coalesce(OLD.nonLocationModificationDate, OLD.modificationDate) END"

  static let changes = """
    -- The commits that changed a library. The newest pruned row is kept, and the newest one of more than locations.
    CREATE TABLE change (
      library INTEGER NOT NULL REFERENCES library (id) ON DELETE CASCADE,
      token INTEGER NOT NULL,
      -- Milliseconds since 1970.
      time INTEGER NOT NULL,
      -- The number of its rows in changedObject and changedMember; approximate for limited libraries.
      objects INTEGER NOT NULL,
      -- Invisible to principals without the location scope.
      isLocationOnly INTEGER NOT NULL,
      PRIMARY KEY (library, token)
    ) STRICT, WITHOUT ROWID;
    -- The objects that a commit changed, each once.
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
      -- Only the asset's location changed, or the names of its place.
      isLocationOnly INTEGER NOT NULL,
      PRIMARY KEY (token, kind, object)
    ) STRICT, WITHOUT ROWID;
    -- The members of albums, and the assets of folders, that a commit changed.
    CREATE TABLE changedMember (
      token INTEGER NOT NULL,
      collection INTEGER NOT NULL,
      asset INTEGER NOT NULL,
      -- 0 added, 1 moved, 2 removed. Assets of folders are not moved.
      event INTEGER NOT NULL,
      PRIMARY KEY (token, collection, asset)
    ) STRICT, WITHOUT ROWID;
    -- The objects that a commit made visible or invisible to a limited library, each once. One that enters and leaves
    -- within one commit, or leaves and enters again, has no row. The history of a library begins after its creation.
    CREATE TABLE changedVisibility (
      library INTEGER NOT NULL REFERENCES library (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
      -- As in changedObject.
      kind INTEGER NOT NULL,
      token INTEGER NOT NULL,
      object INTEGER NOT NULL,
      -- 0 entered, 2 left.
      event INTEGER NOT NULL,
      PRIMARY KEY (library, kind, token, object)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX changedVisibilityByObject ON changedVisibility (library, kind, object, token, event);
    CREATE INDEX changedVisibilityByToken ON changedVisibility (token);
    -- The identifiers of objects that left a library, or were deleted, for histories and for fetch results that still
    -- list them. An object that was in the library in no state has no row.
    CREATE TABLE removedObject (
      library INTEGER NOT NULL REFERENCES library (id) ON DELETE CASCADE,
      -- As in changedObject.
      kind INTEGER NOT NULL CHECK (kind IN (0, 1)),
      object INTEGER NOT NULL,
      localIdentifier TEXT NOT NULL,
      -- The token of the change with which it last left.
      token INTEGER NOT NULL,
      PRIMARY KEY (library, kind, object)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX removedObjectByIdentifier ON removedObject (library, kind, localIdentifier);
    CREATE INDEX removedObjectByToken ON removedObject (token);

    -- An asset that is deleted and inserted again within one change counts as updated, with possibly new content.
    CREATE TRIGGER noteInsertedAsset AFTER INSERT ON asset BEGIN
      INSERT INTO changedObject VALUES (\(token), 0, NEW.id, 0, 0, 0) ON CONFLICT DO NOTHING;
      UPDATE changedObject SET event = 1, isContentChanged = 1, isLocationOnly = 0
        WHERE token = \(token) AND kind = 0 AND object = NEW.id AND event <> 0;
    END;
    CREATE TRIGGER noteUpdatedAsset AFTER UPDATE OF \(list(assetColumns + placeColumns + ["revision"])) ON asset
      WHEN \(differ(assetColumns + placeColumns + ["revision"]))
    BEGIN
      INSERT INTO changedObject
        VALUES (\(token), 0, NEW.id, 1, NEW.contentVersion <> OLD.contentVersion, \(isLocationOnly))
        ON CONFLICT DO UPDATE SET isContentChanged = max(isContentChanged, excluded.isContentChanged),
          isLocationOnly = min(isLocationOnly, excluded.isLocationOnly);
      UPDATE asset SET revision = \(token), nonLocationRevision = \(nonLocationRevision),
          modificationDate = max(modificationDate, \(changeDate)),
          nonLocationModificationDate = \(nonLocationModificationDate)
        WHERE id = NEW.id AND (revision <> \(token) OR nonLocationRevision IS NOT \(nonLocationRevision)
          OR modificationDate < \(changeDate)
          OR nonLocationModificationDate IS NOT \(nonLocationModificationDate));
    END;
    -- An asset that is inserted and deleted within one change leaves no entry.
    CREATE TRIGGER noteDeletedAsset AFTER DELETE ON asset BEGIN
      INSERT INTO changedObject VALUES (\(token), 0, OLD.id, 2, 0, 0)
        ON CONFLICT DO UPDATE SET event = CASE event WHEN 0 THEN 3 ELSE 2 END, isContentChanged = 0, isLocationOnly = 0;
      DELETE FROM changedObject WHERE token = \(token) AND kind = 0 AND object = OLD.id AND event = 3;
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
    -- The assets of a folder change with the albums below it, at any depth, which is no change of the folder itself.
    CREATE TRIGGER noteAssetOfFolder AFTER INSERT ON folderAsset BEGIN
      \(toggle("changedMember", ["collection": "NEW.folder", "asset": "NEW.asset"], event: 0))
    END;
    CREATE TRIGGER noteAssetOutOfFolder AFTER DELETE ON folderAsset BEGIN
      \(toggle("changedMember", ["collection": "OLD.folder", "asset": "OLD.asset"], event: 2))
    END;

    CREATE TRIGGER noteEnteredAsset AFTER INSERT ON libraryAsset WHEN \(hasHistory("NEW")) BEGIN
      \(toggle("changedVisibility", ["library": "NEW.library", "kind": "0", "object": "NEW.asset"], event: 0))
    END;
    CREATE TRIGGER noteLeftAsset AFTER DELETE ON libraryAsset WHEN \(hasHistory("OLD")) BEGIN
      \(toggle("changedVisibility", ["library": "OLD.library", "kind": "0", "object": "OLD.asset"], event: 2))
    END;
    CREATE TRIGGER noteEnteredCollection AFTER INSERT ON libraryCollection WHEN \(hasHistory("NEW")) BEGIN
      \(toggle("changedVisibility", ["library": "NEW.library", "kind": "1", "object": "NEW.collection"], event: 0))
    END;
    CREATE TRIGGER noteLeftCollection AFTER DELETE ON libraryCollection WHEN \(hasHistory("OLD")) BEGIN
      \(toggle("changedVisibility", ["library": "OLD.library", "kind": "1", "object": "OLD.collection"], event: 2))
    END;

    -- Objects that leave a library. If the library itself is being deleted, no reader needs them.
    CREATE TRIGGER noteRemovedAsset AFTER DELETE ON libraryAsset
      WHEN EXISTS (SELECT 1 FROM library WHERE id = OLD.library)
    BEGIN
      INSERT INTO removedObject SELECT OLD.library, 0, OLD.asset, OLD.localIdentifier, \(token) WHERE \(wasSeen)
        ON CONFLICT DO UPDATE SET localIdentifier = excluded.localIdentifier, token = excluded.token;
      \(revise("id = OLD.library AND id > 0"))
    END;
    CREATE TRIGGER noteRemovedCollection AFTER DELETE ON libraryCollection
      WHEN EXISTS (SELECT 1 FROM library WHERE id = OLD.library)
    BEGIN
      INSERT INTO removedObject SELECT OLD.library, 1, OLD.collection, OLD.localIdentifier, \(token) WHERE \(wasSeen)
        ON CONFLICT DO UPDATE SET localIdentifier = excluded.localIdentifier, token = excluded.token;
      \(revise("id = OLD.library AND id > 0"))
    END;

    -- The whole library is revised once a commit: see `Catalogue.change`.
    CREATE TRIGGER reviseWholeLibrary AFTER INSERT ON change WHEN NEW.library = 0 AND NEW.isLocationOnly = 0 BEGIN
      UPDATE library SET nonLocationRevision = NEW.token WHERE id = 0;
    END;
    -- A limited library is revised when an object enters it or leaves it, and when one of its objects is updated.
    CREATE TRIGGER reviseByAddedAsset AFTER INSERT ON libraryAsset WHEN NEW.library > 0 BEGIN
      \(revise("id = NEW.library"))
    END;
    CREATE TRIGGER reviseByAddedCollection AFTER INSERT ON libraryCollection WHEN NEW.library > 0 BEGIN
      \(revise("id = NEW.library"))
    END;
    CREATE TRIGGER reviseByUpdate AFTER INSERT ON changedObject
      WHEN NEW.event = 1 AND EXISTS (SELECT 1 FROM library WHERE id > 0)
    BEGIN
      \(revise(librariesOfChangedObject, isLocationOnly: "NEW.isLocationOnly"))
    END;
    CREATE TRIGGER reviseByFurtherUpdate AFTER UPDATE ON changedObject
      WHEN NEW.event = 1 AND (NEW.event <> OLD.event OR NEW.isLocationOnly < OLD.isLocationOnly)
        AND EXISTS (SELECT 1 FROM library WHERE id > 0)
    BEGIN
      \(revise(librariesOfChangedObject, isLocationOnly: "NEW.isLocationOnly"))
    END;
    """

  /// Whether a row of a library's objects belongs to a limited library whose history has begun. False if the library
  /// itself is being created or deleted.
  private static func hasHistory(_ row: String) -> String {
    "\(row).library > 0 AND \(token) > (SELECT createdRevision FROM library WHERE id = \(row).library)"
  }

  /// Whether any client could have read an object that leaves a library: not if it entered with the running change.
  private static let wasSeen = """
    OLD.library = 0 OR OLD.came < \(token)
            OR OLD.came = (SELECT createdRevision FROM library WHERE id = OLD.library)
    """

  /// Statements that record an event of the running change: 0 or 2. The opposite event of the same change cancels it.
  ///
  /// - Parameter key: the columns of the table's key with their values, except for the token.
  private static func toggle(_ table: String, _ key: KeyValuePairs<String, String>, event: Int) -> String {
    let columns = key.map { $0.key }.joined(separator: ", ")
    let values = key.map { $0.value }.joined(separator: ", ")
    let row = key.map { "\($0.key) = \($0.value)" }.joined(separator: " AND ")
    return """
      INSERT INTO \(table) (token, \(columns), event) SELECT \(token), \(values), \(event)
              WHERE NOT EXISTS (SELECT 1 FROM \(table) WHERE token = \(token) AND \(row));
            DELETE FROM \(table) WHERE token = \(token) AND \(row) AND event = \(2 - event);
      """
  }

  /// The limited libraries that have the object of a row of `changedObject`.
  private static let librariesOfChangedObject = """
    id IN (SELECT library FROM libraryAsset WHERE NEW.kind = 0 AND asset = NEW.object AND library > 0
            UNION ALL SELECT library FROM libraryCollection
              WHERE NEW.kind = 1 AND collection = NEW.object AND library > 0)
    """

  /// A statement that makes the running change visible in limited libraries.
  private static func revise(_ libraries: String, isLocationOnly: String = "0") -> String {
    """
    UPDATE library SET revision = \(token),
          nonLocationRevision = CASE \(isLocationOnly) WHEN 0 THEN \(token) ELSE nonLocationRevision END,
          objects = CASE revision WHEN \(token) THEN objects ELSE 0 END + 1
          WHERE \(libraries);
    """
  }
}
