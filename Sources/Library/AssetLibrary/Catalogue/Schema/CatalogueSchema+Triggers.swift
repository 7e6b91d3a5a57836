// Migration 10: cheaper triggers with the same effect.
//
// A trigger slows down every statement that may fire it, even if it has nothing to do, and its own statements may fire
// further triggers. So each trigger names the columns that it depends on, and tests rare conditions first.
//
// SQLite journals the pages that a statement changes if the statement may fail after part of its work. The insertion of
// an asset can't fail that way: it is INSERT OR ROLLBACK, and its triggers inherit that. So none of them uses OR
// IGNORE, ON CONFLICT DO UPDATE or a function, and the table has no CHECK that calls one.

import GRDB

extension CatalogueSchema {
  /// The length check of a placeholder, exactly as migration 3 writes it into the table.
  private static let placeholderCheck = " CHECK (length(placeholder) <= 64)"

  static func triggersForLess(_ db: Database) throws {
    // Removes a constraint from a table (https://www.sqlite.org/lang_altertable.html#otheralter).
    try db.execute(sql: "PRAGMA writable_schema = ON")
    try db.execute(
      sql: "UPDATE sqlite_master SET sql = replace(sql, ?, '') WHERE type = 'table' AND name = 'asset'",
      arguments: [placeholderCheck])
    try db.execute(sql: "PRAGMA writable_schema = RESET")
    try db.execute(sql: triggersForLess)
  }

  /// The columns that `listing` and `counted` are computed from; a trigger can't name a generated column.
  private static let listingColumns = "isHidden, burstIdentifier, representsBurst, burstSelectionTypes"
  private static let countedColumns = "mediaType, mediaSubtypes, isRAW, isFavorite, \(listingColumns)"

  private static let tokenOfChange = "(SELECT value FROM library WHERE key = 'token')"

  private static let triggersForLess = """
    CREATE TRIGGER boundPlaceholder AFTER UPDATE OF placeholder ON asset WHEN length(NEW.placeholder) > 64 BEGIN
      SELECT RAISE(ABORT, 'a placeholder of more than 64 bytes');
    END;

    DROP TRIGGER countChangedAsset;
    CREATE TRIGGER countChangedAsset AFTER UPDATE OF \(countedColumns) ON asset
      WHEN NEW.counted <> OLD.counted OR NEW.listing <> OLD.listing
    BEGIN
      UPDATE counter SET value = value + (NEW.counted >> bit & 1) - (OLD.counted >> bit & 1)
        WHERE NEW.listing = OLD.listing AND listing = NEW.listing
          AND (NEW.counted >> bit & 1) <> (OLD.counted >> bit & 1);
      UPDATE counter SET value = value - 1
        WHERE NEW.listing <> OLD.listing AND listing = OLD.listing AND OLD.counted >> bit & 1;
      UPDATE counter SET value = value + 1
        WHERE NEW.listing <> OLD.listing AND listing = NEW.listing AND NEW.counted >> bit & 1;
    END;
    DROP TRIGGER followAssetOfMember;
    CREATE TRIGGER followAssetOfMember AFTER UPDATE OF creationDate, \(listingColumns) ON asset
      WHEN NEW.listing <> OLD.listing OR NEW.creationDate <> OLD.creationDate
    BEGIN
      UPDATE member SET listing = NEW.listing, creationDate = NEW.creationDate WHERE asset = NEW.id;
    END;

    DROP TRIGGER dayOfInsertedAsset;
    CREATE TRIGGER dayOfInsertedAsset AFTER INSERT ON asset BEGIN
      INSERT INTO dayCount VALUES (\(day("NEW.creationDate")), NEW.listing, 0) ON CONFLICT DO NOTHING;
      UPDATE dayCount SET value = value + 1 WHERE day = \(day("NEW.creationDate")) AND listing = NEW.listing;
      INSERT INTO staleDay VALUES (\(day("NEW.creationDate"))) ON CONFLICT DO NOTHING;
    END;
    DROP TRIGGER dayOfChangedAsset;
    CREATE TRIGGER dayOfChangedAsset AFTER UPDATE OF creationDate, latitude, longitude, \(listingColumns) ON asset
      WHEN NEW.creationDate <> OLD.creationDate OR NEW.listing <> OLD.listing
        OR NEW.latitude IS NOT OLD.latitude OR NEW.longitude IS NOT OLD.longitude
    BEGIN
      UPDATE dayCount SET value = value - 1 WHERE day = \(day("OLD.creationDate")) AND listing = OLD.listing;
      INSERT INTO dayCount VALUES (\(day("NEW.creationDate")), NEW.listing, 1)
        ON CONFLICT DO UPDATE SET value = value + 1;
      INSERT OR IGNORE INTO staleDay VALUES (\(day("OLD.creationDate"))), (\(day("NEW.creationDate")));
    END;

    -- An asset that is deleted and inserted again within one change counts as updated, with possibly new content.
    DROP TRIGGER noteInsertedAsset;
    CREATE TRIGGER noteInsertedAsset AFTER INSERT ON asset BEGIN
      INSERT INTO changedObject VALUES (\(tokenOfChange), 0, NEW.id, 0, 0, 0) ON CONFLICT DO NOTHING;
      UPDATE changedObject SET event = 1, isContentChanged = 1, isLocationOnly = 0
        WHERE token = \(tokenOfChange) AND kind = 0 AND object = NEW.id AND event <> 0;
    END;

    DROP TRIGGER limitNotedChange;
    CREATE TRIGGER limitNotedChange AFTER INSERT ON changedObject
      WHEN NEW.event = 1 AND EXISTS (SELECT 1 FROM limitedLibrary)
    BEGIN
      \(noted)
    END;
    DROP TRIGGER limitNotedAgain;
    CREATE TRIGGER limitNotedAgain AFTER UPDATE ON changedObject
      WHEN NEW.event = 1 AND (NEW.event <> OLD.event OR NEW.isLocationOnly < OLD.isLocationOnly)
        AND EXISTS (SELECT 1 FROM limitedLibrary)
    BEGIN
      \(noted)
    END;
    """
}
