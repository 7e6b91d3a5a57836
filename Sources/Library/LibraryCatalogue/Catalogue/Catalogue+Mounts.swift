// The file systems that the last complete scan and later scans found. They are stored in the catalogue, as one JSON
// value, because then they are as durable as the rows that they protect, and every copy of the catalogue includes them.

import Foundation
import GRDB
import PhotoModel

extension Catalogue {
  /// The file systems that the last complete scan and later scans found; empty before the first scan.
  package func mounts() throws(AssetSourceError) -> [KnownMount] {
    guard let mounts = try readableMounts() else {
      throw .catalogueFailed("the list of file systems can't be read; a full scan that misses no file writes it again")
    }
    return mounts
  }

  /// Like ``mounts()``; `nil` if storage has damaged the value. A full scan that misses no file, or that accepts
  /// removals, writes it again.
  package func readableMounts() throws(AssetSourceError) -> [KnownMount]? {
    try read { try Self.readableMounts($0) }
  }

  static func readableMounts(_ db: Database) throws -> [KnownMount]? {
    guard let text: String = try CatalogueValue.mounts.read(db) else { return [] }
    return try? JSONDecoder().decode([KnownMount].self, from: Data(text.utf8))
  }

  /// Stores the file systems that scans found, if they differ from the stored ones. This is not a change of the
  /// library: it creates no token.
  package func recordMounts(_ mounts: [KnownMount]) throws(AssetSourceError) {
    guard try readableMounts() != mounts else { return }
    try writeMaintenance { db in
      try CatalogueValue.mounts.write(String(decoding: try JSONEncoder().encode(mounts), as: UTF8.self), db)
    }
  }

  /// Whether any file below a folder belongs to an asset.
  package func hasAssets(below folder: [UInt8]) throws(AssetSourceError) -> Bool {
    let first = Data(folder + [UInt8(ascii: "/")])
    let end = Data(folder + [UInt8(ascii: "/") + 1])
    return try read { db in
      try Bool.fetchOne(
        db, sql: "SELECT EXISTS (SELECT 1 FROM file WHERE path > ? AND path < ? AND asset IS NOT NULL)",
        arguments: [first, end]) ?? false
    }
  }

  /// Up to `count` known files below a folder, spread evenly over the range between the first and the last path: files
  /// of assets, or other files if there is no asset. Other files prove less, because an export may write the same
  /// sidecars again without their originals. Takes about `count` index lookups, and reads the files without an asset
  /// that it skips.
  package func sampleFiles(below folder: [UInt8], count: Int) throws(AssetSourceError) -> [SampleFile] {
    try read { db in
      let originals = try Self.sampleFiles(db, below: folder, count: count, where: "role IS NOT NULL")
      if !originals.isEmpty { return originals }
      return try Self.sampleFiles(db, below: folder, count: count, where: "1")
    }
  }

  private static func sampleFiles(
    _ db: Database, below folder: [UInt8], count: Int, where condition: String
  ) throws -> [SampleFile] {
    // Real paths never begin with a NUL; rows without a path store one that does, and are skipped.
    let start = folder.isEmpty ? [1] : folder + [UInt8(ascii: "/")]
    let end = folder.isEmpty ? nil : folder + [UInt8(ascii: "/") + 1]
    func sampleFile(from first: [UInt8], isLast: Bool = false) throws -> SampleFile? {
      let bound = end == nil ? "" : "AND path < ?"
      let row = try Row.fetchOne(
        db,
        sql: """
          SELECT path, size FROM file WHERE \(condition) AND path >= ? \(bound)
          ORDER BY path \(isLast ? "DESC" : "") LIMIT 1
          """,
        arguments: StatementArguments([Data(first)] + (end.map { [Data($0)] } ?? [])))
      return try row.map { SampleFile(path: try $0.bytes(0), size: $0[1]) }
    }
    guard let lowest = try sampleFile(from: start), let highest = try sampleFile(from: start, isLast: true) else {
      return []
    }
    // Treat paths as numbers: the eight bytes after their common prefix.
    let common = zip(lowest.path, highest.path).prefix { $0 == $1 }.count
    func number(_ path: [UInt8]) -> UInt64 {
      (0..<8).reduce(0) { $0 << 8 | UInt64(common + $1 < path.count ? path[common + $1] : 0) }
    }
    let (low, high) = (number(lowest.path), number(highest.path))
    var sampleFiles = [lowest]
    for step in 1..<max(count - 1, 1) {
      let pivot = low + (high - low) / UInt64(count - 1) * UInt64(step)
      let path = lowest.path[..<common] + (0..<8).map { UInt8(truncatingIfNeeded: pivot >> (56 - 8 * $0)) }
      if let found = try sampleFile(from: Array(path)) { sampleFiles.append(found) }
    }
    sampleFiles.append(highest)
    var seen: Set<[UInt8]> = []
    return sampleFiles.filter { seen.insert($0.path).inserted }
  }
}

/// A known file, with the facts needed to check that it still exists.
package struct SampleFile: Sendable {
  /// The path below the root.
  package let path: [UInt8]
  /// The size in bytes.
  package let size: Int64
}
