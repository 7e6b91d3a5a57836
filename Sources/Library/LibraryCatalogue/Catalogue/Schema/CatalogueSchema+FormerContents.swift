// Contents that their assets no longer have, because they were deleted or edited. Cached pictures of these contents are
// still on the disk: see `Catalogue.formerContents`.

import PhotoModel

extension CatalogueSchema {
  static let formerContents = """
    CREATE TABLE formerContent (
      -- See ContentVersion.content.
      content TEXT PRIMARY KEY,
      -- Milliseconds since 1970.
      since INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX formerContentByDate ON formerContent (since);

    -- An insertion of an asset does not delete its content from this table, which would slow down scans. So a content
    -- that comes back with a new row is rendered again.
    CREATE TRIGGER noteDeletedContent AFTER DELETE ON asset BEGIN
      \(note("1"))
    END;
    CREATE TRIGGER noteFormerContent AFTER UPDATE OF contentVersion, unadjustedVersion ON asset
      WHEN NEW.contentVersion <> OLD.contentVersion OR NEW.unadjustedVersion IS NOT OLD.unadjustedVersion
    BEGIN
      \(note("content NOT IN (\(content("NEW.contentVersion")), coalesce(\(content("NEW.unadjustedVersion")), ''))"))
      DELETE FROM formerContent
        WHERE content IN (\(content("NEW.contentVersion")), \(content("NEW.unadjustedVersion")));
    END;
    """

  private static func content(_ version: String) -> String { "substr(\(version), 1, \(ContentVersion.contentLength))" }

  /// A statement that records those contents of the old row that meet a condition.
  private static func note(_ condition: String) -> String {
    """
    INSERT INTO formerContent
        SELECT content, \(changeDate)
        FROM (SELECT \(content("OLD.contentVersion")) AS content UNION SELECT \(content("OLD.unadjustedVersion")))
        WHERE content IS NOT NULL AND \(condition)
        ON CONFLICT DO UPDATE SET since = excluded.since;
    """
  }
}
