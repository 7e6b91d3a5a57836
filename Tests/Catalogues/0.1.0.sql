CREATE TABLE asset (
  -- Never reused: a stored list of row numbers must not show another asset in place of a deleted one.
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  -- Unique and looked up in `libraryAsset`.
  localIdentifier TEXT NOT NULL,
  -- Ends with `regionsVersion`.
  contentVersion TEXT NOT NULL,
  -- The token of the last change to its properties, and of the last one that is visible without the location scope;
  -- NULL means `revision`.
  revision INTEGER NOT NULL,
  nonLocationRevision INTEGER,
  -- PhotoKit's numbers: PHAssetMediaType, PHAssetMediaSubtype, PHAssetSourceType.
  mediaType INTEGER NOT NULL CHECK (mediaType BETWEEN 0 AND 3),
  mediaSubtypes INTEGER NOT NULL DEFAULT 0,
  sourceType INTEGER NOT NULL DEFAULT 1,
  uniformTypeIdentifier TEXT NOT NULL,
  -- Any of its files is RAW.
  isRAW INTEGER NOT NULL DEFAULT 0 CHECK (isRAW IN (0, 1)),
  -- Taken with a front camera; moving pictures in one file; exposed for a second or longer.
  isSelfPortrait INTEGER NOT NULL DEFAULT 0 CHECK (isSelfPortrait IN (0, 1)),
  isAnimated INTEGER NOT NULL DEFAULT 0 CHECK (isAnimated IN (0, 1)),
  isLongExposure INTEGER NOT NULL DEFAULT 0 CHECK (isLongExposure IN (0, 1)),
  -- A decoder exists for its uniform type: see `Catalogue.setRenderableTypes`.
  hasDecoder INTEGER NOT NULL DEFAULT 1 CHECK (hasDecoder IN (0, 1)),
  -- For display: bytes that are not valid UTF-8 appear as U+FFFD. The exact name is in `file`.
  originalFilename TEXT NOT NULL,
  fileSize INTEGER NOT NULL,
  -- Of the picture after its orientation and its adjustments are applied.
  pixelWidth INTEGER NOT NULL,
  pixelHeight INTEGER NOT NULL,
  orientation INTEGER NOT NULL CHECK (orientation BETWEEN 1 AND 8),
  hasAlpha INTEGER NOT NULL CHECK (hasAlpha IN (0, 1)),
  -- Seconds.
  duration REAL NOT NULL DEFAULT 0,
  -- Milliseconds since 1970.
  creationDate INTEGER NOT NULL,
  creationDateSource TEXT NOT NULL,
  -- Minutes east of UTC, NULL if the file gives no offset.
  utcOffset INTEGER CHECK (utcOffset BETWEEN -2047 AND 2047),
  -- Seconds east of UTC of the library's time zone at `creationDate`. Decides the day if `utcOffset` is NULL.
  zoneOffset INTEGER NOT NULL DEFAULT 0,
  -- When the asset last changed: in any way, and in a way that is visible without the location scope; NULL means
  -- `modificationDate`.
  modificationDate INTEGER NOT NULL,
  nonLocationModificationDate INTEGER,
  -- Of the primary file.
  fileModificationDate INTEGER NOT NULL DEFAULT 0,
  -- When the asset was added to the library.
  addedDate INTEGER NOT NULL,
  latitude REAL,
  longitude REAL,
  altitude REAL,
  -- A user set the location, which takes precedence over the file's.
  hasUserLocation INTEGER NOT NULL DEFAULT 0 CHECK (hasUserLocation IN (0, 1)),
  cameraMake TEXT,
  cameraModel TEXT,
  lensModel TEXT,
  -- The names of the place, from the file; NULL once a user set another location. Visible only with the location
  -- scope.
  placeCity TEXT,
  placeRegion TEXT,
  placeCountry TEXT,
  -- The coordinates in the file, NULL if it names no place, and the names in it: the names return when a user sets
  -- these coordinates again.
  fileLatitude REAL,
  fileLongitude REAL,
  fileCity TEXT,
  fileRegion TEXT,
  fileCountry TEXT,
  isFavorite INTEGER NOT NULL DEFAULT 0 CHECK (isFavorite IN (0, 1)),
  isHidden INTEGER NOT NULL DEFAULT 0 CHECK (isHidden IN (0, 1)),
  -- The originals of a remote library stay on this machine: see `Catalogue.keptOriginals`.
  keepsOriginal INTEGER NOT NULL DEFAULT 0 CHECK (keepsOriginal IN (0, 1)),
  burstIdentifier TEXT,
  representsBurst INTEGER NOT NULL DEFAULT 0 CHECK (representsBurst IN (0, 1)),
  -- PHAssetBurstSelectionType.
  burstSelectionTypes INTEGER NOT NULL DEFAULT 0,
  -- Of a picture without a burst: the one that it was part of, until the others left the library.
  formerBurst TEXT,
  -- A ThumbHash of the current content, at most 64 bytes, and the content version for which one was last made. That
  -- version without a ThumbHash means that none can be made from the content.
  placeholder BLOB,
  placeholderVersion TEXT,
  -- Where the eye looks first, made with the placeholder: see StoredPoint.
  saliency INTEGER,
  -- xmp:Rating: -1 rejected, 0 unrated, 1 to 5 stars.
  rating INTEGER CHECK (rating BETWEEN -1 AND 5),
  -- The properties that a user set, which take precedence over the file's: 1 title, 2 caption, 4 keywords, 8 rating,
  -- 16 regions and people.
  userFields INTEGER NOT NULL DEFAULT 0,
  -- A digest of the regions that a user set, after a dot; empty if no user did.
  regionsVersion TEXT NOT NULL DEFAULT '',
  -- Last, because a long text continues on other pages, and the columns before it are read without them.
  title TEXT,
  -- JSON arrays of strings; NULL for none.
  keywords TEXT,
  people TEXT,
  -- JSON: see RegionList; NULL for none.
  regions TEXT,
  -- A statement, and the URI of a license.
  rights TEXT,
  license TEXT,
  caption TEXT,
  -- The operations of its adjustments that are rendered, as canonical JSON: `[]` if all are of another program. NULL:
  -- it has no adjustments.
  adjustments TEXT,
  -- 'user': a user set or reverted its adjustments, which decides from then on. 'imported': they follow the edit that
  -- another program left in its file or in a sidecar. NULL: it has none of either.
  adjustmentOrigin TEXT CHECK (adjustmentOrigin IN ('user', 'imported')),
  -- Adjustments in the format of another program, byte for byte, and their format; NULL for those of this one. The
  -- data of imported ones stay in their file, and are NULL here.
  adjustmentFormat TEXT,
  adjustmentFormatVersion TEXT,
  adjustmentData BLOB,
  -- The picture without its adjustments; NULL if it has none.
  unadjustedVersion TEXT,
  unadjustedWidth INTEGER,
  unadjustedHeight INTEGER,
  -- When adjustments were last set or reverted, in milliseconds since 1970.
  adjustmentDate INTEGER,
  -- Which listings include it: 0 all; 1 only those that include all burst assets (it is a burst picture that
  -- another one represents); 2 only those that include hidden assets; 3 only those that include both.
  listing INTEGER NOT NULL GENERATED ALWAYS AS (
    isHidden * 2 + (burstIdentifier IS NOT NULL AND representsBurst = 0 AND burstSelectionTypes = 0)) VIRTUAL,
  -- False if no picture can be made of it: it has no decoder, or its current content was found to be unreadable.
  isRenderable INTEGER NOT NULL GENERATED ALWAYS AS (
    hasDecoder AND (placeholder IS NOT NULL OR placeholderVersion IS NOT contentVersion)) VIRTUAL,
  -- A bit for each counter that counts it: see `counters`.
  counted INTEGER NOT NULL GENERATED ALWAYS AS (
    1 | (isFavorite << 1) | ((mediaType = 2) << 2) | ((mediaSubtypes & 1) << 3) | (representsBurst << 4)
      | ((mediaSubtypes >> 2 & 1) << 5) | ((mediaSubtypes >> 1 & 1) << 6) | ((mediaSubtypes >> 4 & 1) << 7)
      | ((mediaSubtypes >> 3 & 1) << 8) | (isRAW << 9) | (isHidden << 10) | ((mediaType = 1) << 11)
      | ((mediaSubtypes >> 17 & 1) << 12) | ((mediaSubtypes >> 18 & 1) << 13) | (isSelfPortrait << 14)
      | (isAnimated << 15) | (isLongExposure << 16) | ((mediaSubtypes >> 21 & 1) << 17)
      | ((mediaSubtypes >> 10 & 1) << 18) | ((mediaSubtypes >> 19 & 1) << 19) | (isRenderable << 20)) VIRTUAL,
  -- For grids, which read thousands of assets: several columns as one number, because reading a value costs more than
  -- its bytes. See `GridColumns`.
  dimensions INTEGER NOT NULL GENERATED ALWAYS AS (pixelWidth << 32 | pixelHeight) VIRTUAL,
  grid INTEGER NOT NULL GENERATED ALWAYS AS (
    mediaType | (isFavorite << 2) | (CASE WHEN utcOffset IS NULL THEN 0 ELSE utcOffset + 2048 END << 3)
      | (mediaSubtypes << 15)) VIRTUAL,
  -- The day on which it was taken, in days since 1970: of its own offset from UTC if known, otherwise of the
  -- library's time zone. CASE and not coalesce: see CatalogueSchema about functions.
  localDay INTEGER NOT NULL GENERATED ALWAYS AS (((creationDate + 1000 * CASE WHEN utcOffset IS NULL THEN zoneOffset ELSE utcOffset * 60 END) - (((creationDate + 1000 * CASE WHEN utcOffset IS NULL THEN zoneOffset ELSE utcOffset * 60 END) % 86400000) + 86400000) % 86400000) / 86400000) VIRTUAL
) STRICT;
CREATE TABLE catalogueValue (
  name TEXT PRIMARY KEY,
  value ANY
) STRICT;
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
CREATE TABLE changedMember (
  token INTEGER NOT NULL,
  collection INTEGER NOT NULL,
  asset INTEGER NOT NULL,
  -- 0 added, 1 moved, 2 removed. Assets of folders are not moved.
  event INTEGER NOT NULL,
  PRIMARY KEY (token, collection, asset)
) STRICT, WITHOUT ROWID;
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
CREATE TABLE collection (
  -- Never reused, like an asset's.
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  localIdentifier TEXT NOT NULL UNIQUE,
  -- PHAssetCollectionType or PHCollectionListType, by name; PhotoKit's subtype.
  type TEXT NOT NULL CHECK (type IN ('album', 'smartAlbum', 'folder')),
  subtype TEXT NOT NULL,
  title TEXT,
  -- The parent folder; NULL at the top level.
  parent INTEGER REFERENCES collection (id) ON DELETE CASCADE,
  -- Its position in the folder, ascending; with gaps.
  position INTEGER NOT NULL DEFAULT 0,
  keyAsset INTEGER REFERENCES asset (id) ON DELETE SET NULL,
  -- Of an album or folder: as `asset.keepsOriginal` of all of its assets.
  keepsOriginals INTEGER NOT NULL DEFAULT 0 CHECK (keepsOriginals IN (0, 1)),
  -- For a smart album: a predicate over asset keys, and sort descriptors.
  rule TEXT,
  ruleOrder TEXT,
  revision INTEGER NOT NULL,
  CHECK ((type = 'smartAlbum') = (rule IS NOT NULL))
) STRICT;
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
CREATE TABLE dayCount (
  library INTEGER NOT NULL REFERENCES library (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
  day INTEGER NOT NULL,
  listing INTEGER NOT NULL,
  value INTEGER NOT NULL,
  PRIMARY KEY (library, day, listing)
) STRICT, WITHOUT ROWID;
CREATE TABLE file (
  id INTEGER PRIMARY KEY,
  asset INTEGER REFERENCES asset (id) ON DELETE CASCADE,
  -- PHAssetResourceType: the role of an asset's file, as the primary picture or video, or as a companion of it.
  role TEXT CHECK (role IN ('photo', 'video', 'alternatePhoto', 'pairedVideo')),
  isPrimary INTEGER NOT NULL DEFAULT 0 CHECK (isPrimary IN (0, 1)),
  -- Bytes relative to the library's root. A path that begins with a NUL, which no real path can, means none:
  -- another file has taken this path, and this file's new path is not known yet.
  path BLOB NOT NULL UNIQUE,
  inode INTEGER NOT NULL,
  size INTEGER NOT NULL,
  -- Nanoseconds since 1970.
  modified INTEGER NOT NULL,
  -- Its ctime when it was read, in nanoseconds since 1970; 0: not known. A scan that finds another one reads it
  -- again.
  changed INTEGER NOT NULL DEFAULT 0,
  -- A random number that a file gets when it is new and when it was rewritten; 0: none, as for an object of a remote
  -- store. It is part of the content version: other contents may have the same inode, size and times.
  rewritten INTEGER NOT NULL DEFAULT 0,
  -- A digest of the size and of the file's first and last bytes. It identifies a file that was moved to another
  -- disk.
  fingerprint BLOB CHECK (length(fingerprint) = 16),
  -- Metadata of the file that decides which files belong together: its uniform type identifier, its embedded date
  -- in milliseconds, if any, and Apple's identifiers of live photos and bursts.
  type TEXT,
  embeddedDate INTEGER,
  contentIdentifier TEXT,
  burst TEXT,
  -- The file contains a live photo's video.
  isLive INTEGER NOT NULL DEFAULT 0,
  thumbnailOffset INTEGER,
  thumbnailLength INTEGER,
  -- The position of a live photo's video in the file.
  videoOffset INTEGER,
  videoLength INTEGER,
  -- The edit that another program left in this picture, or in this sidecar: JSON of ForeignEdit.
  edit TEXT,
  unreadableReason TEXT,
  CHECK ((asset IS NULL) = (role IS NULL)),
  CHECK ((videoOffset IS NULL) = (videoLength IS NULL))
) STRICT;
CREATE TABLE folderAbove (
  collection INTEGER NOT NULL REFERENCES collection (id) ON DELETE CASCADE,
  folder INTEGER NOT NULL REFERENCES collection (id) ON DELETE CASCADE,
  PRIMARY KEY (collection, folder)
) STRICT, WITHOUT ROWID;
CREATE TABLE folderAsset (
  folder INTEGER NOT NULL REFERENCES collection (id) ON DELETE CASCADE,
  -- Without a foreign key, which would cost a lookup at each insertion of an asset: the rows follow `member`.
  asset INTEGER NOT NULL,
  creationDate INTEGER NOT NULL,
  listing INTEGER NOT NULL,
  -- The number of albums below the folder that contain the asset.
  sources INTEGER NOT NULL,
  PRIMARY KEY (folder, asset)
) STRICT, WITHOUT ROWID;
CREATE TABLE folderCount (
  folder INTEGER NOT NULL REFERENCES collection (id) ON DELETE CASCADE,
  listing INTEGER NOT NULL,
  value INTEGER NOT NULL,
  PRIMARY KEY (folder, listing)
) STRICT, WITHOUT ROWID;
CREATE TABLE formerContent (
  -- See ContentVersion.content.
  content TEXT PRIMARY KEY,
  -- Milliseconds since 1970.
  since INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
CREATE TABLE importedAlbum (
  key TEXT PRIMARY KEY,
  collection INTEGER NOT NULL REFERENCES collection (id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
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
CREATE TABLE libraryAsset (
  library INTEGER NOT NULL REFERENCES library (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
  -- Copies of the asset's columns.
  creationDate INTEGER NOT NULL,
  localIdentifier TEXT NOT NULL,
  listing INTEGER NOT NULL,
  counted INTEGER NOT NULL,
  asset INTEGER NOT NULL REFERENCES asset (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
  dimensions INTEGER NOT NULL,
  grid INTEGER NOT NULL,
  duration REAL NOT NULL,
  contentVersion TEXT NOT NULL,
  placeholder BLOB,
  addedDate INTEGER NOT NULL,
  burstIdentifier TEXT,
  localDay INTEGER NOT NULL,
  -- Why the library has it: the number of its albums that contain the asset; 1 for the whole library. 0 only while
  -- the library is being created.
  sources INTEGER NOT NULL,
  -- The token of the change with which it entered the library.
  came INTEGER NOT NULL,
  -- The order of a listing. A grid of ten thousand cells is read from a few hundred consecutive pages, and not from
  -- ten thousand rows of `asset`, each of which may be a random read from the disk.
  -- It ascends, although listings show the newest first: a scan mostly adds newer assets, and SQLite fills pages
  -- only if rows are appended. `asset` is part of it so that every index contains it, which SQLite appends to each
  -- of their entries.
  PRIMARY KEY (library, creationDate, localIdentifier DESC, asset)
) STRICT, WITHOUT ROWID;
CREATE TABLE libraryCollection (
  collection INTEGER NOT NULL REFERENCES collection (id) ON DELETE CASCADE,
  library INTEGER NOT NULL REFERENCES library (id) ON DELETE CASCADE,
  -- The token of the change with which it entered the library.
  came INTEGER NOT NULL,
  -- Copies of the collection's columns.
  localIdentifier TEXT NOT NULL,
  type TEXT NOT NULL,
  position INTEGER NOT NULL,
  PRIMARY KEY (collection, library)
) STRICT, WITHOUT ROWID;
CREATE TABLE libraryGrant (
  localIdentifier TEXT NOT NULL,
  library INTEGER NOT NULL REFERENCES library (id) ON DELETE CASCADE,
  PRIMARY KEY (localIdentifier, library)
) STRICT, WITHOUT ROWID;
CREATE TABLE member (
  collection INTEGER NOT NULL REFERENCES collection (id) ON DELETE CASCADE,
  -- Its position in the album, ascending; with gaps.
  position INTEGER NOT NULL,
  asset INTEGER NOT NULL REFERENCES asset (id) ON DELETE CASCADE,
  -- Copies of the asset's columns, kept up to date by a trigger, so that an album's dates and counts are read from
  -- an index. An insertion must supply the asset's values.
  creationDate INTEGER NOT NULL,
  listing INTEGER NOT NULL,
  PRIMARY KEY (collection, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE memberCount (
  collection INTEGER NOT NULL REFERENCES collection (id) ON DELETE CASCADE,
  listing INTEGER NOT NULL,
  value INTEGER NOT NULL,
  PRIMARY KEY (collection, listing)
) STRICT, WITHOUT ROWID;
CREATE TABLE moment (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  library INTEGER NOT NULL REFERENCES library (id) ON DELETE CASCADE,
  localIdentifier TEXT NOT NULL,
  splitsByLocation INTEGER NOT NULL,
  -- The `localDay` of all its assets.
  day INTEGER NOT NULL,
  startDate INTEGER NOT NULL,
  endDate INTEGER NOT NULL,
  assetCount INTEGER NOT NULL,
  -- From the places of its assets; only with `splitsByLocation`.
  title TEXT,
  -- The token of its last change.
  revision INTEGER NOT NULL
) STRICT;
CREATE TABLE purgedContent (
  -- Ascends, so the oldest rows are deleted first.
  id INTEGER PRIMARY KEY,
  fingerprint BLOB NOT NULL,
  -- See ContentDigest.
  digest BLOB NOT NULL,
  UNIQUE (fingerprint, digest)
) STRICT;
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
CREATE VIRTUAL TABLE search USING fts5 (
  text, content = 'searchText', content_rowid = 'document', columnsize = 0, tokenize = 'ascii');
CREATE VIRTUAL TABLE searchInstance USING fts5vocab (search, instance);
CREATE TABLE searchQueue (document INTEGER PRIMARY KEY) STRICT;
CREATE TABLE searchTerm (term TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
CREATE TABLE searchText (
  -- By date, newest first: see `document`.
  document INTEGER PRIMARY KEY,
  text TEXT NOT NULL
) STRICT;
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
CREATE TABLE staleDay (
  library INTEGER NOT NULL REFERENCES library (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
  day INTEGER NOT NULL,
  PRIMARY KEY (library, day)
) STRICT, WITHOUT ROWID;
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
CREATE TABLE trashFile (
  trash INTEGER NOT NULL REFERENCES trash (id) ON DELETE CASCADE,
  -- 0 is the primary file. Sidecars begin at 1000.
  place INTEGER NOT NULL,
  path BLOB NOT NULL,
  -- Empty if the file is missing.
  trashPath BLOB NOT NULL,
  PRIMARY KEY (trash, place)
) STRICT, WITHOUT ROWID;
CREATE TABLE trashPlace (
  trash INTEGER NOT NULL REFERENCES trash (id) ON DELETE CASCADE,
  collection TEXT NOT NULL,
  position INTEGER,
  isKeyAsset INTEGER NOT NULL CHECK (isKeyAsset IN (0, 1)),
  PRIMARY KEY (trash, collection)
) STRICT, WITHOUT ROWID;
CREATE TABLE trashValue (
  trash INTEGER NOT NULL REFERENCES trash (id) ON DELETE CASCADE,
  file INTEGER NOT NULL,
  name TEXT NOT NULL,
  value ANY,
  PRIMARY KEY (trash, file, name)
) STRICT, WITHOUT ROWID;
INSERT INTO asset (id, localIdentifier, contentVersion, revision, nonLocationRevision, mediaType, mediaSubtypes, sourceType, uniformTypeIdentifier, isRAW, isSelfPortrait, isAnimated, isLongExposure, hasDecoder, originalFilename, fileSize, pixelWidth, pixelHeight, orientation, hasAlpha, duration, creationDate, creationDateSource, utcOffset, zoneOffset, modificationDate, nonLocationModificationDate, fileModificationDate, addedDate, latitude, longitude, altitude, hasUserLocation, cameraMake, cameraModel, lensModel, placeCity, placeRegion, placeCountry, fileLatitude, fileLongitude, fileCity, fileRegion, fileCountry, isFavorite, isHidden, keepsOriginal, burstIdentifier, representsBurst, burstSelectionTypes, formerBurst, placeholder, placeholderVersion, saliency, rating, userFields, regionsVersion, title, keywords, people, regions, rights, license, caption, adjustments, adjustmentOrigin, adjustmentFormat, adjustmentFormatVersion, adjustmentData, unadjustedVersion, unadjustedWidth, unadjustedHeight, adjustmentDate) VALUES (1, 'asset-1', 'qfCRPUGGP-jUtCRmaP5MXQ', 1, NULL, 1, 0, 1, 'public.jpeg', 0, 0, 0, 0, 1, 'a.jpg', 826, 32, 24, 1, 0, 0.0, 1795962430457, 'file', NULL, 0, 1795962430518, NULL, 1795962430457, 1795962430518, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, 0, 0, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, 2, '', NULL, NULL, NULL, NULL, NULL, NULL, 'Words', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO asset (id, localIdentifier, contentVersion, revision, nonLocationRevision, mediaType, mediaSubtypes, sourceType, uniformTypeIdentifier, isRAW, isSelfPortrait, isAnimated, isLongExposure, hasDecoder, originalFilename, fileSize, pixelWidth, pixelHeight, orientation, hasAlpha, duration, creationDate, creationDateSource, utcOffset, zoneOffset, modificationDate, nonLocationModificationDate, fileModificationDate, addedDate, latitude, longitude, altitude, hasUserLocation, cameraMake, cameraModel, lensModel, placeCity, placeRegion, placeCountry, fileLatitude, fileLongitude, fileCity, fileRegion, fileCountry, isFavorite, isHidden, keepsOriginal, burstIdentifier, representsBurst, burstSelectionTypes, formerBurst, placeholder, placeholderVersion, saliency, rating, userFields, regionsVersion, title, keywords, people, regions, rights, license, caption, adjustments, adjustmentOrigin, adjustmentFormat, adjustmentFormatVersion, adjustmentData, unadjustedVersion, unadjustedWidth, unadjustedHeight, adjustmentDate) VALUES (2, 'asset-2', 's241Yj4dTwRhmvpHXZQQXg', 1, NULL, 1, 0, 1, 'public.jpeg', 0, 0, 0, 0, 1, 'c.jpg', 828, 32, 24, 1, 0, 0.0, 1795962430458, 'file', NULL, 0, 1795962430518, NULL, 1795962430458, 1795962430518, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, 0, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, 0, '', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO asset (id, localIdentifier, contentVersion, revision, nonLocationRevision, mediaType, mediaSubtypes, sourceType, uniformTypeIdentifier, isRAW, isSelfPortrait, isAnimated, isLongExposure, hasDecoder, originalFilename, fileSize, pixelWidth, pixelHeight, orientation, hasAlpha, duration, creationDate, creationDateSource, utcOffset, zoneOffset, modificationDate, nonLocationModificationDate, fileModificationDate, addedDate, latitude, longitude, altitude, hasUserLocation, cameraMake, cameraModel, lensModel, placeCity, placeRegion, placeCountry, fileLatitude, fileLongitude, fileCity, fileRegion, fileCountry, isFavorite, isHidden, keepsOriginal, burstIdentifier, representsBurst, burstSelectionTypes, formerBurst, placeholder, placeholderVersion, saliency, rating, userFields, regionsVersion, title, keywords, people, regions, rights, license, caption, adjustments, adjustmentOrigin, adjustmentFormat, adjustmentFormatVersion, adjustmentData, unadjustedVersion, unadjustedWidth, unadjustedHeight, adjustmentDate) VALUES (3, 'asset-3', 'tX6AhP78Sb0GrMfa6E45LQ', 1, NULL, 1, 0, 1, 'public.png', 0, 0, 0, 0, 1, 'd.png', 152, 30, 20, 1, 1, 0.0, 1795962430459, 'file', NULL, 0, 1795962430518, NULL, 1795962430459, 1795962430518, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, 0, '', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO catalogueValue (name, value) VALUES ('contentKey', X'61206B6579206F66207468697274792D74776F2062797465732C206669786564');
INSERT INTO catalogueValue (name, value) VALUES ('filedAsset', NULL);
INSERT INTO catalogueValue (name, value) VALUES ('historyStart', 0);
INSERT INTO catalogueValue (name, value) VALUES ('importsTones', 0);
INSERT INTO catalogueValue (name, value) VALUES ('isFirstScanComplete', 1);
INSERT INTO catalogueValue (name, value) VALUES ('mounts', '[{"path":[],"fileSystem":{"inode":16327750,"identifier":12418424048475239647,"type":61267,"device":65024}}]');
INSERT INTO catalogueValue (name, value) VALUES ('placeholderMaker', '');
INSERT INTO catalogueValue (name, value) VALUES ('probe', '20 GMT 4096');
INSERT INTO catalogueValue (name, value) VALUES ('renderableTypes', 'com.adobe.raw-image com.canon.cr2-raw-image com.canon.cr3-raw-image com.compuserve.gif com.fuji.raw-image com.microsoft.bmp com.nikon.raw-image com.olympus.raw-image com.panasonic.rw2-raw-image com.pentax.raw-image com.sony.arw-raw-image public.jpeg public.png public.tiff');
INSERT INTO catalogueValue (name, value) VALUES ('searchWords', 4);
INSERT INTO catalogueValue (name, value) VALUES ('timeZone', 'GMT');
INSERT INTO change (library, token, time, objects, isLocationOnly) VALUES (0, 1, 1795962430518, 3, 0);
INSERT INTO changedMember (token, collection, asset, event) VALUES (1, 21, 1, 0);
INSERT INTO changedMember (token, collection, asset, event) VALUES (1, 21, 3, 0);
INSERT INTO changedMember (token, collection, asset, event) VALUES (1, 22, 1, 0);
INSERT INTO changedMember (token, collection, asset, event) VALUES (1, 22, 3, 0);
INSERT INTO changedObject (token, kind, object, event, isContentChanged, isLocationOnly) VALUES (1, 0, 1, 0, 0, 0);
INSERT INTO changedObject (token, kind, object, event, isContentChanged, isLocationOnly) VALUES (1, 0, 2, 0, 0, 0);
INSERT INTO changedObject (token, kind, object, event, isContentChanged, isLocationOnly) VALUES (1, 0, 3, 0, 0, 0);
INSERT INTO changedObject (token, kind, object, event, isContentChanged, isLocationOnly) VALUES (1, 1, 21, 0, 0, 0);
INSERT INTO changedObject (token, kind, object, event, isContentChanged, isLocationOnly) VALUES (1, 1, 22, 0, 0, 0);
INSERT INTO collection (id, localIdentifier, type, subtype, title, parent, position, keyAsset, keepsOriginals, rule, ruleOrder, revision) VALUES (1, 'SjI4xfB155MLn8TseQq69Q', 'smartAlbum', 'smartAlbumUserLibrary', 'Library', NULL, 0, NULL, 0, 'TRUEPREDICATE', '-creationDate', 0);
INSERT INTO collection (id, localIdentifier, type, subtype, title, parent, position, keyAsset, keepsOriginals, rule, ruleOrder, revision) VALUES (10, '0SUAowopv1dpE3-BCPZFVw', 'smartAlbum', 'smartAlbumLivePhotos', 'Live Photos', NULL, 0, NULL, 0, '(mediaSubtypes & photoLive) != 0', '-creationDate', 0);
INSERT INTO collection (id, localIdentifier, type, subtype, title, parent, position, keyAsset, keepsOriginals, rule, ruleOrder, revision) VALUES (11, 'S5kPjqvp7dk-IhAxmRu_oA', 'smartAlbum', 'smartAlbumRAW', 'RAW', NULL, 0, NULL, 0, 'isRAW == YES', '-creationDate', 0);
INSERT INTO collection (id, localIdentifier, type, subtype, title, parent, position, keyAsset, keepsOriginals, rule, ruleOrder, revision) VALUES (12, 'rs1AM_zPutqA77q0pg1ggw', 'smartAlbum', 'smartAlbumSlomoVideos', 'Slo-mo', NULL, 0, NULL, 0, '(mediaSubtypes & videoHighFrameRate) != 0', '-creationDate', 0);
INSERT INTO collection (id, localIdentifier, type, subtype, title, parent, position, keyAsset, keepsOriginals, rule, ruleOrder, revision) VALUES (13, 'pVxQoS8vCO-8gAoNy6P_vQ', 'smartAlbum', 'smartAlbumTimelapses', 'Time-lapse', NULL, 0, NULL, 0, '(mediaSubtypes & videoTimelapse) != 0', '-creationDate', 0);
INSERT INTO collection (id, localIdentifier, type, subtype, title, parent, position, keyAsset, keepsOriginals, rule, ruleOrder, revision) VALUES (14, 'Jpb1dZ91yJc6Zd9e4wYmHw', 'smartAlbum', 'smartAlbumSelfPortraits', 'Selfies', NULL, 0, NULL, 0, 'isSelfPortrait == YES', '-creationDate', 0);
INSERT INTO collection (id, localIdentifier, type, subtype, title, parent, position, keyAsset, keepsOriginals, rule, ruleOrder, revision) VALUES (15, 'pk3jSLXUNo9vKnZl8_SpEA', 'smartAlbum', 'smartAlbumAnimated', 'Animated', NULL, 0, NULL, 0, 'isAnimated == YES', '-creationDate', 0);
INSERT INTO collection (id, localIdentifier, type, subtype, title, parent, position, keyAsset, keepsOriginals, rule, ruleOrder, revision) VALUES (16, 'xx3UQlK8oYY8vpnsf2eo7A', 'smartAlbum', 'smartAlbumLongExposures', 'Long Exposure', NULL, 0, NULL, 0, 'isLongExposure == YES', '-creationDate', 0);
INSERT INTO collection (id, localIdentifier, type, subtype, title, parent, position, keyAsset, keepsOriginals, rule, ruleOrder, revision) VALUES (17, 'ONv_a8m5iybFM0cZjd_WAg', 'smartAlbum', 'smartAlbumCinematic', 'Cinematic', NULL, 0, NULL, 0, '(mediaSubtypes & videoCinematic) != 0', '-creationDate', 0);
INSERT INTO collection (id, localIdentifier, type, subtype, title, parent, position, keyAsset, keepsOriginals, rule, ruleOrder, revision) VALUES (18, 'vWHVKsDiNEXjJjTlAHyifA', 'smartAlbum', 'smartAlbumSpatial', 'Spatial', NULL, 0, NULL, 0, '(mediaSubtypes & spatialMedia) != 0', '-creationDate', 0);
INSERT INTO collection (id, localIdentifier, type, subtype, title, parent, position, keyAsset, keepsOriginals, rule, ruleOrder, revision) VALUES (19, 'NNU6hKLBVCg9lZ7RkpAG4g', 'smartAlbum', 'smartAlbumScreenRecordings', 'Screen Recordings', NULL, 0, NULL, 0, '(mediaSubtypes & videoScreenRecording) != 0', '-creationDate', 0);
INSERT INTO collection (id, localIdentifier, type, subtype, title, parent, position, keyAsset, keepsOriginals, rule, ruleOrder, revision) VALUES (2, 'S2g2hBFr2NonxJs1Cyalgw', 'smartAlbum', 'smartAlbumRecentlyAdded', 'Recently Added', NULL, 0, NULL, 0, 'TRUEPREDICATE', '-addedDate', 0);
INSERT INTO collection (id, localIdentifier, type, subtype, title, parent, position, keyAsset, keepsOriginals, rule, ruleOrder, revision) VALUES (20, 'bHpeSGuulUYRYz0Orl8mQg', 'smartAlbum', 'smartAlbumAllHidden', 'Hidden', NULL, 0, NULL, 0, 'isHidden == YES', '-creationDate', 0);
INSERT INTO collection (id, localIdentifier, type, subtype, title, parent, position, keyAsset, keepsOriginals, rule, ruleOrder, revision) VALUES (21, 'folder', 'folder', 'regularFolder', 'Folder', NULL, 0, NULL, 0, NULL, NULL, 1);
INSERT INTO collection (id, localIdentifier, type, subtype, title, parent, position, keyAsset, keepsOriginals, rule, ruleOrder, revision) VALUES (22, 'album', 'album', 'albumRegular', 'Album', 21, 0, NULL, 0, NULL, NULL, 1);
INSERT INTO collection (id, localIdentifier, type, subtype, title, parent, position, keyAsset, keepsOriginals, rule, ruleOrder, revision) VALUES (3, 'P8-LL41Ivzn0LVZTfWiP0Q', 'smartAlbum', 'smartAlbumFavorites', 'Favorites', NULL, 0, NULL, 0, 'isFavorite == YES', '-creationDate', 0);
INSERT INTO collection (id, localIdentifier, type, subtype, title, parent, position, keyAsset, keepsOriginals, rule, ruleOrder, revision) VALUES (4, 'byPMrZPX8DgdaMtRQSDz9A', 'smartAlbum', 'smartAlbumVideos', 'Videos', NULL, 0, NULL, 0, 'mediaType == video', '-creationDate', 0);
INSERT INTO collection (id, localIdentifier, type, subtype, title, parent, position, keyAsset, keepsOriginals, rule, ruleOrder, revision) VALUES (5, '8cEQUxRVtns1_AxDrQbT9g', 'smartAlbum', 'smartAlbumPanoramas', 'Panoramas', NULL, 0, NULL, 0, '(mediaSubtypes & photoPanorama) != 0', '-creationDate', 0);
INSERT INTO collection (id, localIdentifier, type, subtype, title, parent, position, keyAsset, keepsOriginals, rule, ruleOrder, revision) VALUES (6, '5kaoXIHsV5M8BeSvBQiiXg', 'smartAlbum', 'smartAlbumBursts', 'Bursts', NULL, 0, NULL, 0, 'representsBurst == YES', '-creationDate', 0);
INSERT INTO collection (id, localIdentifier, type, subtype, title, parent, position, keyAsset, keepsOriginals, rule, ruleOrder, revision) VALUES (7, 'oGJPZR2W1_rR-cVr3saLLw', 'smartAlbum', 'smartAlbumScreenshots', 'Screenshots', NULL, 0, NULL, 0, '(mediaSubtypes & photoScreenshot) != 0', '-creationDate', 0);
INSERT INTO collection (id, localIdentifier, type, subtype, title, parent, position, keyAsset, keepsOriginals, rule, ruleOrder, revision) VALUES (8, 'xFrSuqDu-TVRB9IXPBH83Q', 'smartAlbum', 'smartAlbumHDR', 'HDR', NULL, 0, NULL, 0, '(mediaSubtypes & photoHDR) != 0', '-creationDate', 0);
INSERT INTO collection (id, localIdentifier, type, subtype, title, parent, position, keyAsset, keepsOriginals, rule, ruleOrder, revision) VALUES (9, 'TiVyOivFhJhOvnL52sNrBw', 'smartAlbum', 'smartAlbumDepthEffect', 'Portrait', NULL, 0, NULL, 0, '(mediaSubtypes & photoDepthEffect) != 0', '-creationDate', 0);
INSERT INTO counter (library, listing, assets, favorites, videos, panoramas, bursts, screenshots, hdr, depthEffect, livePhotos, raw, hidden, images, slomos, timelapses, selfPortraits, animated, longExposures, cinematic, spatial, screenRecordings, renderable) VALUES (0, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 2);
INSERT INTO counter (library, listing, assets, favorites, videos, panoramas, bursts, screenshots, hdr, depthEffect, livePhotos, raw, hidden, images, slomos, timelapses, selfPortraits, animated, longExposures, cinematic, spatial, screenRecordings, renderable) VALUES (0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO counter (library, listing, assets, favorites, videos, panoramas, bursts, screenshots, hdr, depthEffect, livePhotos, raw, hidden, images, slomos, timelapses, selfPortraits, animated, longExposures, cinematic, spatial, screenRecordings, renderable) VALUES (0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1);
INSERT INTO counter (library, listing, assets, favorites, videos, panoramas, bursts, screenshots, hdr, depthEffect, livePhotos, raw, hidden, images, slomos, timelapses, selfPortraits, animated, longExposures, cinematic, spatial, screenRecordings, renderable) VALUES (0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO dayCount (library, day, listing, value) VALUES (0, 20786, 0, 2);
INSERT INTO dayCount (library, day, listing, value) VALUES (0, 20786, 2, 1);
INSERT INTO file (id, asset, role, isPrimary, path, inode, size, modified, changed, rewritten, fingerprint, type, embeddedDate, contentIdentifier, burst, isLive, thumbnailOffset, thumbnailLength, videoOffset, videoLength, edit, unreadableReason) VALUES (1, 1, 'photo', 1, X'612E6A7067', 16327757, 826, 1795962430457259696, 1795962430457259696, 3432036823868114727, X'1D42AF959CBD2A6CAF48E9A9FBF4B1DB', 'public.jpeg', NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO file (id, asset, role, isPrimary, path, inode, size, modified, changed, rewritten, fingerprint, type, embeddedDate, contentIdentifier, burst, isLive, thumbnailOffset, thumbnailLength, videoOffset, videoLength, edit, unreadableReason) VALUES (2, 2, 'photo', 1, X'622F632E6A7067', 16327798, 828, 1795962430458360781, 1795962430458360781, 6323079963086883727, X'FDAC529E7F8D5F7A5E97B449A5FDC9F3', 'public.jpeg', NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO file (id, asset, role, isPrimary, path, inode, size, modified, changed, rewritten, fingerprint, type, embeddedDate, contentIdentifier, burst, isLive, thumbnailOffset, thumbnailLength, videoOffset, videoLength, edit, unreadableReason) VALUES (3, 3, 'photo', 1, X'642E706E67', 16327799, 152, 1795962430459230013, 1795962430459230013, 3110142413834093124, X'6E03E8C3C0DEB78DA4B4E3240BB8BE2F', 'public.png', NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO folderAbove (collection, folder) VALUES (22, 21);
INSERT INTO folderAsset (folder, asset, creationDate, listing, sources) VALUES (21, 1, 1795962430457, 0, 1);
INSERT INTO folderAsset (folder, asset, creationDate, listing, sources) VALUES (21, 3, 1795962430459, 0, 1);
INSERT INTO folderCount (folder, listing, value) VALUES (21, 0, 2);
INSERT INTO grdb_migrations (identifier) VALUES ('0.1.0');
INSERT INTO library (id, granted, revision, nonLocationRevision, changeDate, objects, createdRevision, usedDate) VALUES (0, NULL, 1, 1, 1795962430518, 0, 0, 0);
INSERT INTO libraryAsset (library, creationDate, localIdentifier, listing, counted, asset, dimensions, grid, duration, contentVersion, placeholder, addedDate, burstIdentifier, localDay, sources, came) VALUES (0, 1795962430457, 'asset-1', 0, 1050627, 1, 137438953496, 5, 0.0, 'qfCRPUGGP-jUtCRmaP5MXQ', NULL, 1795962430518, NULL, 20786, 1, 1);
INSERT INTO libraryAsset (library, creationDate, localIdentifier, listing, counted, asset, dimensions, grid, duration, contentVersion, placeholder, addedDate, burstIdentifier, localDay, sources, came) VALUES (0, 1795962430458, 'asset-2', 2, 1051649, 2, 137438953496, 1, 0.0, 's241Yj4dTwRhmvpHXZQQXg', NULL, 1795962430518, NULL, 20786, 1, 1);
INSERT INTO libraryAsset (library, creationDate, localIdentifier, listing, counted, asset, dimensions, grid, duration, contentVersion, placeholder, addedDate, burstIdentifier, localDay, sources, came) VALUES (0, 1795962430459, 'asset-3', 0, 1050625, 3, 128849018900, 1, 0.0, 'tX6AhP78Sb0GrMfa6E45LQ', NULL, 1795962430518, NULL, 20786, 1, 1);
INSERT INTO libraryCollection (collection, library, came, localIdentifier, type, position) VALUES (1, 0, 0, 'SjI4xfB155MLn8TseQq69Q', 'smartAlbum', 0);
INSERT INTO libraryCollection (collection, library, came, localIdentifier, type, position) VALUES (10, 0, 0, '0SUAowopv1dpE3-BCPZFVw', 'smartAlbum', 0);
INSERT INTO libraryCollection (collection, library, came, localIdentifier, type, position) VALUES (11, 0, 0, 'S5kPjqvp7dk-IhAxmRu_oA', 'smartAlbum', 0);
INSERT INTO libraryCollection (collection, library, came, localIdentifier, type, position) VALUES (12, 0, 0, 'rs1AM_zPutqA77q0pg1ggw', 'smartAlbum', 0);
INSERT INTO libraryCollection (collection, library, came, localIdentifier, type, position) VALUES (13, 0, 0, 'pVxQoS8vCO-8gAoNy6P_vQ', 'smartAlbum', 0);
INSERT INTO libraryCollection (collection, library, came, localIdentifier, type, position) VALUES (14, 0, 0, 'Jpb1dZ91yJc6Zd9e4wYmHw', 'smartAlbum', 0);
INSERT INTO libraryCollection (collection, library, came, localIdentifier, type, position) VALUES (15, 0, 0, 'pk3jSLXUNo9vKnZl8_SpEA', 'smartAlbum', 0);
INSERT INTO libraryCollection (collection, library, came, localIdentifier, type, position) VALUES (16, 0, 0, 'xx3UQlK8oYY8vpnsf2eo7A', 'smartAlbum', 0);
INSERT INTO libraryCollection (collection, library, came, localIdentifier, type, position) VALUES (17, 0, 0, 'ONv_a8m5iybFM0cZjd_WAg', 'smartAlbum', 0);
INSERT INTO libraryCollection (collection, library, came, localIdentifier, type, position) VALUES (18, 0, 0, 'vWHVKsDiNEXjJjTlAHyifA', 'smartAlbum', 0);
INSERT INTO libraryCollection (collection, library, came, localIdentifier, type, position) VALUES (19, 0, 0, 'NNU6hKLBVCg9lZ7RkpAG4g', 'smartAlbum', 0);
INSERT INTO libraryCollection (collection, library, came, localIdentifier, type, position) VALUES (2, 0, 0, 'S2g2hBFr2NonxJs1Cyalgw', 'smartAlbum', 0);
INSERT INTO libraryCollection (collection, library, came, localIdentifier, type, position) VALUES (20, 0, 0, 'bHpeSGuulUYRYz0Orl8mQg', 'smartAlbum', 0);
INSERT INTO libraryCollection (collection, library, came, localIdentifier, type, position) VALUES (21, 0, 1, 'folder', 'folder', 0);
INSERT INTO libraryCollection (collection, library, came, localIdentifier, type, position) VALUES (22, 0, 1, 'album', 'album', 0);
INSERT INTO libraryCollection (collection, library, came, localIdentifier, type, position) VALUES (3, 0, 0, 'P8-LL41Ivzn0LVZTfWiP0Q', 'smartAlbum', 0);
INSERT INTO libraryCollection (collection, library, came, localIdentifier, type, position) VALUES (4, 0, 0, 'byPMrZPX8DgdaMtRQSDz9A', 'smartAlbum', 0);
INSERT INTO libraryCollection (collection, library, came, localIdentifier, type, position) VALUES (5, 0, 0, '8cEQUxRVtns1_AxDrQbT9g', 'smartAlbum', 0);
INSERT INTO libraryCollection (collection, library, came, localIdentifier, type, position) VALUES (6, 0, 0, '5kaoXIHsV5M8BeSvBQiiXg', 'smartAlbum', 0);
INSERT INTO libraryCollection (collection, library, came, localIdentifier, type, position) VALUES (7, 0, 0, 'oGJPZR2W1_rR-cVr3saLLw', 'smartAlbum', 0);
INSERT INTO libraryCollection (collection, library, came, localIdentifier, type, position) VALUES (8, 0, 0, 'xFrSuqDu-TVRB9IXPBH83Q', 'smartAlbum', 0);
INSERT INTO libraryCollection (collection, library, came, localIdentifier, type, position) VALUES (9, 0, 0, 'TiVyOivFhJhOvnL52sNrBw', 'smartAlbum', 0);
INSERT INTO member (collection, position, asset, creationDate, listing) VALUES (22, 1, 1, 1795962430457, 0);
INSERT INTO member (collection, position, asset, creationDate, listing) VALUES (22, 3, 3, 1795962430459, 0);
INSERT INTO memberCount (collection, listing, value) VALUES (22, 0, 2);
INSERT INTO moment (id, library, localIdentifier, splitsByLocation, day, startDate, endDate, assetCount, title, revision) VALUES (1, 0, 'XKU8tZRhJB0Y26HJUmlocw', 0, 20786, 1795962430457, 1795962430459, 2, NULL, 1);
INSERT INTO moment (id, library, localIdentifier, splitsByLocation, day, startDate, endDate, assetCount, title, revision) VALUES (2, 0, 'k6NwI9QJa3xoCWyK_TFfyQ', 1, 20786, 1795962430457, 1795962430459, 2, NULL, 1);
INSERT INTO searchTerm (term) VALUES ('a');
INSERT INTO searchTerm (term) VALUES ('b');
INSERT INTO searchTerm (term) VALUES ('c');
INSERT INTO searchTerm (term) VALUES ('d');
INSERT INTO searchTerm (term) VALUES ('jpg');
INSERT INTO searchTerm (term) VALUES ('png');
INSERT INTO searchTerm (term) VALUES ('words');
INSERT INTO searchText (document, text) VALUES (-1883203104707444733, ' d png  22 ');
INSERT INTO searchText (document, text) VALUES (-1883203104707444734, ' b c jpg ');
INSERT INTO searchText (document, text) VALUES (-1883203104707444735, ' a jpg  words  22 ');
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES ('library', 0);
INSERT INTO sqlite_sequence VALUES ('collection', 22);
INSERT INTO sqlite_sequence VALUES ('asset', 3);
INSERT INTO sqlite_sequence VALUES ('moment', 2);
INSERT INTO search (search, rank) VALUES ('automerge', 8);
INSERT INTO search (search) VALUES ('rebuild');
CREATE INDEX animatedByDate
  ON libraryAsset (library, creationDate DESC, localIdentifier, listing, counted, asset)
  WHERE (counted & 32768) <> 0;
CREATE INDEX assetOfFormerBurst ON asset (formerBurst) WHERE formerBurst IS NOT NULL;
CREATE INDEX assetWithImportedEdit ON asset (id) WHERE adjustmentOrigin = 'imported';
CREATE INDEX assetWithKeptOriginal ON asset (id) WHERE keepsOriginal = 1;
CREATE INDEX assetWithoutPlaceholder ON asset (creationDate DESC, localIdentifier)
  WHERE placeholderVersion IS NOT contentVersion;
CREATE INDEX burstByDate ON libraryAsset (library, creationDate DESC, localIdentifier, listing, counted, asset)
  WHERE (counted & 16) <> 0;
CREATE INDEX changedVisibilityByObject ON changedVisibility (library, kind, object, token, event);
CREATE INDEX changedVisibilityByToken ON changedVisibility (token);
CREATE INDEX cinematicByDate
  ON libraryAsset (library, creationDate DESC, localIdentifier, listing, counted, asset)
  WHERE (counted & 131072) <> 0;
CREATE INDEX collectionByKeyAsset ON collection (keyAsset) WHERE keyAsset IS NOT NULL;
CREATE INDEX collectionByParent ON collection (parent, position);
CREATE INDEX depthByDate ON libraryAsset (library, creationDate DESC, localIdentifier, listing, counted, asset)
  WHERE (counted & 128) <> 0;
CREATE INDEX favoriteByDate ON libraryAsset (library, creationDate DESC, localIdentifier, listing, counted, asset)
  WHERE (counted & 2) <> 0;
CREATE INDEX fileByAsset ON file (asset) WHERE asset IS NOT NULL;
CREATE INDEX fileByBurst ON file (burst) WHERE burst IS NOT NULL;
CREATE INDEX fileByContentIdentifier ON file (contentIdentifier) WHERE contentIdentifier IS NOT NULL;
CREATE INDEX fileByFingerprint ON file (fingerprint) WHERE fingerprint IS NOT NULL;
CREATE INDEX fileByIdentity ON file (inode, size, modified);
CREATE INDEX fileWithEdit ON file (id) WHERE edit IS NOT NULL;
CREATE INDEX folderAboveByFolder ON folderAbove (folder, collection);
CREATE UNIQUE INDEX folderAssetByAsset ON folderAsset (asset, folder);
CREATE INDEX folderAssetByDate ON folderAsset (folder, creationDate, listing);
CREATE INDEX formerContentByDate ON formerContent (since);
CREATE INDEX hdrByDate ON libraryAsset (library, creationDate DESC, localIdentifier, listing, counted, asset)
  WHERE (counted & 64) <> 0;
CREATE INDEX hiddenByDate ON libraryAsset (library, creationDate DESC, localIdentifier, listing, counted, asset)
  WHERE (counted & 1024) <> 0;
CREATE INDEX importedAlbumByCollection ON importedAlbum (collection);
CREATE INDEX libraryAssetByAddition ON libraryAsset (library, addedDate DESC, localIdentifier, listing, asset);
CREATE UNIQUE INDEX libraryAssetByAsset ON libraryAsset (asset, library);
CREATE INDEX libraryAssetByBurst ON libraryAsset (library, burstIdentifier, asset)
  WHERE burstIdentifier IS NOT NULL;
CREATE UNIQUE INDEX libraryAssetByIdentifier ON libraryAsset (library, localIdentifier);
CREATE UNIQUE INDEX libraryCollectionByIdentifier ON libraryCollection (library, localIdentifier);
CREATE INDEX libraryCollectionByType ON libraryCollection (library, type DESC, position, collection);
CREATE INDEX libraryGrantByLibrary ON libraryGrant (library);
CREATE INDEX liveByDate ON libraryAsset (library, creationDate DESC, localIdentifier, listing, counted, asset)
  WHERE (counted & 256) <> 0;
CREATE INDEX longExposureByDate
  ON libraryAsset (library, creationDate DESC, localIdentifier, listing, counted, asset)
  WHERE (counted & 65536) <> 0;
CREATE UNIQUE INDEX memberByAsset ON member (asset, collection);
CREATE INDEX memberByDate ON member (collection, creationDate, listing);
CREATE INDEX missingAssets ON trash (id) WHERE state = 'missing';
CREATE INDEX momentByDate ON moment (library, splitsByLocation, startDate, id);
CREATE UNIQUE INDEX momentByIdentifier ON moment (library, splitsByLocation, localIdentifier);
CREATE INDEX panoramaByDate ON libraryAsset (library, creationDate DESC, localIdentifier, listing, counted, asset)
  WHERE (counted & 8) <> 0;
CREATE UNIQUE INDEX primaryFile ON file (asset) WHERE isPrimary = 1;
CREATE INDEX rawByDate ON libraryAsset (library, creationDate DESC, localIdentifier, listing, counted, asset)
  WHERE (counted & 512) <> 0;
CREATE INDEX removedObjectByIdentifier ON removedObject (library, kind, localIdentifier);
CREATE INDEX removedObjectByToken ON removedObject (token);
CREATE INDEX screenRecordingByDate
  ON libraryAsset (library, creationDate DESC, localIdentifier, listing, counted, asset)
  WHERE (counted & 524288) <> 0;
CREATE INDEX screenshotByDate ON libraryAsset (library, creationDate DESC, localIdentifier, listing, counted, asset)
  WHERE (counted & 32) <> 0;
CREATE INDEX selfPortraitByDate
  ON libraryAsset (library, creationDate DESC, localIdentifier, listing, counted, asset)
  WHERE (counted & 16384) <> 0;
CREATE INDEX slomoByDate
  ON libraryAsset (library, creationDate DESC, localIdentifier, listing, counted, asset)
  WHERE (counted & 4096) <> 0;
CREATE INDEX spatialByDate
  ON libraryAsset (library, creationDate DESC, localIdentifier, listing, counted, asset)
  WHERE (counted & 262144) <> 0;
CREATE INDEX stagedUploadByDate ON stagedUpload (usedDate);
CREATE INDEX stagedUploadUnderWay ON stagedUpload (id) WHERE path IS NOT NULL;
CREATE INDEX timelapseByDate
  ON libraryAsset (library, creationDate DESC, localIdentifier, listing, counted, asset)
  WHERE (counted & 8192) <> 0;
CREATE INDEX trashByDate ON trash (deletedDate);
CREATE INDEX trashByFingerprint ON trashValue (value) WHERE file = 0 AND name = 'fingerprint';
CREATE INDEX trashByPath ON trashFile (path) WHERE place = 0;
CREATE INDEX trashByTrashPath ON trashFile (trashPath);
CREATE INDEX trashPlaceByCollection ON trashPlace (collection, position);
CREATE INDEX trashUnderWay ON trash (id) WHERE state NOT IN ('trashed', 'missing');
CREATE INDEX videoByDate ON libraryAsset (library, creationDate DESC, localIdentifier, listing, counted, asset)
  WHERE (counted & 4) <> 0;
CREATE VIEW limitedReach AS
  WITH RECURSIVE reach (library, collection) AS (
    SELECT libraryGrant.library, collection.id
    FROM libraryGrant JOIN collection ON collection.localIdentifier = libraryGrant.localIdentifier
    WHERE collection.type IN ('album', 'folder')
    UNION
    SELECT reach.library, collection.id FROM reach JOIN collection ON collection.parent = reach.collection)
  SELECT library, collection FROM reach
  UNION ALL
  SELECT library.id, collection.id FROM library, collection WHERE library.id > 0 AND collection.type = 'smartAlbum';
CREATE TRIGGER addToLibraries AFTER INSERT ON collection BEGIN
  INSERT INTO libraryCollection (collection, library, came, localIdentifier, type, position)
    SELECT NEW.id, library, (SELECT revision FROM library WHERE id = 0), NEW.localIdentifier, NEW.type, NEW.position FROM (
      SELECT 0 AS library
      UNION SELECT library FROM libraryCollection WHERE collection = NEW.parent
      UNION SELECT library FROM libraryGrant
        WHERE localIdentifier = NEW.localIdentifier AND NEW.type IN ('album', 'folder')
      UNION SELECT id FROM library WHERE NEW.type = 'smartAlbum');
END;
CREATE TRIGGER addToWholeLibrary AFTER INSERT ON asset BEGIN
  INSERT INTO libraryAsset (library, asset, creationDate, localIdentifier, listing, counted, addedDate, burstIdentifier, localDay, dimensions, grid, duration, contentVersion, placeholder, sources, came)
    VALUES (0, NEW.id, NEW.creationDate, NEW.localIdentifier, NEW.listing, NEW.counted, NEW.addedDate, NEW.burstIdentifier, NEW.localDay, NEW.dimensions, NEW.grid, NEW.duration, NEW.contentVersion, NEW.placeholder, 1, (SELECT revision FROM library WHERE id = 0));
END;
CREATE TRIGGER boundPlaceholder AFTER UPDATE OF placeholder ON asset WHEN length(NEW.placeholder) > 64 BEGIN
  SELECT RAISE(ABORT, 'a placeholder of more than 64 bytes');
END;
CREATE TRIGGER changeFolders AFTER UPDATE OF parent ON collection WHEN NEW.parent IS NOT OLD.parent BEGIN
  DELETE FROM folderAbove
    WHERE folder IN (SELECT folder FROM folderAbove WHERE collection = NEW.id)
      AND folder IS NOT NEW.parent AND folder NOT IN (SELECT folder FROM folderAbove WHERE collection = NEW.parent)
      AND (collection = NEW.id OR collection IN (SELECT collection FROM folderAbove WHERE folder = NEW.id));
  INSERT INTO folderAbove (collection, folder)
    SELECT below.collection, above.folder
    FROM (SELECT NEW.id AS collection UNION ALL SELECT collection FROM folderAbove WHERE folder = NEW.id) AS below
      CROSS JOIN (
        SELECT NEW.parent AS folder UNION ALL SELECT folder FROM folderAbove WHERE collection = NEW.parent) AS above
    WHERE above.folder IS NOT NULL
    ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER copyCounted AFTER UPDATE OF mediaType, mediaSubtypes, isRAW, isFavorite, isHidden, representsBurst,
  isSelfPortrait, isAnimated, isLongExposure, hasDecoder, placeholder, placeholderVersion, contentVersion
  ON asset WHEN NEW.counted <> OLD.counted
BEGIN
  UPDATE libraryAsset SET counted = NEW.counted, grid = NEW.grid WHERE asset = NEW.id;
END;
CREATE TRIGGER copyDates AFTER UPDATE OF creationDate, addedDate ON asset
  WHEN NEW.creationDate <> OLD.creationDate OR NEW.addedDate <> OLD.addedDate
BEGIN
  UPDATE libraryAsset SET creationDate = NEW.creationDate, localDay = NEW.localDay, addedDate = NEW.addedDate
    WHERE asset = NEW.id;
END;
CREATE TRIGGER copyDay AFTER UPDATE OF utcOffset, zoneOffset ON asset
  WHEN NEW.localDay <> OLD.localDay AND NEW.creationDate = OLD.creationDate AND NEW.addedDate = OLD.addedDate
BEGIN
  UPDATE libraryAsset SET localDay = NEW.localDay WHERE asset = NEW.id;
END;
CREATE TRIGGER copyListing AFTER UPDATE OF isHidden, burstIdentifier, representsBurst, burstSelectionTypes ON asset
  WHEN NEW.listing <> OLD.listing OR NEW.burstIdentifier IS NOT OLD.burstIdentifier
BEGIN
  UPDATE libraryAsset SET listing = NEW.listing, burstIdentifier = NEW.burstIdentifier WHERE asset = NEW.id;
END;
CREATE TRIGGER copyPicture
  AFTER UPDATE OF pixelWidth, pixelHeight, mediaType, mediaSubtypes, utcOffset, duration, contentVersion, placeholder
  ON asset
  WHEN (NEW.dimensions, NEW.grid, NEW.duration, NEW.contentVersion, NEW.placeholder)
    IS NOT (OLD.dimensions, OLD.grid, OLD.duration, OLD.contentVersion, OLD.placeholder)
BEGIN
  UPDATE libraryAsset SET dimensions = NEW.dimensions, grid = NEW.grid, duration = NEW.duration, contentVersion = NEW.contentVersion,
      placeholder = (SELECT placeholder FROM asset WHERE id = NEW.id)
    WHERE asset = NEW.id;
END;
CREATE TRIGGER copyPosition AFTER UPDATE OF position ON collection WHEN NEW.position <> OLD.position BEGIN
  UPDATE libraryCollection SET position = NEW.position WHERE collection = NEW.id;
END;
CREATE TRIGGER copyToMembers AFTER UPDATE OF creationDate, isHidden, burstIdentifier, representsBurst,
  burstSelectionTypes ON asset
  WHEN NEW.listing <> OLD.listing OR NEW.creationDate <> OLD.creationDate
BEGIN
  UPDATE member SET listing = NEW.listing, creationDate = NEW.creationDate WHERE asset = NEW.id;
  UPDATE folderAsset SET listing = NEW.listing, creationDate = NEW.creationDate WHERE asset = NEW.id;
END;
CREATE TRIGGER countChangedAsset AFTER UPDATE OF counted ON libraryAsset
  WHEN NEW.counted <> OLD.counted AND NEW.listing = OLD.listing
BEGIN
  UPDATE counter SET assets = assets + (NEW.counted >> 0 & 1) - (OLD.counted >> 0 & 1), favorites = favorites + (NEW.counted >> 1 & 1) - (OLD.counted >> 1 & 1), videos = videos + (NEW.counted >> 2 & 1) - (OLD.counted >> 2 & 1), panoramas = panoramas + (NEW.counted >> 3 & 1) - (OLD.counted >> 3 & 1), bursts = bursts + (NEW.counted >> 4 & 1) - (OLD.counted >> 4 & 1), screenshots = screenshots + (NEW.counted >> 5 & 1) - (OLD.counted >> 5 & 1), hdr = hdr + (NEW.counted >> 6 & 1) - (OLD.counted >> 6 & 1), depthEffect = depthEffect + (NEW.counted >> 7 & 1) - (OLD.counted >> 7 & 1), livePhotos = livePhotos + (NEW.counted >> 8 & 1) - (OLD.counted >> 8 & 1), raw = raw + (NEW.counted >> 9 & 1) - (OLD.counted >> 9 & 1), hidden = hidden + (NEW.counted >> 10 & 1) - (OLD.counted >> 10 & 1), images = images + (NEW.counted >> 11 & 1) - (OLD.counted >> 11 & 1), slomos = slomos + (NEW.counted >> 12 & 1) - (OLD.counted >> 12 & 1), timelapses = timelapses + (NEW.counted >> 13 & 1) - (OLD.counted >> 13 & 1), selfPortraits = selfPortraits + (NEW.counted >> 14 & 1) - (OLD.counted >> 14 & 1), animated = animated + (NEW.counted >> 15 & 1) - (OLD.counted >> 15 & 1), longExposures = longExposures + (NEW.counted >> 16 & 1) - (OLD.counted >> 16 & 1), cinematic = cinematic + (NEW.counted >> 17 & 1) - (OLD.counted >> 17 & 1), spatial = spatial + (NEW.counted >> 18 & 1) - (OLD.counted >> 18 & 1), screenRecordings = screenRecordings + (NEW.counted >> 19 & 1) - (OLD.counted >> 19 & 1), renderable = renderable + (NEW.counted >> 20 & 1) - (OLD.counted >> 20 & 1)
        WHERE library = NEW.library AND listing = NEW.listing;
END;
CREATE TRIGGER countDeletedAsset AFTER DELETE ON libraryAsset
  WHEN EXISTS (SELECT 1 FROM library WHERE id = OLD.library)
BEGIN
  UPDATE counter SET assets = assets - (OLD.counted >> 0 & 1), favorites = favorites - (OLD.counted >> 1 & 1), videos = videos - (OLD.counted >> 2 & 1), panoramas = panoramas - (OLD.counted >> 3 & 1), bursts = bursts - (OLD.counted >> 4 & 1), screenshots = screenshots - (OLD.counted >> 5 & 1), hdr = hdr - (OLD.counted >> 6 & 1), depthEffect = depthEffect - (OLD.counted >> 7 & 1), livePhotos = livePhotos - (OLD.counted >> 8 & 1), raw = raw - (OLD.counted >> 9 & 1), hidden = hidden - (OLD.counted >> 10 & 1), images = images - (OLD.counted >> 11 & 1), slomos = slomos - (OLD.counted >> 12 & 1), timelapses = timelapses - (OLD.counted >> 13 & 1), selfPortraits = selfPortraits - (OLD.counted >> 14 & 1), animated = animated - (OLD.counted >> 15 & 1), longExposures = longExposures - (OLD.counted >> 16 & 1), cinematic = cinematic - (OLD.counted >> 17 & 1), spatial = spatial - (OLD.counted >> 18 & 1), screenRecordings = screenRecordings - (OLD.counted >> 19 & 1), renderable = renderable - (OLD.counted >> 20 & 1)
        WHERE library = OLD.library AND listing = OLD.listing;
  UPDATE dayCount SET value = value - 1
    WHERE library = OLD.library AND day = OLD.localDay AND listing = OLD.listing;
  INSERT INTO staleDay VALUES (OLD.library, OLD.localDay) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER countDeletedFolderAsset AFTER DELETE ON folderAsset BEGIN
  UPDATE folderCount SET value = value - 1 WHERE folder = OLD.folder AND listing = OLD.listing;
END;
CREATE TRIGGER countDeletedMember AFTER DELETE ON member BEGIN
  UPDATE memberCount SET value = value - 1 WHERE collection = OLD.collection AND listing = OLD.listing;
END;
CREATE TRIGGER countInsertedAsset AFTER INSERT ON libraryAsset BEGIN
  UPDATE counter SET assets = assets + (NEW.counted >> 0 & 1), favorites = favorites + (NEW.counted >> 1 & 1), videos = videos + (NEW.counted >> 2 & 1), panoramas = panoramas + (NEW.counted >> 3 & 1), bursts = bursts + (NEW.counted >> 4 & 1), screenshots = screenshots + (NEW.counted >> 5 & 1), hdr = hdr + (NEW.counted >> 6 & 1), depthEffect = depthEffect + (NEW.counted >> 7 & 1), livePhotos = livePhotos + (NEW.counted >> 8 & 1), raw = raw + (NEW.counted >> 9 & 1), hidden = hidden + (NEW.counted >> 10 & 1), images = images + (NEW.counted >> 11 & 1), slomos = slomos + (NEW.counted >> 12 & 1), timelapses = timelapses + (NEW.counted >> 13 & 1), selfPortraits = selfPortraits + (NEW.counted >> 14 & 1), animated = animated + (NEW.counted >> 15 & 1), longExposures = longExposures + (NEW.counted >> 16 & 1), cinematic = cinematic + (NEW.counted >> 17 & 1), spatial = spatial + (NEW.counted >> 18 & 1), screenRecordings = screenRecordings + (NEW.counted >> 19 & 1), renderable = renderable + (NEW.counted >> 20 & 1)
        WHERE library = NEW.library AND listing = NEW.listing;
  INSERT INTO dayCount VALUES (NEW.library, NEW.localDay, NEW.listing, 0) ON CONFLICT DO NOTHING;
  UPDATE dayCount SET value = value + 1
    WHERE library = NEW.library AND day = NEW.localDay AND listing = NEW.listing;
  INSERT INTO staleDay VALUES (NEW.library, NEW.localDay) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER countInsertedFolderAsset AFTER INSERT ON folderAsset BEGIN
  INSERT INTO folderCount VALUES (NEW.folder, NEW.listing, 1) ON CONFLICT DO UPDATE SET value = value + 1;
END;
CREATE TRIGGER countInsertedMember AFTER INSERT ON member BEGIN
  INSERT INTO memberCount VALUES (NEW.collection, NEW.listing, 1) ON CONFLICT DO UPDATE SET value = value + 1;
END;
CREATE TRIGGER countMovedAsset AFTER UPDATE OF creationDate, localDay, listing ON libraryAsset
  WHEN NEW.creationDate <> OLD.creationDate OR NEW.localDay <> OLD.localDay OR NEW.listing <> OLD.listing
BEGIN
  UPDATE counter SET assets = assets - (OLD.counted >> 0 & 1), favorites = favorites - (OLD.counted >> 1 & 1), videos = videos - (OLD.counted >> 2 & 1), panoramas = panoramas - (OLD.counted >> 3 & 1), bursts = bursts - (OLD.counted >> 4 & 1), screenshots = screenshots - (OLD.counted >> 5 & 1), hdr = hdr - (OLD.counted >> 6 & 1), depthEffect = depthEffect - (OLD.counted >> 7 & 1), livePhotos = livePhotos - (OLD.counted >> 8 & 1), raw = raw - (OLD.counted >> 9 & 1), hidden = hidden - (OLD.counted >> 10 & 1), images = images - (OLD.counted >> 11 & 1), slomos = slomos - (OLD.counted >> 12 & 1), timelapses = timelapses - (OLD.counted >> 13 & 1), selfPortraits = selfPortraits - (OLD.counted >> 14 & 1), animated = animated - (OLD.counted >> 15 & 1), longExposures = longExposures - (OLD.counted >> 16 & 1), cinematic = cinematic - (OLD.counted >> 17 & 1), spatial = spatial - (OLD.counted >> 18 & 1), screenRecordings = screenRecordings - (OLD.counted >> 19 & 1), renderable = renderable - (OLD.counted >> 20 & 1)
        WHERE library = OLD.library AND listing = OLD.listing;
  UPDATE counter SET assets = assets + (NEW.counted >> 0 & 1), favorites = favorites + (NEW.counted >> 1 & 1), videos = videos + (NEW.counted >> 2 & 1), panoramas = panoramas + (NEW.counted >> 3 & 1), bursts = bursts + (NEW.counted >> 4 & 1), screenshots = screenshots + (NEW.counted >> 5 & 1), hdr = hdr + (NEW.counted >> 6 & 1), depthEffect = depthEffect + (NEW.counted >> 7 & 1), livePhotos = livePhotos + (NEW.counted >> 8 & 1), raw = raw + (NEW.counted >> 9 & 1), hidden = hidden + (NEW.counted >> 10 & 1), images = images + (NEW.counted >> 11 & 1), slomos = slomos + (NEW.counted >> 12 & 1), timelapses = timelapses + (NEW.counted >> 13 & 1), selfPortraits = selfPortraits + (NEW.counted >> 14 & 1), animated = animated + (NEW.counted >> 15 & 1), longExposures = longExposures + (NEW.counted >> 16 & 1), cinematic = cinematic + (NEW.counted >> 17 & 1), spatial = spatial + (NEW.counted >> 18 & 1), screenRecordings = screenRecordings + (NEW.counted >> 19 & 1), renderable = renderable + (NEW.counted >> 20 & 1)
        WHERE library = NEW.library AND listing = NEW.listing;
  UPDATE dayCount SET value = value - 1
    WHERE library = OLD.library AND day = OLD.localDay AND listing = OLD.listing;
  INSERT INTO dayCount VALUES (NEW.library, NEW.localDay, NEW.listing, 1)
    ON CONFLICT DO UPDATE SET value = value + 1;
  INSERT INTO staleDay VALUES
    (OLD.library, OLD.localDay), (NEW.library, NEW.localDay) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER countRelistedFolderAsset AFTER UPDATE OF listing ON folderAsset WHEN NEW.listing <> OLD.listing BEGIN
  UPDATE folderCount SET value = value - 1 WHERE folder = OLD.folder AND listing = OLD.listing;
  INSERT INTO folderCount VALUES (NEW.folder, NEW.listing, 1) ON CONFLICT DO UPDATE SET value = value + 1;
END;
CREATE TRIGGER countRelistedMember AFTER UPDATE OF listing ON member WHEN NEW.listing <> OLD.listing BEGIN
  UPDATE memberCount SET value = value - 1 WHERE collection = OLD.collection AND listing = OLD.listing;
  INSERT INTO memberCount VALUES (NEW.collection, NEW.listing, 1) ON CONFLICT DO UPDATE SET value = value + 1;
END;
CREATE TRIGGER createCounters AFTER INSERT ON library BEGIN
  INSERT INTO counter (library, listing) VALUES (NEW.id, 0), (NEW.id, 1), (NEW.id, 2), (NEW.id, 3);
END;
CREATE TRIGGER enterFolder AFTER INSERT ON folderAbove BEGIN
  INSERT INTO folderAsset (folder, asset, creationDate, listing, sources)
    SELECT NEW.folder, asset, creationDate, listing, 1 FROM member WHERE collection = NEW.collection
    ON CONFLICT DO UPDATE SET sources = sources + 1;
END;
CREATE TRIGGER enterFolderWithMember AFTER INSERT ON member
  WHEN EXISTS (SELECT 1 FROM folderAbove WHERE collection = NEW.collection)
BEGIN
  INSERT INTO folderAsset (folder, asset, creationDate, listing, sources)
    SELECT folder, NEW.asset, NEW.creationDate, NEW.listing, 1 FROM folderAbove WHERE collection = NEW.collection
    ON CONFLICT DO UPDATE SET sources = sources + 1;
END;
CREATE TRIGGER enterFolders AFTER INSERT ON collection WHEN NEW.parent IS NOT NULL BEGIN
  INSERT INTO folderAbove (collection, folder)
    SELECT NEW.id, NEW.parent UNION ALL SELECT NEW.id, folder FROM folderAbove WHERE collection = NEW.parent;
END;
CREATE TRIGGER enterWithAlbum AFTER INSERT ON libraryCollection WHEN NEW.library > 0 BEGIN
  INSERT INTO libraryAsset (library, asset, creationDate, localIdentifier, listing, counted, addedDate, burstIdentifier, localDay, dimensions, grid, duration, contentVersion, placeholder, sources, came)
    SELECT NEW.library, asset.id, asset.creationDate, asset.localIdentifier, asset.listing, asset.counted, asset.addedDate, asset.burstIdentifier, asset.localDay, asset.dimensions, asset.grid, asset.duration, asset.contentVersion, asset.placeholder, 1, (SELECT revision FROM library WHERE id = 0)
    FROM member CROSS JOIN asset ON asset.id = member.asset WHERE member.collection = NEW.collection
    ON CONFLICT DO UPDATE SET sources = sources + 1;
END;
CREATE TRIGGER enterWithMember AFTER INSERT ON member
  WHEN EXISTS (SELECT 1 FROM libraryCollection WHERE collection = NEW.collection AND library > 0)
BEGIN
  INSERT INTO libraryAsset (library, asset, creationDate, localIdentifier, listing, counted, addedDate, burstIdentifier, localDay, dimensions, grid, duration, contentVersion, placeholder, sources, came)
    SELECT library, asset.id, asset.creationDate, asset.localIdentifier, asset.listing, asset.counted, asset.addedDate, asset.burstIdentifier, asset.localDay, asset.dimensions, asset.grid, asset.duration, asset.contentVersion, asset.placeholder, 1, (SELECT revision FROM library WHERE id = 0)
    FROM libraryCollection CROSS JOIN asset
    WHERE collection = NEW.collection AND library > 0 AND asset.id = NEW.asset
    ON CONFLICT DO UPDATE SET sources = sources + 1;
END;
CREATE TRIGGER forgetPlaceholder AFTER UPDATE OF contentVersion ON asset
  WHEN NEW.placeholder IS NOT NULL AND NEW.contentVersion <> OLD.contentVersion
    AND NEW.placeholderVersion IS NOT NEW.contentVersion
BEGIN
  UPDATE asset SET placeholder = NULL, saliency = NULL, placeholderVersion = NULL WHERE id = NEW.id;
END;
CREATE TRIGGER forgetPurgedContent AFTER DELETE ON file WHEN OLD.fingerprint IS NOT NULL BEGIN
  DELETE FROM purgedContent WHERE fingerprint = OLD.fingerprint;
END;
CREATE TRIGGER leaveFolder AFTER DELETE ON folderAbove BEGIN
  UPDATE folderAsset SET sources = sources - 1
    WHERE folder = OLD.folder AND asset IN (SELECT asset FROM member WHERE collection = OLD.collection);
  DELETE FROM folderAsset
    WHERE folder = OLD.folder AND sources = 0
      AND asset IN (SELECT asset FROM member WHERE collection = OLD.collection);
END;
CREATE TRIGGER leaveFolderWithMember AFTER DELETE ON member
  WHEN EXISTS (SELECT 1 FROM folderAbove WHERE collection = OLD.collection)
BEGIN
  UPDATE folderAsset SET sources = sources - 1
    WHERE asset = OLD.asset AND folder IN (SELECT folder FROM folderAbove WHERE collection = OLD.collection);
  DELETE FROM folderAsset WHERE asset = OLD.asset AND sources = 0;
END;
CREATE TRIGGER leaveWithAlbum AFTER DELETE ON libraryCollection
  WHEN OLD.library > 0 AND EXISTS (SELECT 1 FROM library WHERE id = OLD.library)
BEGIN
  UPDATE libraryAsset SET sources = sources - 1
    WHERE library = OLD.library AND asset IN (SELECT asset FROM member WHERE collection = OLD.collection);
  -- The plus sign keeps SQLite from reading all assets of the library along its primary key.
  DELETE FROM libraryAsset
    WHERE +library = OLD.library AND sources = 0
      AND asset IN (SELECT asset FROM member WHERE collection = OLD.collection);
END;
CREATE TRIGGER leaveWithMember AFTER DELETE ON member
  WHEN EXISTS (SELECT 1 FROM libraryCollection WHERE collection = OLD.collection AND library > 0)
BEGIN
  UPDATE libraryAsset SET sources = sources - 1
    WHERE asset = OLD.asset
      AND library IN (SELECT library FROM libraryCollection WHERE collection = OLD.collection AND library > 0);
  DELETE FROM libraryAsset WHERE asset = OLD.asset AND sources = 0;
END;
CREATE TRIGGER moveBetweenLibraries AFTER UPDATE OF parent ON collection
  WHEN NEW.parent IS NOT OLD.parent AND EXISTS (SELECT 1 FROM library WHERE id > 0)
BEGIN
  DELETE FROM libraryCollection WHERE (collection, library) IN (
    SELECT below.collection, lost.library
    FROM (
        SELECT library FROM libraryCollection WHERE collection = OLD.parent AND library > 0
        EXCEPT SELECT library FROM libraryCollection WHERE collection = NEW.parent) AS lost
      CROSS JOIN (
        SELECT NEW.id AS collection
        UNION ALL SELECT collection FROM folderAbove WHERE folder = NEW.id) AS below
    WHERE NOT EXISTS (
      SELECT 1 FROM collection AS granted CROSS JOIN libraryGrant
        ON libraryGrant.localIdentifier = granted.localIdentifier AND libraryGrant.library = lost.library
      WHERE granted.id IN (
          SELECT below.collection UNION ALL SELECT folder FROM folderAbove WHERE collection = below.collection)
        AND (granted.id = NEW.id OR EXISTS (
          SELECT 1 FROM folderAbove WHERE collection = granted.id AND folder = NEW.id))));
  INSERT INTO libraryCollection (collection, library, came, localIdentifier, type, position)
    SELECT collection.id, gained.library, (SELECT revision FROM library WHERE id = 0), localIdentifier, type, position
    FROM (
        SELECT library FROM libraryCollection WHERE collection = NEW.parent AND library > 0
        EXCEPT SELECT library FROM libraryCollection WHERE collection = OLD.parent) AS gained
      CROSS JOIN (
        SELECT NEW.id AS collection
        UNION ALL SELECT collection FROM folderAbove WHERE folder = NEW.id) AS below
      CROSS JOIN collection ON collection.id = below.collection
    WHERE true
    ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER noteAssetOfFolder AFTER INSERT ON folderAsset BEGIN
  INSERT INTO changedMember (token, collection, asset, event) SELECT (SELECT revision FROM library WHERE id = 0), NEW.folder, NEW.asset, 0
        WHERE NOT EXISTS (SELECT 1 FROM changedMember WHERE token = (SELECT revision FROM library WHERE id = 0) AND collection = NEW.folder AND asset = NEW.asset);
      DELETE FROM changedMember WHERE token = (SELECT revision FROM library WHERE id = 0) AND collection = NEW.folder AND asset = NEW.asset AND event = 2;
END;
CREATE TRIGGER noteAssetOutOfFolder AFTER DELETE ON folderAsset BEGIN
  INSERT INTO changedMember (token, collection, asset, event) SELECT (SELECT revision FROM library WHERE id = 0), OLD.folder, OLD.asset, 2
        WHERE NOT EXISTS (SELECT 1 FROM changedMember WHERE token = (SELECT revision FROM library WHERE id = 0) AND collection = OLD.folder AND asset = OLD.asset);
      DELETE FROM changedMember WHERE token = (SELECT revision FROM library WHERE id = 0) AND collection = OLD.folder AND asset = OLD.asset AND event = 0;
END;
CREATE TRIGGER noteDeletedAsset AFTER DELETE ON asset BEGIN
  INSERT INTO changedObject VALUES ((SELECT revision FROM library WHERE id = 0), 0, OLD.id, 2, 0, 0)
    ON CONFLICT DO UPDATE SET event = CASE event WHEN 0 THEN 3 ELSE 2 END, isContentChanged = 0, isLocationOnly = 0;
  DELETE FROM changedObject WHERE token = (SELECT revision FROM library WHERE id = 0) AND kind = 0 AND object = OLD.id AND event = 3;
END;
CREATE TRIGGER noteDeletedCollection AFTER DELETE ON collection BEGIN
  INSERT INTO changedObject VALUES ((SELECT revision FROM library WHERE id = 0), 1, OLD.id, 2, 0, 0)
    ON CONFLICT DO UPDATE SET event = CASE event WHEN 0 THEN 3 ELSE 2 END;
  DELETE FROM changedObject WHERE token = (SELECT revision FROM library WHERE id = 0) AND kind = 1 AND object = OLD.id AND event = 3;
  UPDATE collection SET revision = (SELECT revision FROM library WHERE id = 0) WHERE id = OLD.parent AND revision <> (SELECT revision FROM library WHERE id = 0);
END;
CREATE TRIGGER noteDeletedContent AFTER DELETE ON asset BEGIN
  INSERT INTO formerContent
    SELECT content, (SELECT changeDate FROM library WHERE id = 0)
    FROM (SELECT substr(OLD.contentVersion, 1, 22) AS content UNION SELECT substr(OLD.unadjustedVersion, 1, 22))
    WHERE content IS NOT NULL AND 1
    ON CONFLICT DO UPDATE SET since = excluded.since;
END;
CREATE TRIGGER noteDeletedMember AFTER DELETE ON member BEGIN
  INSERT INTO changedMember VALUES ((SELECT revision FROM library WHERE id = 0), OLD.collection, OLD.asset, 2)
    ON CONFLICT DO UPDATE SET event = CASE event WHEN 0 THEN 3 ELSE 2 END;
  DELETE FROM changedMember
    WHERE token = (SELECT revision FROM library WHERE id = 0) AND collection = OLD.collection AND asset = OLD.asset AND event = 3;
  UPDATE collection SET revision = (SELECT revision FROM library WHERE id = 0) WHERE id = OLD.collection AND revision <> (SELECT revision FROM library WHERE id = 0);
END;
CREATE TRIGGER noteEnteredAsset AFTER INSERT ON libraryAsset WHEN NEW.library > 0 AND (SELECT revision FROM library WHERE id = 0) > (SELECT createdRevision FROM library WHERE id = NEW.library) BEGIN
  INSERT INTO changedVisibility (token, library, kind, object, event) SELECT (SELECT revision FROM library WHERE id = 0), NEW.library, 0, NEW.asset, 0
        WHERE NOT EXISTS (SELECT 1 FROM changedVisibility WHERE token = (SELECT revision FROM library WHERE id = 0) AND library = NEW.library AND kind = 0 AND object = NEW.asset);
      DELETE FROM changedVisibility WHERE token = (SELECT revision FROM library WHERE id = 0) AND library = NEW.library AND kind = 0 AND object = NEW.asset AND event = 2;
END;
CREATE TRIGGER noteEnteredCollection AFTER INSERT ON libraryCollection WHEN NEW.library > 0 AND (SELECT revision FROM library WHERE id = 0) > (SELECT createdRevision FROM library WHERE id = NEW.library) BEGIN
  INSERT INTO changedVisibility (token, library, kind, object, event) SELECT (SELECT revision FROM library WHERE id = 0), NEW.library, 1, NEW.collection, 0
        WHERE NOT EXISTS (SELECT 1 FROM changedVisibility WHERE token = (SELECT revision FROM library WHERE id = 0) AND library = NEW.library AND kind = 1 AND object = NEW.collection);
      DELETE FROM changedVisibility WHERE token = (SELECT revision FROM library WHERE id = 0) AND library = NEW.library AND kind = 1 AND object = NEW.collection AND event = 2;
END;
CREATE TRIGGER noteFormerContent AFTER UPDATE OF contentVersion, unadjustedVersion ON asset
  WHEN NEW.contentVersion <> OLD.contentVersion OR NEW.unadjustedVersion IS NOT OLD.unadjustedVersion
BEGIN
  INSERT INTO formerContent
    SELECT content, (SELECT changeDate FROM library WHERE id = 0)
    FROM (SELECT substr(OLD.contentVersion, 1, 22) AS content UNION SELECT substr(OLD.unadjustedVersion, 1, 22))
    WHERE content IS NOT NULL AND content NOT IN (substr(NEW.contentVersion, 1, 22), coalesce(substr(NEW.unadjustedVersion, 1, 22), ''))
    ON CONFLICT DO UPDATE SET since = excluded.since;
  DELETE FROM formerContent
    WHERE content IN (substr(NEW.contentVersion, 1, 22), substr(NEW.unadjustedVersion, 1, 22));
END;
CREATE TRIGGER noteInsertedAsset AFTER INSERT ON asset BEGIN
  INSERT INTO changedObject VALUES ((SELECT revision FROM library WHERE id = 0), 0, NEW.id, 0, 0, 0) ON CONFLICT DO NOTHING;
  UPDATE changedObject SET event = 1, isContentChanged = 1, isLocationOnly = 0
    WHERE token = (SELECT revision FROM library WHERE id = 0) AND kind = 0 AND object = NEW.id AND event <> 0;
END;
CREATE TRIGGER noteInsertedCollection AFTER INSERT ON collection BEGIN
  INSERT INTO changedObject VALUES ((SELECT revision FROM library WHERE id = 0), 1, NEW.id, 0, 0, 0)
    ON CONFLICT DO UPDATE SET event = 1;
  UPDATE collection SET revision = (SELECT revision FROM library WHERE id = 0) WHERE id = NEW.parent AND revision <> (SELECT revision FROM library WHERE id = 0);
END;
CREATE TRIGGER noteInsertedMember AFTER INSERT ON member BEGIN
  INSERT INTO changedMember VALUES ((SELECT revision FROM library WHERE id = 0), NEW.collection, NEW.asset, 0)
    ON CONFLICT DO UPDATE SET event = CASE event WHEN 2 THEN 1 ELSE event END;
  UPDATE collection SET revision = (SELECT revision FROM library WHERE id = 0) WHERE id = NEW.collection AND revision <> (SELECT revision FROM library WHERE id = 0);
END;
CREATE TRIGGER noteLeftAsset AFTER DELETE ON libraryAsset WHEN OLD.library > 0 AND (SELECT revision FROM library WHERE id = 0) > (SELECT createdRevision FROM library WHERE id = OLD.library) BEGIN
  INSERT INTO changedVisibility (token, library, kind, object, event) SELECT (SELECT revision FROM library WHERE id = 0), OLD.library, 0, OLD.asset, 2
        WHERE NOT EXISTS (SELECT 1 FROM changedVisibility WHERE token = (SELECT revision FROM library WHERE id = 0) AND library = OLD.library AND kind = 0 AND object = OLD.asset);
      DELETE FROM changedVisibility WHERE token = (SELECT revision FROM library WHERE id = 0) AND library = OLD.library AND kind = 0 AND object = OLD.asset AND event = 0;
END;
CREATE TRIGGER noteLeftCollection AFTER DELETE ON libraryCollection WHEN OLD.library > 0 AND (SELECT revision FROM library WHERE id = 0) > (SELECT createdRevision FROM library WHERE id = OLD.library) BEGIN
  INSERT INTO changedVisibility (token, library, kind, object, event) SELECT (SELECT revision FROM library WHERE id = 0), OLD.library, 1, OLD.collection, 2
        WHERE NOT EXISTS (SELECT 1 FROM changedVisibility WHERE token = (SELECT revision FROM library WHERE id = 0) AND library = OLD.library AND kind = 1 AND object = OLD.collection);
      DELETE FROM changedVisibility WHERE token = (SELECT revision FROM library WHERE id = 0) AND library = OLD.library AND kind = 1 AND object = OLD.collection AND event = 0;
END;
CREATE TRIGGER noteMovedMember AFTER UPDATE OF position ON member WHEN NEW.position <> OLD.position BEGIN
  INSERT INTO changedMember VALUES ((SELECT revision FROM library WHERE id = 0), NEW.collection, NEW.asset, 1) ON CONFLICT DO NOTHING;
  UPDATE collection SET revision = (SELECT revision FROM library WHERE id = 0) WHERE id = NEW.collection AND revision <> (SELECT revision FROM library WHERE id = 0);
END;
CREATE TRIGGER noteRemovedAsset AFTER DELETE ON libraryAsset
  WHEN EXISTS (SELECT 1 FROM library WHERE id = OLD.library)
BEGIN
  INSERT INTO removedObject SELECT OLD.library, 0, OLD.asset, OLD.localIdentifier, (SELECT revision FROM library WHERE id = 0) WHERE OLD.library = 0 OR OLD.came < (SELECT revision FROM library WHERE id = 0)
        OR OLD.came = (SELECT createdRevision FROM library WHERE id = OLD.library)
    ON CONFLICT DO UPDATE SET localIdentifier = excluded.localIdentifier, token = excluded.token;
  UPDATE library SET revision = (SELECT revision FROM library WHERE id = 0),
      nonLocationRevision = CASE 0 WHEN 0 THEN (SELECT revision FROM library WHERE id = 0) ELSE nonLocationRevision END,
      objects = CASE revision WHEN (SELECT revision FROM library WHERE id = 0) THEN objects ELSE 0 END + 1
      WHERE id = OLD.library AND id > 0;
END;
CREATE TRIGGER noteRemovedCollection AFTER DELETE ON libraryCollection
  WHEN EXISTS (SELECT 1 FROM library WHERE id = OLD.library)
BEGIN
  INSERT INTO removedObject SELECT OLD.library, 1, OLD.collection, OLD.localIdentifier, (SELECT revision FROM library WHERE id = 0) WHERE OLD.library = 0 OR OLD.came < (SELECT revision FROM library WHERE id = 0)
        OR OLD.came = (SELECT createdRevision FROM library WHERE id = OLD.library)
    ON CONFLICT DO UPDATE SET localIdentifier = excluded.localIdentifier, token = excluded.token;
  UPDATE library SET revision = (SELECT revision FROM library WHERE id = 0),
      nonLocationRevision = CASE 0 WHEN 0 THEN (SELECT revision FROM library WHERE id = 0) ELSE nonLocationRevision END,
      objects = CASE revision WHEN (SELECT revision FROM library WHERE id = 0) THEN objects ELSE 0 END + 1
      WHERE id = OLD.library AND id > 0;
END;
CREATE TRIGGER noteRevisedCollection AFTER UPDATE OF revision ON collection WHEN NEW.revision <> OLD.revision
BEGIN
  INSERT INTO changedObject VALUES ((SELECT revision FROM library WHERE id = 0), 1, NEW.id, 1, 0, 0) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER noteUpdatedAsset AFTER UPDATE OF contentVersion, mediaType, mediaSubtypes, sourceType, uniformTypeIdentifier, isRAW, originalFilename, fileSize, pixelWidth, pixelHeight, orientation, hasAlpha, duration, creationDate, creationDateSource, utcOffset, fileModificationDate, cameraMake, cameraModel, isFavorite, isHidden, keepsOriginal, adjustments, burstIdentifier, representsBurst, burstSelectionTypes, lensModel, rating, title, keywords, people, regions, rights, license, caption, isSelfPortrait, isAnimated, isLongExposure, latitude, longitude, altitude, placeCity, placeRegion, placeCountry, revision ON asset
  WHEN (NEW.contentVersion, NEW.mediaType, NEW.mediaSubtypes, NEW.sourceType, NEW.uniformTypeIdentifier, NEW.isRAW, NEW.originalFilename, NEW.fileSize, NEW.pixelWidth, NEW.pixelHeight, NEW.orientation, NEW.hasAlpha, NEW.duration, NEW.creationDate, NEW.creationDateSource, NEW.utcOffset, NEW.fileModificationDate, NEW.cameraMake, NEW.cameraModel, NEW.isFavorite, NEW.isHidden, NEW.keepsOriginal, NEW.adjustments, NEW.burstIdentifier, NEW.representsBurst, NEW.burstSelectionTypes, NEW.lensModel, NEW.rating, NEW.title, NEW.keywords, NEW.people, NEW.regions, NEW.rights, NEW.license, NEW.caption, NEW.isSelfPortrait, NEW.isAnimated, NEW.isLongExposure, NEW.latitude, NEW.longitude, NEW.altitude, NEW.placeCity, NEW.placeRegion, NEW.placeCountry, NEW.revision) IS NOT (OLD.contentVersion, OLD.mediaType, OLD.mediaSubtypes, OLD.sourceType, OLD.uniformTypeIdentifier, OLD.isRAW, OLD.originalFilename, OLD.fileSize, OLD.pixelWidth, OLD.pixelHeight, OLD.orientation, OLD.hasAlpha, OLD.duration, OLD.creationDate, OLD.creationDateSource, OLD.utcOffset, OLD.fileModificationDate, OLD.cameraMake, OLD.cameraModel, OLD.isFavorite, OLD.isHidden, OLD.keepsOriginal, OLD.adjustments, OLD.burstIdentifier, OLD.representsBurst, OLD.burstSelectionTypes, OLD.lensModel, OLD.rating, OLD.title, OLD.keywords, OLD.people, OLD.regions, OLD.rights, OLD.license, OLD.caption, OLD.isSelfPortrait, OLD.isAnimated, OLD.isLongExposure, OLD.latitude, OLD.longitude, OLD.altitude, OLD.placeCity, OLD.placeRegion, OLD.placeCountry, OLD.revision)
BEGIN
  INSERT INTO changedObject
    VALUES ((SELECT revision FROM library WHERE id = 0), 0, NEW.id, 1, NEW.contentVersion <> OLD.contentVersion, (CASE WHEN (NEW.latitude, NEW.longitude, NEW.altitude, NEW.placeCity, NEW.placeRegion, NEW.placeCountry) IS NOT (OLD.latitude, OLD.longitude, OLD.altitude, OLD.placeCity, OLD.placeRegion, OLD.placeCountry) THEN NOT ((NEW.contentVersion, NEW.mediaType, NEW.mediaSubtypes, NEW.sourceType, NEW.uniformTypeIdentifier, NEW.isRAW, NEW.originalFilename, NEW.fileSize, NEW.pixelWidth, NEW.pixelHeight, NEW.orientation, NEW.hasAlpha, NEW.duration, NEW.creationDate, NEW.creationDateSource, NEW.utcOffset, NEW.fileModificationDate, NEW.cameraMake, NEW.cameraModel, NEW.isFavorite, NEW.isHidden, NEW.keepsOriginal, NEW.adjustments, NEW.burstIdentifier, NEW.representsBurst, NEW.burstSelectionTypes, NEW.lensModel, NEW.rating, NEW.title, NEW.keywords, NEW.people, NEW.regions, NEW.rights, NEW.license, NEW.caption, NEW.isSelfPortrait, NEW.isAnimated, NEW.isLongExposure) IS NOT (OLD.contentVersion, OLD.mediaType, OLD.mediaSubtypes, OLD.sourceType, OLD.uniformTypeIdentifier, OLD.isRAW, OLD.originalFilename, OLD.fileSize, OLD.pixelWidth, OLD.pixelHeight, OLD.orientation, OLD.hasAlpha, OLD.duration, OLD.creationDate, OLD.creationDateSource, OLD.utcOffset, OLD.fileModificationDate, OLD.cameraMake, OLD.cameraModel, OLD.isFavorite, OLD.isHidden, OLD.keepsOriginal, OLD.adjustments, OLD.burstIdentifier, OLD.representsBurst, OLD.burstSelectionTypes, OLD.lensModel, OLD.rating, OLD.title, OLD.keywords, OLD.people, OLD.regions, OLD.rights, OLD.license, OLD.caption, OLD.isSelfPortrait, OLD.isAnimated, OLD.isLongExposure)) ELSE 0 END))
    ON CONFLICT DO UPDATE SET isContentChanged = max(isContentChanged, excluded.isContentChanged),
      isLocationOnly = min(isLocationOnly, excluded.isLocationOnly);
  UPDATE asset SET revision = (SELECT revision FROM library WHERE id = 0), nonLocationRevision = CASE WHEN (CASE WHEN (NEW.latitude, NEW.longitude, NEW.altitude, NEW.placeCity, NEW.placeRegion, NEW.placeCountry) IS NOT (OLD.latitude, OLD.longitude, OLD.altitude, OLD.placeCity, OLD.placeRegion, OLD.placeCountry) THEN NOT ((NEW.contentVersion, NEW.mediaType, NEW.mediaSubtypes, NEW.sourceType, NEW.uniformTypeIdentifier, NEW.isRAW, NEW.originalFilename, NEW.fileSize, NEW.pixelWidth, NEW.pixelHeight, NEW.orientation, NEW.hasAlpha, NEW.duration, NEW.creationDate, NEW.creationDateSource, NEW.utcOffset, NEW.fileModificationDate, NEW.cameraMake, NEW.cameraModel, NEW.isFavorite, NEW.isHidden, NEW.keepsOriginal, NEW.adjustments, NEW.burstIdentifier, NEW.representsBurst, NEW.burstSelectionTypes, NEW.lensModel, NEW.rating, NEW.title, NEW.keywords, NEW.people, NEW.regions, NEW.rights, NEW.license, NEW.caption, NEW.isSelfPortrait, NEW.isAnimated, NEW.isLongExposure) IS NOT (OLD.contentVersion, OLD.mediaType, OLD.mediaSubtypes, OLD.sourceType, OLD.uniformTypeIdentifier, OLD.isRAW, OLD.originalFilename, OLD.fileSize, OLD.pixelWidth, OLD.pixelHeight, OLD.orientation, OLD.hasAlpha, OLD.duration, OLD.creationDate, OLD.creationDateSource, OLD.utcOffset, OLD.fileModificationDate, OLD.cameraMake, OLD.cameraModel, OLD.isFavorite, OLD.isHidden, OLD.keepsOriginal, OLD.adjustments, OLD.burstIdentifier, OLD.representsBurst, OLD.burstSelectionTypes, OLD.lensModel, OLD.rating, OLD.title, OLD.keywords, OLD.people, OLD.regions, OLD.rights, OLD.license, OLD.caption, OLD.isSelfPortrait, OLD.isAnimated, OLD.isLongExposure)) ELSE 0 END) THEN coalesce(OLD.nonLocationRevision, OLD.revision) END,
      modificationDate = max(modificationDate, (SELECT changeDate FROM library WHERE id = 0)),
      nonLocationModificationDate = CASE WHEN (CASE WHEN (NEW.latitude, NEW.longitude, NEW.altitude, NEW.placeCity, NEW.placeRegion, NEW.placeCountry) IS NOT (OLD.latitude, OLD.longitude, OLD.altitude, OLD.placeCity, OLD.placeRegion, OLD.placeCountry) THEN NOT ((NEW.contentVersion, NEW.mediaType, NEW.mediaSubtypes, NEW.sourceType, NEW.uniformTypeIdentifier, NEW.isRAW, NEW.originalFilename, NEW.fileSize, NEW.pixelWidth, NEW.pixelHeight, NEW.orientation, NEW.hasAlpha, NEW.duration, NEW.creationDate, NEW.creationDateSource, NEW.utcOffset, NEW.fileModificationDate, NEW.cameraMake, NEW.cameraModel, NEW.isFavorite, NEW.isHidden, NEW.keepsOriginal, NEW.adjustments, NEW.burstIdentifier, NEW.representsBurst, NEW.burstSelectionTypes, NEW.lensModel, NEW.rating, NEW.title, NEW.keywords, NEW.people, NEW.regions, NEW.rights, NEW.license, NEW.caption, NEW.isSelfPortrait, NEW.isAnimated, NEW.isLongExposure) IS NOT (OLD.contentVersion, OLD.mediaType, OLD.mediaSubtypes, OLD.sourceType, OLD.uniformTypeIdentifier, OLD.isRAW, OLD.originalFilename, OLD.fileSize, OLD.pixelWidth, OLD.pixelHeight, OLD.orientation, OLD.hasAlpha, OLD.duration, OLD.creationDate, OLD.creationDateSource, OLD.utcOffset, OLD.fileModificationDate, OLD.cameraMake, OLD.cameraModel, OLD.isFavorite, OLD.isHidden, OLD.keepsOriginal, OLD.adjustments, OLD.burstIdentifier, OLD.representsBurst, OLD.burstSelectionTypes, OLD.lensModel, OLD.rating, OLD.title, OLD.keywords, OLD.people, OLD.regions, OLD.rights, OLD.license, OLD.caption, OLD.isSelfPortrait, OLD.isAnimated, OLD.isLongExposure)) ELSE 0 END) THEN coalesce(OLD.nonLocationModificationDate, OLD.modificationDate) END
    WHERE id = NEW.id AND (revision <> (SELECT revision FROM library WHERE id = 0) OR nonLocationRevision IS NOT CASE WHEN (CASE WHEN (NEW.latitude, NEW.longitude, NEW.altitude, NEW.placeCity, NEW.placeRegion, NEW.placeCountry) IS NOT (OLD.latitude, OLD.longitude, OLD.altitude, OLD.placeCity, OLD.placeRegion, OLD.placeCountry) THEN NOT ((NEW.contentVersion, NEW.mediaType, NEW.mediaSubtypes, NEW.sourceType, NEW.uniformTypeIdentifier, NEW.isRAW, NEW.originalFilename, NEW.fileSize, NEW.pixelWidth, NEW.pixelHeight, NEW.orientation, NEW.hasAlpha, NEW.duration, NEW.creationDate, NEW.creationDateSource, NEW.utcOffset, NEW.fileModificationDate, NEW.cameraMake, NEW.cameraModel, NEW.isFavorite, NEW.isHidden, NEW.keepsOriginal, NEW.adjustments, NEW.burstIdentifier, NEW.representsBurst, NEW.burstSelectionTypes, NEW.lensModel, NEW.rating, NEW.title, NEW.keywords, NEW.people, NEW.regions, NEW.rights, NEW.license, NEW.caption, NEW.isSelfPortrait, NEW.isAnimated, NEW.isLongExposure) IS NOT (OLD.contentVersion, OLD.mediaType, OLD.mediaSubtypes, OLD.sourceType, OLD.uniformTypeIdentifier, OLD.isRAW, OLD.originalFilename, OLD.fileSize, OLD.pixelWidth, OLD.pixelHeight, OLD.orientation, OLD.hasAlpha, OLD.duration, OLD.creationDate, OLD.creationDateSource, OLD.utcOffset, OLD.fileModificationDate, OLD.cameraMake, OLD.cameraModel, OLD.isFavorite, OLD.isHidden, OLD.keepsOriginal, OLD.adjustments, OLD.burstIdentifier, OLD.representsBurst, OLD.burstSelectionTypes, OLD.lensModel, OLD.rating, OLD.title, OLD.keywords, OLD.people, OLD.regions, OLD.rights, OLD.license, OLD.caption, OLD.isSelfPortrait, OLD.isAnimated, OLD.isLongExposure)) ELSE 0 END) THEN coalesce(OLD.nonLocationRevision, OLD.revision) END
      OR modificationDate < (SELECT changeDate FROM library WHERE id = 0)
      OR nonLocationModificationDate IS NOT CASE WHEN (CASE WHEN (NEW.latitude, NEW.longitude, NEW.altitude, NEW.placeCity, NEW.placeRegion, NEW.placeCountry) IS NOT (OLD.latitude, OLD.longitude, OLD.altitude, OLD.placeCity, OLD.placeRegion, OLD.placeCountry) THEN NOT ((NEW.contentVersion, NEW.mediaType, NEW.mediaSubtypes, NEW.sourceType, NEW.uniformTypeIdentifier, NEW.isRAW, NEW.originalFilename, NEW.fileSize, NEW.pixelWidth, NEW.pixelHeight, NEW.orientation, NEW.hasAlpha, NEW.duration, NEW.creationDate, NEW.creationDateSource, NEW.utcOffset, NEW.fileModificationDate, NEW.cameraMake, NEW.cameraModel, NEW.isFavorite, NEW.isHidden, NEW.keepsOriginal, NEW.adjustments, NEW.burstIdentifier, NEW.representsBurst, NEW.burstSelectionTypes, NEW.lensModel, NEW.rating, NEW.title, NEW.keywords, NEW.people, NEW.regions, NEW.rights, NEW.license, NEW.caption, NEW.isSelfPortrait, NEW.isAnimated, NEW.isLongExposure) IS NOT (OLD.contentVersion, OLD.mediaType, OLD.mediaSubtypes, OLD.sourceType, OLD.uniformTypeIdentifier, OLD.isRAW, OLD.originalFilename, OLD.fileSize, OLD.pixelWidth, OLD.pixelHeight, OLD.orientation, OLD.hasAlpha, OLD.duration, OLD.creationDate, OLD.creationDateSource, OLD.utcOffset, OLD.fileModificationDate, OLD.cameraMake, OLD.cameraModel, OLD.isFavorite, OLD.isHidden, OLD.keepsOriginal, OLD.adjustments, OLD.burstIdentifier, OLD.representsBurst, OLD.burstSelectionTypes, OLD.lensModel, OLD.rating, OLD.title, OLD.keywords, OLD.people, OLD.regions, OLD.rights, OLD.license, OLD.caption, OLD.isSelfPortrait, OLD.isAnimated, OLD.isLongExposure)) ELSE 0 END) THEN coalesce(OLD.nonLocationModificationDate, OLD.modificationDate) END);
END;
CREATE TRIGGER noteUpdatedCollection AFTER UPDATE OF type, subtype, title, parent, keyAsset, keepsOriginals ON collection
  WHEN (NEW.type, NEW.subtype, NEW.title, NEW.parent, NEW.keyAsset, NEW.keepsOriginals) IS NOT (OLD.type, OLD.subtype, OLD.title, OLD.parent, OLD.keyAsset, OLD.keepsOriginals)
BEGIN
  UPDATE collection SET revision = (SELECT revision FROM library WHERE id = 0)
    WHERE (id = NEW.id OR NEW.parent IS NOT OLD.parent AND (id = NEW.parent OR id = OLD.parent))
      AND revision <> (SELECT revision FROM library WHERE id = 0);
END;
CREATE TRIGGER queueDeletedAsset AFTER DELETE ON asset BEGIN
  INSERT INTO searchQueue VALUES (((CASE WHEN OLD.creationDate BETWEEN -8796093022208 AND 8796093022207 THEN ~(OLD.creationDate >> 12) WHEN OLD.creationDate < 0 THEN 2147483647 ELSE -2147483648 END) << 32 | OLD.id)) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER queueDeletedMember AFTER DELETE ON member
  WHEN EXISTS (SELECT 1 FROM collection WHERE id = OLD.collection)
BEGIN
  INSERT INTO searchQueue VALUES (((CASE WHEN OLD.creationDate BETWEEN -8796093022208 AND 8796093022207 THEN ~(OLD.creationDate >> 12) WHEN OLD.creationDate < 0 THEN 2147483647 ELSE -2147483648 END) << 32 | OLD.asset)) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER queueInsertedAsset AFTER INSERT ON asset BEGIN
  INSERT INTO searchQueue VALUES (((CASE WHEN NEW.creationDate BETWEEN -8796093022208 AND 8796093022207 THEN ~(NEW.creationDate >> 12) WHEN NEW.creationDate < 0 THEN 2147483647 ELSE -2147483648 END) << 32 | NEW.id)) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER queueInsertedMember AFTER INSERT ON member BEGIN
  INSERT INTO searchQueue VALUES (((CASE WHEN NEW.creationDate BETWEEN -8796093022208 AND 8796093022207 THEN ~(NEW.creationDate >> 12) WHEN NEW.creationDate < 0 THEN 2147483647 ELSE -2147483648 END) << 32 | NEW.asset)) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER queueMovedFile AFTER UPDATE OF path, asset, isPrimary ON file
  WHEN NEW.path <> OLD.path OR NEW.isPrimary <> OLD.isPrimary OR NEW.asset IS NOT OLD.asset
BEGIN
  INSERT INTO searchQueue SELECT ((CASE WHEN creationDate BETWEEN -8796093022208 AND 8796093022207 THEN ~(creationDate >> 12) WHEN creationDate < 0 THEN 2147483647 ELSE -2147483648 END) << 32 | id) FROM asset WHERE id IN (OLD.asset, NEW.asset)
    ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER queueUpdatedAsset AFTER UPDATE OF originalFilename, title, caption, keywords, people, cameraMake, cameraModel, lensModel, placeCity, placeRegion, placeCountry, creationDate ON asset
  WHEN (NEW.originalFilename, NEW.title, NEW.caption, NEW.keywords, NEW.people, NEW.cameraMake, NEW.cameraModel, NEW.lensModel, NEW.placeCity, NEW.placeRegion, NEW.placeCountry, NEW.creationDate)
    IS NOT (OLD.originalFilename, OLD.title, OLD.caption, OLD.keywords, OLD.people, OLD.cameraMake, OLD.cameraModel, OLD.lensModel, OLD.placeCity, OLD.placeRegion, OLD.placeCountry, OLD.creationDate)
BEGIN
  INSERT INTO searchQueue VALUES (((CASE WHEN OLD.creationDate BETWEEN -8796093022208 AND 8796093022207 THEN ~(OLD.creationDate >> 12) WHEN OLD.creationDate < 0 THEN 2147483647 ELSE -2147483648 END) << 32 | OLD.id)) ON CONFLICT DO NOTHING;
  INSERT INTO searchQueue VALUES (((CASE WHEN NEW.creationDate BETWEEN -8796093022208 AND 8796093022207 THEN ~(NEW.creationDate >> 12) WHEN NEW.creationDate < 0 THEN 2147483647 ELSE -2147483648 END) << 32 | NEW.id)) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER reviseByAddedAsset AFTER INSERT ON libraryAsset WHEN NEW.library > 0 BEGIN
  UPDATE library SET revision = (SELECT revision FROM library WHERE id = 0),
      nonLocationRevision = CASE 0 WHEN 0 THEN (SELECT revision FROM library WHERE id = 0) ELSE nonLocationRevision END,
      objects = CASE revision WHEN (SELECT revision FROM library WHERE id = 0) THEN objects ELSE 0 END + 1
      WHERE id = NEW.library;
END;
CREATE TRIGGER reviseByAddedCollection AFTER INSERT ON libraryCollection WHEN NEW.library > 0 BEGIN
  UPDATE library SET revision = (SELECT revision FROM library WHERE id = 0),
      nonLocationRevision = CASE 0 WHEN 0 THEN (SELECT revision FROM library WHERE id = 0) ELSE nonLocationRevision END,
      objects = CASE revision WHEN (SELECT revision FROM library WHERE id = 0) THEN objects ELSE 0 END + 1
      WHERE id = NEW.library;
END;
CREATE TRIGGER reviseByFurtherUpdate AFTER UPDATE ON changedObject
  WHEN NEW.event = 1 AND (NEW.event <> OLD.event OR NEW.isLocationOnly < OLD.isLocationOnly)
    AND EXISTS (SELECT 1 FROM library WHERE id > 0)
BEGIN
  UPDATE library SET revision = (SELECT revision FROM library WHERE id = 0),
      nonLocationRevision = CASE NEW.isLocationOnly WHEN 0 THEN (SELECT revision FROM library WHERE id = 0) ELSE nonLocationRevision END,
      objects = CASE revision WHEN (SELECT revision FROM library WHERE id = 0) THEN objects ELSE 0 END + 1
      WHERE id IN (SELECT library FROM libraryAsset WHERE NEW.kind = 0 AND asset = NEW.object AND library > 0
        UNION ALL SELECT library FROM libraryCollection
          WHERE NEW.kind = 1 AND collection = NEW.object AND library > 0);
END;
CREATE TRIGGER reviseByUpdate AFTER INSERT ON changedObject
  WHEN NEW.event = 1 AND EXISTS (SELECT 1 FROM library WHERE id > 0)
BEGIN
  UPDATE library SET revision = (SELECT revision FROM library WHERE id = 0),
      nonLocationRevision = CASE NEW.isLocationOnly WHEN 0 THEN (SELECT revision FROM library WHERE id = 0) ELSE nonLocationRevision END,
      objects = CASE revision WHEN (SELECT revision FROM library WHERE id = 0) THEN objects ELSE 0 END + 1
      WHERE id IN (SELECT library FROM libraryAsset WHERE NEW.kind = 0 AND asset = NEW.object AND library > 0
        UNION ALL SELECT library FROM libraryCollection
          WHERE NEW.kind = 1 AND collection = NEW.object AND library > 0);
END;
CREATE TRIGGER reviseWholeLibrary AFTER INSERT ON change WHEN NEW.library = 0 AND NEW.isLocationOnly = 0 BEGIN
  UPDATE library SET nonLocationRevision = NEW.token WHERE id = 0;
END;
CREATE TRIGGER staleDayOfLocation AFTER UPDATE OF latitude, longitude, placeCity, placeRegion, placeCountry ON asset
  WHEN NEW.latitude IS NOT OLD.latitude OR NEW.longitude IS NOT OLD.longitude
    OR NEW.placeCity IS NOT OLD.placeCity OR NEW.placeRegion IS NOT OLD.placeRegion
    OR NEW.placeCountry IS NOT OLD.placeCountry
BEGIN
  INSERT INTO staleDay SELECT library, NEW.localDay FROM libraryAsset WHERE asset = NEW.id
    ON CONFLICT DO NOTHING;
END;
