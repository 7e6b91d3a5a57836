import GRDB
import PhotoModel

extension Catalogue {
  /// The existing albums that imports have created or added to, by ``NewCollection/importKey``.
  package func importedAlbums() throws(AssetSourceError) -> [String: LocalIdentifier] {
    try read { db in
      let rows = try Row.fetchAll(
        db,
        sql: """
          SELECT key, localIdentifier FROM importedAlbum JOIN collection ON collection.id = importedAlbum.collection
          """)
      return Dictionary(uniqueKeysWithValues: rows.map { ($0[0], LocalIdentifier($0[1])) })
    }
  }
}
