// Libraries. The whole library is row 0. Each other row is a limited library, which stands for one set of granted
// collections and has rows of its own for each visible collection and asset. So every read says `library = ?`, starts
// at rows of that library and reaches others by key. It never reads, skips or counts an invisible object, and looking
// one up takes the same steps and time as looking up one that never existed.

extension CatalogueSchema {
  static let libraries = """
    -- Single values of the catalogue: see CatalogueValue.
    CREATE TABLE catalogueValue (
      name TEXT PRIMARY KEY,
      value ANY
    ) STRICT;
    INSERT INTO catalogueValue VALUES \(CatalogueValue.allCases.compactMap(\.initialRow).joined(separator: ", "));

    CREATE TABLE library (
      -- 0 is the whole library. Never reused.
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      -- A digest of the identifiers of the granted collections; longer while the library is being created (see
      -- LimitedLibraryCreation); NULL for the whole library.
      granted BLOB UNIQUE,
      -- The token of the last visible change, in all and without location-only changes. Other changes do not move them.
      -- Within a change, the revision of the whole library is already the change's token.
      revision INTEGER NOT NULL,
      nonLocationRevision INTEGER NOT NULL,
      -- The time of the running or last change, in milliseconds since 1970; not maintained for limited libraries.
      changeDate INTEGER NOT NULL DEFAULT 0,
      -- The approximate number of objects that the change `revision` changed; not maintained for the whole library.
      objects INTEGER NOT NULL DEFAULT 0,
      -- The token at its creation: its history begins there. The highest number while it is being created.
      createdRevision INTEGER NOT NULL,
      -- The last use, in milliseconds since 1970, accurate to a day. Unused limited libraries are deleted.
      usedDate INTEGER NOT NULL,
      CHECK ((id = 0) = (granted IS NULL))
    ) STRICT;

    -- The granted collections of limited libraries.
    CREATE TABLE libraryGrant (
      localIdentifier TEXT NOT NULL,
      library INTEGER NOT NULL REFERENCES library (id) ON DELETE CASCADE,
      PRIMARY KEY (localIdentifier, library)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX libraryGrantByLibrary ON libraryGrant (library);

    -- Stored counters, because counting a million rows takes a tenth of a second: the number of assets for each value
    -- of `listing`, and how many of them are of each kind.
    CREATE TABLE counter (
      library INTEGER NOT NULL REFERENCES library (id) ON DELETE CASCADE,
      listing INTEGER NOT NULL,
      assets INTEGER NOT NULL DEFAULT 0,
      favorites INTEGER NOT NULL DEFAULT 0,
      videos INTEGER NOT NULL DEFAULT 0,
      panoramas INTEGER NOT NULL DEFAULT 0,
      bursts INTEGER NOT NULL DEFAULT 0,
      screenshots INTEGER NOT NULL DEFAULT 0,
      hdr INTEGER NOT NULL DEFAULT 0,
      depthEffect INTEGER NOT NULL DEFAULT 0,
      livePhotos INTEGER NOT NULL DEFAULT 0,
      raw INTEGER NOT NULL DEFAULT 0,
      hidden INTEGER NOT NULL DEFAULT 0,
      images INTEGER NOT NULL DEFAULT 0,
      slomos INTEGER NOT NULL DEFAULT 0,
      timelapses INTEGER NOT NULL DEFAULT 0,
      selfPortraits INTEGER NOT NULL DEFAULT 0,
      animated INTEGER NOT NULL DEFAULT 0,
      longExposures INTEGER NOT NULL DEFAULT 0,
      cinematic INTEGER NOT NULL DEFAULT 0,
      spatial INTEGER NOT NULL DEFAULT 0,
      screenRecordings INTEGER NOT NULL DEFAULT 0,
      renderable INTEGER NOT NULL DEFAULT 0,
      PRIMARY KEY (library, listing)
    ) STRICT, WITHOUT ROWID;
    CREATE TRIGGER createCounters AFTER INSERT ON library BEGIN
      INSERT INTO counter (library, listing) VALUES (NEW.id, 0), (NEW.id, 1), (NEW.id, 2), (NEW.id, 3);
    END;

    -- The number of assets of each `localDay`, for each value of `listing`.
    CREATE TABLE dayCount (
      library INTEGER NOT NULL REFERENCES library (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
      day INTEGER NOT NULL,
      listing INTEGER NOT NULL,
      value INTEGER NOT NULL,
      PRIMARY KEY (library, day, listing)
    ) STRICT, WITHOUT ROWID;

    -- Days whose moments must be recomputed.
    CREATE TABLE staleDay (
      library INTEGER NOT NULL REFERENCES library (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
      day INTEGER NOT NULL,
      PRIMARY KEY (library, day)
    ) STRICT, WITHOUT ROWID;

    INSERT INTO library (id, revision, nonLocationRevision, createdRevision, usedDate) VALUES (0, 0, 0, 0, 0);
    """

  /// The columns of `counter`, by their bit in `counted`.
  static let counters = [
    "assets", "favorites", "videos", "panoramas", "bursts", "screenshots", "hdr", "depthEffect", "livePhotos", "raw",
    "hidden", "images", "slomos", "timelapses", "selfPortraits", "animated", "longExposures", "cinematic", "spatial",
    "screenRecordings", "renderable",
  ]
  /// The bit of `counted` of assets that can be rendered.
  static let renderableBit = 20
}
