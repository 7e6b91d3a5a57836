// Migration 8: a covering index for grids. A grid of ten thousand cells is read from a few hundred consecutive pages of
// one index, and not from ten thousand rows, each of which may be a random read from the disk.

extension CatalogueSchema {
  static let grid = """
    -- A placeholder always belongs to the current content, or is NULL, so it can be shown without comparing versions.
    UPDATE asset SET placeholder = NULL WHERE placeholder IS NOT NULL AND placeholderVersion IS NOT contentVersion;
    CREATE TRIGGER forgetPlaceholder AFTER UPDATE OF contentVersion ON asset
      WHEN NEW.placeholder IS NOT NULL AND NEW.contentVersion <> OLD.contentVersion
    BEGIN
      UPDATE asset SET placeholder = NULL WHERE id = NEW.id;
    END;

    -- Contains every column of `layout=columns`, in the order of a listing of the library. The condition on `listing`
    -- is written out, because SQLite would read the row to compute a generated column.
    CREATE INDEX gridByDate ON asset (
      creationDate DESC, localIdentifier, pixelWidth, pixelHeight, isFavorite, placeholder, isHidden, burstIdentifier,
      representsBurst, burstSelectionTypes
    ) WHERE \(listed);
    """

  /// `listing = 0`, expressed by the asset's stored columns.
  static let listed =
    "isHidden = 0 AND (burstIdentifier IS NULL OR representsBurst <> 0 OR burstSelectionTypes <> 0)"
}
