import PhotoFixtures

/// Random lists of changes, as a client sends them.
struct RandomChanges {
  let albums: [String]
  var assets: [String]
  var trash: [String] = []
  private var deleted: [String] = []
  private var restored: [String] = []
  var random: SplitMix

  init(albums: [String], assets: [String], seed: UInt64) {
    (self.albums, self.assets) = (albums, assets)
    random = SplitMix(state: seed)
  }

  /// Assets that a list deletes are in the trash afterwards; later lists can name assets that a list restores.
  mutating func list() -> [String] {
    let list = (0..<Int.random(in: 1...6, using: &random)).map { _ in entry() }
    trash += deleted
    assets += restored
    (deleted, restored) = ([], [])
    return list
  }

  private mutating func someAssets() -> String {
    let count = Int.random(in: 1...3, using: &random)
    return "[" + assets.shuffled(using: &random).prefix(count).map { "\"\($0)\"" }.joined(separator: ",") + "]"
  }

  private mutating func entry() -> String {
    let asset = assets.randomElement(using: &random) ?? ""
    let album = albums.randomElement(using: &random) ?? ""
    switch Int.random(in: 0..<12, using: &random) {
    case 0, 1: return #"{"type": "updateAsset", "asset": "\#(asset)", "isFavorite": \#(Bool.random(using: &random))}"#
    case 2: return #"{"type": "updateAsset", "asset": "\#(asset)", "isHidden": \#(Bool.random(using: &random))}"#
    case 3, 4:
      let day = Int.random(in: 10...28, using: &random)
      return #"{"type": "updateAsset", "asset": "\#(asset)", "creationDate": "2020-01-\#(day)T00:00:00Z"}"#
    case 5:
      let place = #"{"latitude": \#(Int.random(in: 0...9, using: &random)), "longitude": 1}"#
      return #"{"type": "updateAsset", "asset": "\#(asset)", "location": \#(place)}"#
    case 6 where assets.count > 6:
      assets.removeAll { $0 == asset }
      deleted.append(asset)
      return #"{"type": "deleteAsset", "asset": "\#(asset)"}"#
    case 6, 7:
      guard let back = trash.popLast() else { fallthrough }
      restored.append(back)
      return #"{"type": "restoreAsset", "asset": "\#(back)"}"#
    case 8: return #"{"type": "addAssets", "collection": "\#(album)", "assets": \#(someAssets())}"#
    case 9, 10: return #"{"type": "insertAssets", "collection": "\#(album)", "assets": \#(someAssets()), "index": 0}"#
    default: return #"{"type": "removeAssets", "collection": "\#(album)", "assets": \#(someAssets())}"#
    }
  }
}
