import Foundation
import PhotoModel

/// Which albums each asset is in: Immich's `AlbumResponseDto`, with `assets`, or with their identifiers only
/// (`assetIds`).
struct ImmichAlbums {
  /// The albums, in the order of the files.
  private var albums: [ImportedAlbum] = []
  /// Positions in `albums`, by asset.
  private var memberships: [String: [Int32]] = [:]

  private struct Album: Decodable {
    struct Member: Decodable { let id: String }

    let id: String
    let albumName: String
    let description: String?
    let assets: [Member]?
    let assetIds: [String]?
  }

  /// Returns false if the bytes are no album.
  mutating func add(_ bytes: [UInt8], _ report: ImportReport) -> Bool {
    guard let album = try? JSONDecoder().decode(Album.self, from: Data(bytes)) else { return false }
    let title = ImportedText.line(album.albumName, limit: ImportedText.titleBytes, report) ?? "Untitled"
    if album.description?.isEmpty == false { report.noteUnmapped("description of albums") }
    let index = Int32(albums.count)
    albums.append(ImportedAlbum(key: Array(album.id.utf8), title: title))
    for member in (album.assets?.map(\.id) ?? []) + (album.assetIds ?? []) {
      if memberships[member]?.contains(index) != true { memberships[member, default: []].append(index) }
    }
    return true
  }

  /// The albums of an asset. Each asset is asked for once.
  mutating func take(_ asset: String) -> [ImportedAlbum] {
    (memberships.removeValue(forKey: asset) ?? []).map { albums[Int($0)] }
  }

  /// The number of assets that are in albums and were not asked for.
  var rest: Int { memberships.count }
}
