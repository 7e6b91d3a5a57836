// Contents that no asset has, because their asset was deleted or edited: what was made of them is still on the disk.
// See `Catalogue.formerContents`.

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

    -- A content that comes back soon is still in the table if it comes with a new row, which costs scans nothing that way.
    -- Then its pictures are made again.
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

  /// A statement that notes the contents of the old row that meet a condition.
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
