// Staged uploads: files that clients send in several requests, before they become assets.

extension CatalogueSchema {
  static let uploads = """
    -- Its bytes are in the file .photod-staged/IDENTIFIER. The size of that file is the offset of the upload.
    CREATE TABLE stagedUpload (
      id INTEGER PRIMARY KEY,
      identifier TEXT NOT NULL UNIQUE,
      -- The name of the principal that it belongs to.
      owner TEXT NOT NULL,
      -- As the client gave it.
      filename TEXT,
      -- In bytes; NULL while it is unknown.
      length INTEGER,
      isComplete INTEGER NOT NULL DEFAULT 0 CHECK (isComplete IN (0, 1)),
      -- Milliseconds since 1970: when it was made or last received bytes.
      usedDate INTEGER NOT NULL,
      -- The intent of a change that makes an asset of it, written before the file moves: where the file goes, below the
      -- library's root, and its inode there. NULL: no change is under way. The row goes when the change is committed.
      path BLOB,
      inode INTEGER
    ) STRICT;
    CREATE INDEX stagedUploadByDate ON stagedUpload (usedDate);
    CREATE INDEX stagedUploadUnderWay ON stagedUpload (id) WHERE path IS NOT NULL;
    """
}
