import Cryptography
import Foundation
import GRDB
import PhotoModel

extension Catalogue {
  /// A name of this catalogue and its copies that no other catalogue has: 16 hexadecimal digits. It reveals nothing else.
  package func uniqueName() throws(AssetSourceError) -> String {
    let key = try read { db in
      try Data.fetchOne(db, sql: "SELECT value FROM catalogueValue WHERE name = 'contentKey'") ?? Data()
    }
    return HMACSHA256.code(of: "the name of a catalogue".utf8, key: key).prefix(8).hexadecimal
  }
}
