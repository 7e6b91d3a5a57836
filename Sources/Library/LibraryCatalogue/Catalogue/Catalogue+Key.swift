import Cryptography
import Foundation
import GRDB
import PhotoModel

/// The catalogue's key: random, created with the catalogue and kept by its copies. Content versions, change tokens,
/// cursors and the name of the trash in a bucket are derived from it. A catalogue that lost its key is not opened, and
/// a repair does not create another one: with a known key, callers could read what tokens and cursors hide, and with a
/// new key the trash in a bucket would belong to another catalogue.
extension Catalogue {
  /// `nil` if the key is lost.
  static func storedKey(_ db: Database) throws -> Data? {
    let key: Data? = try CatalogueValue.contentKey.read(db)
    return key?.isEmpty == true ? nil : key
  }

  /// Throws if the key is lost.
  static func contentKey(_ db: Database) throws -> Data {
    guard let key = try storedKey(db) else { throw AssetSourceError.catalogueFailed("its key is lost") }
    return key
  }

  /// A name that only this catalogue and its copies have: 16 hexadecimal digits. It reveals nothing about the key.
  package func uniqueName() throws(AssetSourceError) -> String {
    let key = try read { try Self.contentKey($0) }
    return HMACSHA256.code(of: "the name of a catalogue".utf8, key: key).prefix(8).hexadecimal
  }
}
