// Migration 6: the trash. What is in it is no asset any more, so it is in no table of assets; all that it takes to make it
// the same asset again is kept beside it.

extension CatalogueSchema {
  static let trash = """
    -- An asset in the trash, or on its way there, back or out of it.
    CREATE TABLE trash (
      id INTEGER PRIMARY KEY,
      -- The asset's, which it has again when it comes back.
      localIdentifier TEXT NOT NULL UNIQUE,
      -- An intent is written before the first file moves: deleting (the asset is still in the library), restoring (it is
      -- in the trash until the files are back), purging (its files are being removed for good). One that a start finds was
      -- left half way.
      state TEXT NOT NULL CHECK (state IN ('deleting', 'trashed', 'restoring', 'purging')),
      -- Milliseconds since 1970.
      deletedDate INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX trashByDate ON trash (deletedDate);
    CREATE INDEX trashUnderWay ON trash (id) WHERE state <> 'trashed';

    -- Its files: bytes below the library's root, in the library and in the trash.
    CREATE TABLE trashFile (
      trash INTEGER NOT NULL REFERENCES trash (id) ON DELETE CASCADE,
      -- 0 is the picture or video itself.
      place INTEGER NOT NULL,
      path BLOB NOT NULL,
      trashPath BLOB NOT NULL,
      PRIMARY KEY (trash, place)
    ) STRICT, WITHOUT ROWID;

    -- The rows that it had, by the names of their columns: those of the asset (file -1), and of each file by its place.
    CREATE TABLE trashValue (
      trash INTEGER NOT NULL REFERENCES trash (id) ON DELETE CASCADE,
      file INTEGER NOT NULL,
      name TEXT NOT NULL,
      value ANY,
      PRIMARY KEY (trash, file, name)
    ) STRICT, WITHOUT ROWID;

    -- The albums that it was in, by their names: an album's number may be given to another one. `position` is NULL where
    -- it only stood for the album.
    CREATE TABLE trashPlace (
      trash INTEGER NOT NULL REFERENCES trash (id) ON DELETE CASCADE,
      collection TEXT NOT NULL,
      position INTEGER,
      isKeyAsset INTEGER NOT NULL CHECK (isKeyAsset IN (0, 1)),
      PRIMARY KEY (trash, collection)
    ) STRICT, WITHOUT ROWID;
    """
}
