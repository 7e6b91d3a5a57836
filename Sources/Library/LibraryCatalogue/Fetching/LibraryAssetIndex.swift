/// An index of `libraryAsset` that statements name.
enum LibraryAssetIndex: String, Sendable, Hashable {
  // The primary key, by the name that SQLite gives it.
  case byDate = "sqlite_autoindex_libraryAsset_1"
  case byIdentifier = "libraryAssetByIdentifier"
  case byBurst = "libraryAssetByBurst"
  case byAddition = "libraryAssetByAddition"
  case favorites = "favoriteByDate"
  case videos = "videoByDate"
  case panoramas = "panoramaByDate"
  case bursts = "burstByDate"
  case screenshots = "screenshotByDate"
  case hdr = "hdrByDate"
  case depth = "depthByDate"
  case live = "liveByDate"
  case raw = "rawByDate"
  case hidden = "hiddenByDate"
  case slomos = "slomoByDate"
  case timelapses = "timelapseByDate"
  case selfPortraits = "selfPortraitByDate"
  case animated = "animatedByDate"
  case longExposures = "longExposureByDate"
  case cinematic = "cinematicByDate"
  case spatial = "spatialByDate"
  case screenRecordings = "screenRecordingByDate"

  /// The FROM clause that reads a library's assets along this index.
  var source: String { "libraryAsset INDEXED BY \(rawValue)" }
}
