/// The smart albums that every library has: what is in one, how that reads in SQL, and which counter counts it.
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
  case allHidden = "smartAlbumAllHidden"

  /// Its rule as SQL over `asset`, in literals: only so does SQLite see that the album's own index holds it all.
  var condition: String {
    switch self {
    case .userLibrary, .recentlyAdded: "1"
    case .favorites: "asset.isFavorite = 1"
    case .videos: "asset.mediaType = 2"
    case .panoramas: "(asset.mediaSubtypes & 1) <> 0"
    case .bursts: "asset.representsBurst = 1"
    case .screenshots: "(asset.mediaSubtypes & 4) <> 0"
    case .hdr: "(asset.mediaSubtypes & 2) <> 0"
    case .depthEffect: "(asset.mediaSubtypes & 16) <> 0"
    case .livePhotos: "(asset.mediaSubtypes & 8) <> 0"
    case .raw: "asset.isRAW = 1"
    case .allHidden: "asset.isHidden = 1"
    }
  }

  /// The name in the table of counters.
  var counter: String {
    switch self {
    case .userLibrary, .recentlyAdded: "assets"
    case .favorites: "favorites"
    case .videos: "videos"
    case .panoramas: "panoramas"
    case .bursts: "bursts"
    case .screenshots: "screenshots"
    case .hdr: "hdr"
    case .depthEffect: "depthEffect"
    case .livePhotos: "livePhotos"
    case .raw: "raw"
    case .allHidden: "hidden"
    }
  }

  /// The column that it is shown by, newest first.
  var orderColumn: String { self == .recentlyAdded ? "addedDate" : "creationDate" }

  func listings(_ asked: Listings, includesAllBurstAssets: Bool) -> Listings {
    self == .allHidden ? .hidden(includesAllBurstAssets: includesAllBurstAssets) : asked
  }
}
