// Gives assets whose files are gone the files of their copies. A program that moves a folder to another disk copies the
// files before it removes them, and a disk may be mounted under another name. While the original may exist, its copy is
// a separate asset. Once the original is gone, its asset gets the files of the copy, and the asset of the copy is
// deleted. Only for an original with user values, and a copy whose asset has none.

import GRDB
import LibraryFolder
import PhotoModel

/// A known file with the content of a missing one.
private struct KnownCopy {
  let row: Int64
  let asset: Int64
  /// The primary file of its asset.
  let primaryPath: [UInt8]
  let primaryIdentity: FileIdentity
  /// How similar its path is to that of the missing file.
  let likeness: PathLikeness
}

/// A lost asset, and a copy of its file.
private struct CopyMatch {
  let lost: MissingAssets.LostAsset
  let copy: KnownCopy
}

extension Catalogue {
  /// The paths of the primary files of assets that may replace the assets of missing files.
  package func copies(ofMissing rows: [Int64]) throws(AssetSourceError) -> [[UInt8]] {
    try read { db in
      var paths: Set<[UInt8]> = []
      for match in try MissingAssets.copies(losing: rows, db) { paths.insert(match.copy.primaryPath) }
      return paths.sorted { $0.lexicographicallyPrecedes($1) }
    }
  }

  /// Gives assets with user values that lose all their files with these rows the files of their copies.
  ///
  /// - Parameter copies: the files of `copies(ofMissing:)`, freshly probed.
  /// - Returns: the number of file rows that were removed.
  package func adoptCopies(
    _ copies: [ProbedFile], ofMissing rows: [Int64]
  ) throws(AssetSourceError) -> Int {
    var removed = 0
    try change { db, token in
      var writer = try AssetWriter(db, token: token)
      removed = try writer.adoptCopies(copies, ofMissing: rows)
      try writer.finish()
    }
    return removed
  }
}

extension MissingAssets {
  /// How long a move by copying may take, from the first copy to the last removed original, in milliseconds.
  private static let maximumMoveTime: Int64 = 24 * 3600 * 1000
  /// The maximum number of copies that are compared with one lost asset.
  private static let maximumCopies = 64

  /// The row numbers give the order in which assets were added, even if the clock was set in between. Assets of one
  /// transaction have the same `addedDate` and are not copies of each other.
  private static let copySQL = """
    SELECT copy.id, copy.asset, copy.path, copy.modified, main.path, main.inode, main.size, main.modified,
      gone.modified, gone.type
    FROM file AS gone
      CROSS JOIN file AS copy ON copy.fingerprint = gone.fingerprint
      CROSS JOIN file AS main ON main.asset = copy.asset AND main.isPrimary = 1
      CROSS JOIN asset AS lost ON lost.id = gone.asset
      CROSS JOIN asset AS other ON other.id = copy.asset
    WHERE gone.id = ? AND copy.asset <> gone.asset AND copy.size = gone.size AND copy.type = gone.type
      AND other.id > lost.id AND other.addedDate <> lost.addedDate AND other.addedDate >= ?
      AND copy.embeddedDate IS gone.embeddedDate AND copy.unreadableReason IS NULL
      AND (copy.isPrimary = 0
        OR coalesce(other.unadjustedWidth, other.pixelWidth) = coalesce(lost.unadjustedWidth, lost.pixelWidth)
          AND coalesce(other.unadjustedHeight, other.pixelHeight) = coalesce(lost.unadjustedHeight, lost.pixelHeight)
          AND other.orientation = lost.orientation AND other.cameraMake IS lost.cameraMake
          AND other.cameraModel IS lost.cameraModel)
    ORDER BY copy.id DESC LIMIT \(maximumCopies)
    """

  /// The lost assets and their copies, the most similar paths first, and of these the newest copies. So each of several
  /// identical files gets its own copy.
  fileprivate static func copies(losing rows: [Int64], _ db: Database) throws -> [CopyMatch] {
    var matches: [CopyMatch] = []
    for lost in try assets(losing: rows, db) {
      for copy in try copies(of: lost, db) { matches.append(CopyMatch(lost: lost, copy: copy)) }
    }
    matches.sort { one, other in
      one.copy.likeness == other.copy.likeness
        ? one.copy.row > other.copy.row : one.copy.likeness > other.copy.likeness
    }
    return matches
  }

  /// The copies of a lost asset's file: those with the same name, or else a single one with the same time.
  fileprivate static func copies(of lost: LostAsset, _ db: Database) throws -> [KnownCopy] {
    var named: [KnownCopy] = []
    var others: [KnownCopy] = []
    let earliest = Timestamp.now.milliseconds - maximumMoveTime
    let rows = try Row.fetchAll(db.cachedStatement(sql: copySQL), arguments: [lost.row, earliest])
    for row in rows {
      let path = try row.bytes(2)
      if LibraryPath.folder(of: path) == LibraryPath.folder(of: lost.path) { continue }
      let likeness = PathLikeness(path, lost.path)
      let time = FileIdentity(inode: 0, size: 0, modified: row[3])
      let hasSameTime = time.isOfSameTime(as: FileIdentity(inode: 0, size: 0, modified: row[8]))
      let type: String = row[9]
      let asset: Int64 = row[1]
      guard isCopy(of: type, hasSameName: likeness.hasSameName, hasSameTime: hasSameTime),
        try !AssetWriter.hasUserValues(asset, db)
      else { continue }
      let identity = row.identity(from: 5)
      let copy = KnownCopy(
        row: row[0], asset: asset, primaryPath: try row.bytes(4), primaryIdentity: identity,
        likeness: likeness)
      if likeness.hasSameName { named.append(copy) } else { others.append(copy) }
    }
    if named.isEmpty { return others.count == 1 ? others : [] }
    return named
  }
}

extension AssetWriter {
  /// - Returns: the number of rows that were removed.
  fileprivate mutating func adoptCopies(_ found: [ProbedFile], ofMissing rows: [Int64]) throws -> Int {
    let present = Dictionary(found.map { ($0.path, $0) }) { first, _ in first }
    let owner = try db.cachedStatement(sql: "SELECT asset FROM file WHERE id = ?")
    var removed = 0
    var adopting: Set<Int64> = []
    var adopted: Set<Int64> = []
    for match in try MissingAssets.copies(losing: rows, db) {
      let (lost, copy) = (match.lost, match.copy)
      if adopting.contains(lost.asset) || adopted.contains(copy.asset) { continue }
      // The copy may have joined another asset that has just adopted files.
      guard try Int64.fetchOne(owner, arguments: [copy.row]) == copy.asset else { continue }
      guard let file = present[copy.primaryPath], file.identity == copy.primaryIdentity, case .media = file.finding
      else { continue }
      removed += try adoptFiles(of: copy.asset, by: lost.asset, file)
      adopting.insert(lost.asset)
      adopted.insert(copy.asset)
    }
    return removed
  }

  /// Gives an asset whose files are gone the files of another one, which is deleted.
  ///
  /// - Parameter primary: the primary file of the other asset.
  private mutating func adoptFiles(of other: Int64, by asset: Int64, _ primary: ProbedFile) throws -> Int {
    try bursts.pictureReplaced(asset, byCopy: other)
    try run("DELETE FROM file WHERE asset = ?", [asset])
    let removed = db.changesCount
    try run("UPDATE file SET asset = ? WHERE asset = ?", [asset, other])
    try run("DELETE FROM asset WHERE id = ?", [other])
    // The content version may be the same, but the path has changed.
    try touch(asset)
    try store(primary)
    try joinCompanions(of: asset)
    return removed
  }
}
