import GRDB
import PhotoModel

extension Catalogue {
  /// The albums that imports have made or added to, by ``NewCollection/importKey``. One that a user has deleted is not
  /// among them.
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
