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
  case allHidden = "smartAlbumAllHidden"

  /// The rule as SQL over `asset`. It uses literals, because SQLite matches partial indexes only against literals.
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

  /// The counter's bit in `asset.counted`.
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
    }
  }

  /// The column that orders the album, newest first.
  var orderColumn: String { self == .recentlyAdded ? "addedDate" : "creationDate" }

  func listings(_ asked: ListingFilter, includesAllBurstAssets: Bool) -> ListingFilter {
    self == .allHidden ? .hidden(includesAllBurstAssets: includesAllBurstAssets) : asked
  }
}
