import Foundation
import PhotoModel

/// The albums and the tags of each asset.
///
/// Albums are Immich's `AlbumResponseDto`, with `assets`, or with their identifiers only (`assetIds`); one album may be
/// in several objects, each with some of its assets. Tags are objects with `value` and `assetIds`.
struct ImmichAlbums {
  private struct Album {
    let album: ImportedAlbum
    /// The number of assets that the album states.
    var stated: Int?
    var members = 0
  }

  private var albums: [Album] = []
  /// Positions in `albums`.
  private var byIdentifier: [String: Int32] = [:]
  /// Positions in `albums`, by asset.
  private var memberships: [String: [Int32]] = [:]
  private var tags: [String] = []
  /// Positions in `tags`, by asset.
  private var tagged: [String: [Int32]] = [:]

  private struct Member: Decodable { let id: String }

  private struct AlbumObject: Decodable {
    let id: String
    let albumName: String
    let description: String?
    let assetCount: Int?
    let assets: [Member]?
    let assetIds: [String]?
  }

  private struct TagObject: Decodable {
    let value: String
    let assetIds: [String]
  }

  /// Returns false if the bytes are not an album.
  mutating func addAlbum(_ bytes: [UInt8], _ report: ImportReport) -> Bool {
    guard let object = try? JSONDecoder().decode(AlbumObject.self, from: Data(bytes)) else { return false }
    let index = byIdentifier[object.id] ?? Int32(albums.count)
    if byIdentifier.updateValue(index, forKey: object.id) == nil {
      let title = ImportedText.line(object.albumName, limit: ImportedText.titleBytes, report) ?? "Untitled"
      if object.description?.isEmpty == false { report.noteUnmapped("description of albums") }
      albums.append(Album(album: ImportedAlbum(key: "immich:" + object.id, title: title)))
    }
    albums[Int(index)].stated = object.assetCount ?? albums[Int(index)].stated
    for member in (object.assets?.map(\.id) ?? []) + (object.assetIds ?? []) {
      if memberships[member]?.contains(index) == true { continue }
      memberships[member, default: []].append(index)
      albums[Int(index)].members += 1
    }
    return true
  }

  /// Returns false if the bytes are not a tag.
  mutating func addTag(_ bytes: [UInt8]) -> Bool {
    guard let object = try? JSONDecoder().decode(TagObject.self, from: Data(bytes)) else { return false }
    let index = Int32(tags.count)
    tags.append(object.value)
    for member in object.assetIds where tagged[member]?.contains(index) != true {
      tagged[member, default: []].append(index)
    }
    return true
  }

  /// Albums of which the export has fewer assets than they state.
  var incomplete: [(title: String, stated: Int, members: Int)] {
    albums.compactMap { album in
      guard let stated = album.stated, stated > album.members else { return nil }
      return (album.album.title, stated, album.members)
    }
  }

  /// Removes and returns the albums of an asset.
  mutating func take(_ asset: String) -> [ImportedAlbum] {
    (memberships.removeValue(forKey: asset) ?? []).map { albums[Int($0)].album }
  }

  /// The tags of an asset.
  func tags(of asset: String) -> [String] { (tagged[asset] ?? []).map { tags[Int($0)] } }

  /// The number of assets that are in albums and were not taken.
  var untakenCount: Int { memberships.count }
}
