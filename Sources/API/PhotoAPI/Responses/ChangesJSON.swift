import LibraryCatalogue
import PhotoModel

/// Changes as clients see them.
enum ChangesJSON {
  private struct Payload: Encodable {
    struct Objects: Encodable {
      struct Asset: Encodable {
        let localIdentifier: String
        let assetContentChanged: Bool
      }
      struct Collection: Encodable {
        let localIdentifier: String
      }
      let inserted: [String]
      let deleted: [String]
      let assets: [Asset]?
      let collections: [Collection]?

      private enum Key: String, CodingKey { case inserted, updated, deleted }

      func encode(to encoder: any Encoder) throws {
        var object = encoder.container(keyedBy: Key.self)
        try object.encode(inserted, forKey: .inserted)
        if let assets { try object.encode(assets, forKey: .updated) }
        if let collections { try object.encode(collections, forKey: .updated) }
        try object.encode(deleted, forKey: .deleted)
      }
    }
    let changeToken: String
    let assets: Objects
    let collections: Objects
    let more: Bool
  }

  static func encode(_ changes: LibraryChanges, _ tokens: TokenCodec) -> [UInt8] {
    JSONBody.encode(
      Payload(
        changeToken: tokens.text(of: changes.changeToken),
        assets: Payload.Objects(
          inserted: changes.assets.inserted.map(\.rawValue), deleted: changes.assets.deleted.map(\.rawValue),
          assets: changes.assets.updated.map {
            .init(localIdentifier: $0.localIdentifier.rawValue, assetContentChanged: $0.isContentChanged)
          }, collections: nil),
        collections: Payload.Objects(
          inserted: changes.collections.inserted.map(\.rawValue),
          deleted: changes.collections.deleted.map(\.rawValue), assets: nil,
          collections: changes.collections.updated.map { .init(localIdentifier: $0.localIdentifier.rawValue) }),
        more: changes.hasMore))
  }
}
