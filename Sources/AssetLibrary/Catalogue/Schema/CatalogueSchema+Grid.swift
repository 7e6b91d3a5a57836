// Migration 8: a grid of ten thousand cells is read off one index, a few hundred pages in a row, and not off ten thousand
// rows, each of which may lie on a page of its own that the disk has to look for.

extension CatalogueSchema {
  static let grid = """
    -- A placeholder is of the content that there is, or it is none: then it may be shown without a look at the versions.
    UPDATE asset SET placeholder = NULL WHERE placeholder IS NOT NULL AND placeholderVersion IS NOT contentVersion;
    CREATE TRIGGER forgetPlaceholder AFTER UPDATE OF contentVersion ON asset
      WHEN NEW.placeholder IS NOT NULL AND NEW.contentVersion <> OLD.contentVersion
    BEGIN
      UPDATE asset SET placeholder = NULL WHERE id = NEW.id;
    END;

    -- All that `layout=columns` shows is in it, in the order of a library's listing. What is listed is written out: a generated
    -- column would make SQLite look at the row after all.
    CREATE INDEX gridByDate ON asset (
      creationDate DESC, localIdentifier, pixelWidth, pixelHeight, isFavorite, placeholder, isHidden, burstIdentifier,
      representsBurst, burstSelectionTypes
    ) WHERE \(listed);
    """

  /// `listing = 0`, by an asset's own columns.
  static let listed =
    "isHidden = 0 AND (burstIdentifier IS NULL OR representsBurst <> 0 OR burstSelectionTypes <> 0)"
}
