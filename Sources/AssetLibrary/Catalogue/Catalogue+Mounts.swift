// The file systems that the last complete scan met. They are one value of the `library` table: a handful that nobody
// queries, written with the same care as the rows that they protect, and in every copy of the catalogue.

import Foundation
import GRDB
import PhotoModel

extension Catalogue {
  /// Empty before the first complete scan.
  func mounts() throws(AssetSourceError) -> [KnownMount] {
    try read { db in
      guard let text = try String.fetchOne(db, sql: "SELECT value FROM library WHERE key = 'mounts'") else { return [] }
      return try JSONDecoder().decode([KnownMount].self, from: Data(text.utf8))
    }
  }

  /// Notes what a scan met, where it is anything new. No change of the library.
  func note(_ mounts: [KnownMount]) throws(AssetSourceError) {
    guard try self.mounts() != mounts else { return }
    do {
      let text = String(decoding: try JSONEncoder().encode(mounts), as: UTF8.self)
      try pool.write { db in
        try db.execute(
          sql: "INSERT INTO library VALUES ('mounts', ?) ON CONFLICT DO UPDATE SET value = excluded.value",
          arguments: [text])
      }
    } catch {
      throw Self.translated(error)
    }
  }

  /// Up to `count` known files below a folder, spread over the alphabet between its first and its last. Some look-ups.
  func witnesses(below folder: [UInt8], count: Int) throws(AssetSourceError) -> [Witness] {
    // No path begins with a NUL; those that do are none.
    let first = folder.isEmpty ? [1] : folder + [UInt8(ascii: "/")]
    let end = folder.isEmpty ? nil : folder + [UInt8(ascii: "/") + 1]
    return try read { db in
      guard let lowest = try Self.witness(db, from: first, below: end),
        let highest = try Self.witness(db, from: first, below: end, isLast: true)
      else { return [] }
      // Paths as numbers: eight bytes behind what all have in common.
      let common = zip(lowest.path, highest.path).prefix { $0 == $1 }.count
      func number(_ path: [UInt8]) -> UInt64 {
        (0..<8).reduce(0) { $0 << 8 | UInt64(common + $1 < path.count ? path[common + $1] : 0) }
      }
      let (low, high) = (number(lowest.path), number(highest.path))
      var witnesses = [lowest]
      for step in 1..<max(count - 1, 1) {
        let pivot = low + (high - low) / UInt64(count - 1) * UInt64(step)
        let path = lowest.path[..<common] + (0..<8).map { UInt8(truncatingIfNeeded: pivot >> (56 - 8 * $0)) }
        if let witness = try Self.witness(db, from: Array(path), below: end) { witnesses.append(witness) }
      }
      witnesses.append(highest)
      var seen: Set<[UInt8]> = []
      return witnesses.filter { seen.insert($0.path).inserted }
    }
  }

  private static func witness(
    _ db: Database, from first: [UInt8], below end: [UInt8]?, isLast: Bool = false
  ) throws -> Witness? {
    let bound = end == nil ? "" : "AND path < ?"
    let row = try Row.fetchOne(
      db,
      sql: "SELECT path, size FROM file WHERE path >= ? \(bound) ORDER BY path \(isLast ? "DESC" : "") LIMIT 1",
      arguments: StatementArguments([Data(first)] + (end.map { [Data($0)] } ?? [])))
    return try row.map {
      Witness(path: try $0.withUnsafeData(atIndex: 0) { $0.map { [UInt8]($0) } ?? [] }, size: $0[1])
    }
  }
}

/// A known file, as far as it takes to see whether it is where it was.
struct Witness: Sendable {
  let path: [UInt8]
  let size: Int64
}
