import PhotoModel
import PhotoPredicate

extension SmartAlbum {
  /// The partial index that contains exactly the assets of this album.
  var index: LibraryAssetIndex? {
    switch self {
    case .userLibrary, .recentlyAdded: nil
    case .favorites: .favorites
    case .videos: .videos
    case .panoramas: .panoramas
    case .bursts: .bursts
    case .screenshots: .screenshots
    case .hdr: .hdr
    case .depthEffect: .depth
    case .livePhotos: .live
    case .raw: .raw
    case .allHidden: .hidden
    case .slomos: .slomos
    case .timelapses: .timelapses
    case .selfPortraits: .selfPortraits
    case .animated: .animated
    case .longExposures: .longExposures
    case .cinematic: .cinematic
    case .spatial: .spatial
    case .screenRecordings: .screenRecordings
    }
  }

  /// Whether the term holds only for assets of this album.
  func isImplied(by term: FetchPredicate) -> Bool {
    guard case .comparison(let comparison) = term, case .relation(let relation, let value) = comparison.test else {
      return false
    }
    let key = comparison.subject.key.name
    func isTrue(_ name: String) -> Bool { key == name && relation == .equal && value == .boolean(true) }
    func hasBit(_ subtype: MediaSubtypes) -> Bool {
      key == "mediaSubtypes" && comparison.subject.mask == subtype.rawValue
        && (relation == .notEqual && value == .integer(0) || relation == .equal && value == .integer(subtype.rawValue))
    }
    switch self {
    case .userLibrary, .recentlyAdded: return false
    case .favorites: return isTrue("isFavorite")
    case .videos: return key == "mediaType" && relation == .equal && value == .name(MediaType.video.rawValue)
    case .panoramas: return hasBit(.photoPanorama)
    case .bursts: return isTrue("representsBurst")
    case .screenshots: return hasBit(.photoScreenshot)
    case .hdr: return hasBit(.photoHDR)
    case .depthEffect: return hasBit(.photoDepthEffect)
    case .livePhotos: return hasBit(.photoLive)
    case .raw: return isTrue("isRAW")
    case .allHidden: return isTrue("isHidden")
    case .slomos: return hasBit(.videoHighFrameRate)
    case .timelapses: return hasBit(.videoTimelapse)
    case .selfPortraits: return isTrue("isSelfPortrait")
    case .animated: return isTrue("isAnimated")
    case .longExposures: return isTrue("isLongExposure")
    case .cinematic: return hasBit(.videoCinematic)
    case .spatial: return hasBit(.spatialMedia)
    case .screenRecordings: return hasBit(.videoScreenRecording)
    }
  }
}
