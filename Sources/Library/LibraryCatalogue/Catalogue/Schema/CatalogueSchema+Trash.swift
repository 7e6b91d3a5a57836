// The trash, and assets whose files another program removed. Neither has a row in `asset`; these tables hold everything
// that is needed to restore the same asset.

extension CatalogueSchema {
  static let trash = """
    -- Assets that are in the trash, or are being moved into it, moved out of it or purged; and assets with user values
    -- whose files are missing.
    CREATE TABLE trash (
      id INTEGER PRIMARY KEY,
      -- The asset's identifier, which it gets back when it is restored.
      localIdentifier TEXT NOT NULL UNIQUE,
      -- The intent, written before the first file moves: deleting (the asset is still in the library), restoring (it
      -- stays in the trash until its files are back), purging (its files are being removed permanently). An intent
      -- found at startup was interrupted. A missing asset comes back with its file.
      state TEXT NOT NULL CHECK (state IN ('deleting', 'trashed', 'restoring', 'purging', 'missing')),
      -- Milliseconds since 1970.
      deletedDate INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX trashByDate ON trash (deletedDate);
    CREATE INDEX trashUnderWay ON trash (id) WHERE state NOT IN ('trashed', 'missing');
    CREATE INDEX missingAssets ON trash (id) WHERE state = 'missing';

    -- Its files: paths in the library and in the trash, in bytes relative to the library's root.
    CREATE TABLE trashFile (
      trash INTEGER NOT NULL REFERENCES trash (id) ON DELETE CASCADE,
      -- 0 is the primary file. Sidecars begin at 1000.
      place INTEGER NOT NULL,
      path BLOB NOT NULL,
      -- Empty if the file is missing.
      trashPath BLOB NOT NULL,
      PRIMARY KEY (trash, place)
    ) STRICT, WITHOUT ROWID;
    -- This index and trashByFingerprint find a missing asset by its file.
    CREATE INDEX trashByPath ON trashFile (path) WHERE place = 0;
    -- For comparisons of all files in the trash with their records, and for those of one disk.
    CREATE INDEX trashByTrashPath ON trashFile (trashPath);

    -- The values of the asset's former rows, by column name: of the asset (file -1), and of each file by its `place`.
    CREATE TABLE trashValue (
      trash INTEGER NOT NULL REFERENCES trash (id) ON DELETE CASCADE,
      file INTEGER NOT NULL,
      name TEXT NOT NULL,
      value ANY,
      PRIMARY KEY (trash, file, name)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX trashByFingerprint ON trashValue (value) WHERE file = 0 AND name = 'fingerprint';

    -- The albums that the asset was in, by identifier. `position` is NULL if it was only the key asset.
    CREATE TABLE trashPlace (
      trash INTEGER NOT NULL REFERENCES trash (id) ON DELETE CASCADE,
      collection TEXT NOT NULL,
      position INTEGER,
      isKeyAsset INTEGER NOT NULL CHECK (isKeyAsset IN (0, 1)),
      PRIMARY KEY (trash, collection)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX trashPlaceByCollection ON trashPlace (collection, position);

    -- The contents of recently purged files, so that an import can skip them. Dates and names are not kept.
    CREATE TABLE purgedContent (
      -- Ascends, so the oldest rows are deleted first.
      id INTEGER PRIMARY KEY,
      fingerprint BLOB NOT NULL,
      -- See ContentDigest.
      digest BLOB NOT NULL,
      UNIQUE (fingerprint, digest)
    ) STRICT;
    -- A file with a purged content had come back and is removed again: by the trash, which records it at the next
    -- purge, or by another program. The content is forgotten only now, because a trigger on insertions would slow down
    -- every scan.
    CREATE TRIGGER forgetPurgedContent AFTER DELETE ON file WHEN OLD.fingerprint IS NOT NULL BEGIN
      DELETE FROM purgedContent WHERE fingerprint = OLD.fingerprint;
    END;
    """
}
