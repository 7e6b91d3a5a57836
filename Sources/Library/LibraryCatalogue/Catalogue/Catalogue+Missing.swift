import GRDB
import PhotoModel

extension Catalogue {
  /// Filters file rows: those whose recorded size is below `size` bytes.
  package func files(_ ids: [Int64], smallerThan size: Int64) throws(AssetSourceError) -> [Int64] {
    try read { db in
      let statement = try db.cachedStatement(sql: "SELECT size < ? FROM file WHERE id = ?")
      return try ids.filter { try Bool.fetchOne(statement, arguments: [size, $0]) ?? false }
    }
  }
}
