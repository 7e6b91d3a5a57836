import Cryptography
import Foundation
import GRDB
import PhotoModel

/// The key that a new catalogue gets, and that its copies keep. Content versions, change tokens, cursors and the name of
/// the trash in a bucket are made with it. A catalogue that lost it is not used, and no repair makes another one: with a
/// key that others know, callers could read what tokens and cursors hide, and with a new one the trash in a bucket would
/// be that of another catalogue.
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

  /// A name of this catalogue and its copies that no other catalogue has: 16 hexadecimal digits. It reveals nothing
  /// else.
  package func uniqueName() throws(AssetSourceError) -> String {
    let key = try read { try Self.contentKey($0) }
    return HMACSHA256.code(of: "the name of a catalogue".utf8, key: key).prefix(8).hexadecimal
  }
}
