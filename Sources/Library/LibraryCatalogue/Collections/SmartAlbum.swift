/// The smart albums that every library has: their rules in SQL, and their counters.
package enum SmartAlbum: String, Sendable, Hashable, CaseIterable {
  case userLibrary = "smartAlbumUserLibrary"
  case recentlyAdded = "smartAlbumRecentlyAdded"
  case favorites = "smartAlbumFavorites"
  case videos = "smartAlbumVideos"
  case panoramas = "smartAlbumPanoramas"
  case bursts = "smartAlbumBursts"
  case screenshots = "smartAlbumScreenshots"
  case hdr = "smartAlbumHDR"
  case depthEffect = "smartAlbumDepthEffect"
  case livePhotos = "smartAlbumLivePhotos"
  case raw = "smartAlbumRAW"
  case slomos = "smartAlbumSlomoVideos"
  case timelapses = "smartAlbumTimelapses"
  case selfPortraits = "smartAlbumSelfPortraits"
  case animated = "smartAlbumAnimated"
  case longExposures = "smartAlbumLongExposures"
  case cinematic = "smartAlbumCinematic"
  case spatial = "smartAlbumSpatial"
  case screenRecordings = "smartAlbumScreenRecordings"
  case allHidden = "smartAlbumAllHidden"

  /// The rule as SQL over the column `counted` of a table, in the form that the album's index declares. It uses a
  /// literal, because SQLite matches partial indexes only against literals.
  func condition(on table: String) -> String { index == nil ? "1" : "(\(table).counted & \(1 << counterBit)) <> 0" }

  /// The counter's bit in `counted`.
  var counterBit: Int {
    switch self {
    case .userLibrary, .recentlyAdded: 0
    case .favorites: 1
    case .videos: 2
    case .panoramas: 3
    case .bursts: 4
    case .screenshots: 5
    case .hdr: 6
    case .depthEffect: 7
    case .livePhotos: 8
    case .raw: 9
    case .allHidden: 10
    // 11 counts images.
    case .slomos: 12
    case .timelapses: 13
    case .selfPortraits: 14
    case .animated: 15
    case .longExposures: 16
    case .cinematic: 17
    case .spatial: 18
    case .screenRecordings: 19
    }
  }

  /// The column that orders the album, newest first.
  var orderColumn: String { self == .recentlyAdded ? "addedDate" : "creationDate" }

  func listings(_ asked: ListingFilter, includesAllBurstAssets: Bool) -> ListingFilter {
    self == .allHidden ? .hidden(includesAllBurstAssets: includesAllBurstAssets) : asked
  }
}
