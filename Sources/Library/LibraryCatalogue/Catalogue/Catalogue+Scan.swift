// The catalogue's reads and writes for a scan.

import Foundation
import GRDB
import PhotoModel

/// A file as the catalogue recorded it.
package struct KnownFile: Sendable {
  /// The number of its row.
  package let id: Int64
  /// The path below the root; vacant (`VacantPath`) if another file has taken the real one.
  package let path: [UInt8]
  package let identity: FileIdentity
  /// The file's ctime when it was read, in nanoseconds since 1970; 0 if unknown.
  package let changeTimeNanoseconds: Int64
  /// Whether the file belongs to an asset and the last attempt to read it failed.
  package let isUnreadable: Bool

  /// Whether the real path is known.
  package var hasPath: Bool { !VacantPath.isVacant(path) }

  /// The path that another file has taken, if this file may get it back.
  package var formerPath: [UInt8]? { VacantPath.former(path) }

  /// The current path, or if another file has taken it, the former one.
  package var lastPath: [UInt8] { formerPath ?? path }

  fileprivate static let columns = """
    file.id, file.path, file.inode, file.size, file.modified, file.changed, \
    file.asset IS NOT NULL AND file.unreadableReason IS NOT NULL
    """

  fileprivate init(_ row: Row) throws {
    id = row[0]
    path = try row.bytes(1)
    identity = row.identity(from: 2)
    changeTimeNanoseconds = row[5]
    isUnreadable = row[6]
  }
}

/// A known file that was found at another path.
package struct MovedFile: Sendable {
  package let file: KnownFile
  package var path: [UInt8]
  /// Its ctime now, which the rename has changed, in nanoseconds since 1970.
  package var changeTimeNanoseconds: Int64

  package init(_ file: KnownFile, to path: [UInt8], changeTimeNanoseconds: Int64) {
    self.file = file
    self.path = path
    self.changeTimeNanoseconds = changeTimeNanoseconds
  }
}

extension FileIdentity {
  /// An identity that no real file has. Every scan reads the file of a row with this identity again.
  package static let unknown = FileIdentity(inode: 0, size: 0, modified: 0)
}

extension Catalogue {
  /// The maximum number of files with one fingerprint that a file is compared with.
  private static let maximumCandidates = 8
  /// The maximum number of hard links to one file that are compared. Deduplicating programs make many.
  private static let maximumLinks = 256

  /// The highest row number in use. Rows that the running scan adds have higher numbers.
  package func lastFileID() throws(AssetSourceError) -> Int64 {
    try read { try Int64.fetchOne($0, sql: "SELECT max(id) FROM file") ?? 0 }
  }

  /// One page of known files below a folder, in path order, after `path` and with row numbers up to `lastID`. An empty
  /// folder stands for the root, which holds all files.
  package func knownFiles(
    below folder: [UInt8], after path: [UInt8]?, upTo lastID: Int64, limit: Int
  ) throws(AssetSourceError) -> [KnownFile] {
    if folder.isEmpty {
      return try knownFiles("path > ? AND id <= ? ORDER BY path LIMIT ?", [Data(path ?? []), lastID, limit])
    }
    let (slash, end) = ([UInt8(ascii: "/")], [UInt8(ascii: "/") + 1])
    return try knownFiles(
      "path > ? AND path < ? AND id <= ? ORDER BY path LIMIT ?",
      [Data(path ?? folder + slash), Data(folder + end), lastID, limit])
  }

  /// The known file at a path, if any.
  package func knownFile(at path: [UInt8]) throws(AssetSourceError) -> KnownFile? {
    try knownFiles("path = ?", [Data(path)]).first
  }

  /// Which of these paths have a row, and which belong to a file in the trash, or on its way there or back. Files that
  /// another program removed are not in the trash.
  package func pathsInUse(
    among paths: [[UInt8]]
  ) throws(AssetSourceError) -> (known: Set<[UInt8]>, trashed: Set<[UInt8]>) {
    var known: Set<[UInt8]> = []
    var trashed: Set<[UInt8]> = []
    if paths.isEmpty { return (known, trashed) }
    let wanted = Set(paths)
    try read { db in
      let row = try db.cachedStatement(sql: "SELECT 1 FROM file WHERE path = ?")
      for path in wanted where try Int.fetchOne(row, arguments: [Data(path)]) != nil { known.insert(path) }
      // The trash is small, and the paths of companions and sidecars have no index.
      let files = try Row.fetchCursor(
        db.cachedStatement(
          sql: "SELECT path FROM trashFile CROSS JOIN trash ON trash.id = trash WHERE state <> 'missing'"))
      while let file = try files.next() {
        let path = try file.bytes(0)
        if wanted.contains(path) { trashed.insert(path) }
      }
    }
    return (known, trashed)
  }

  /// The known files, up to a row number, with the same file system identity: inode, size and modification time.
  package func knownFiles(
    like identity: FileIdentity, upTo lastID: Int64 = .max
  ) throws(AssetSourceError) -> [KnownFile] {
    if lastID == 0 { return [] }
    return try knownFiles(
      "inode = ? AND size = ? AND modified = ? AND id <= ? LIMIT \(Self.maximumLinks)",
      [Int64(bitPattern: identity.inode), identity.size, identity.modified, lastID])
  }

  /// At most `limit` known files with the same file system identity whose rows come after the row `id`.
  package func knownFiles(
    like identity: FileIdentity, after id: Int64, limit: Int
  ) throws(AssetSourceError) -> [KnownFile] {
    try knownFiles(
      "inode = ? AND size = ? AND modified = ? AND id > ? LIMIT ?",
      [Int64(bitPattern: identity.inode), identity.size, identity.modified, id, limit])
  }

  /// The known files that a file may be a copy of: same size, time and fingerprint.
  package func knownFiles(
    like identity: FileIdentity, with fingerprint: FileFingerprint
  ) throws(AssetSourceError) -> [KnownFile] {
    let alike = try knownFiles(
      "fingerprint = ? AND size = ? LIMIT \(Self.maximumCandidates)", [fingerprint.data, identity.size])
    return alike.filter { file in file.identity.isOfSameTime(as: identity) }
  }

  /// The fingerprint of a known file; `nil` if the file is not a picture or video.
  package func fingerprint(of file: KnownFile) throws(AssetSourceError) -> FileFingerprint? {
    try read { db in
      let statement = try db.cachedStatement(sql: "SELECT fingerprint FROM file WHERE id = ?")
      return try Row.fetchOne(statement, arguments: [file.id])?.fingerprint(0)
    }
  }

  /// The files in these rows, without rows that no longer exist.
  package func knownFiles(_ ids: [Int64]) throws(AssetSourceError) -> [KnownFile] {
    try read { db in
      let statement = try db.cachedStatement(sql: "SELECT \(KnownFile.columns) FROM file WHERE id = ?")
      return try ids.compactMap { try Row.fetchOne(statement, arguments: [$0]).map { try KnownFile($0) } }
    }
  }

  /// Whether the asset of a file has user values.
  package func hasUserValues(_ file: KnownFile) throws(AssetSourceError) -> Bool {
    try read { try AssetWriter.hasUserValues(ofRow: file.id, $0) }
  }

  /// The known files that may be this file at another path: same fingerprint (first and last bytes) and same metadata.
  package func knownFiles(
    like media: ProbedMedia, upTo lastID: Int64, limit: Int
  ) throws(AssetSourceError) -> [KnownFile] {
    guard lastID > 0, let fingerprint = media.fingerprint else { return [] }
    return try knownFiles(
      """
      fingerprint = ? AND id <= ? AND type = ? AND embeddedDate IS ? AND asset IS NOT NULL
        AND (isPrimary = 0 OR EXISTS (
          SELECT 1 FROM asset WHERE asset.id = file.asset AND coalesce(unadjustedWidth, pixelWidth) = ?
            AND coalesce(unadjustedHeight, pixelHeight) = ? AND orientation = ?
            AND cameraMake IS ? AND cameraModel IS ?))
        LIMIT ?
      """,
      [
        fingerprint.data, lastID, media.uniformTypeIdentifier, media.embeddedDate, media.pixelSize.width,
        media.pixelSize.height, media.orientation.rawValue, media.cameraMake, media.cameraModel, limit,
      ])
  }

  /// The files whose path another file has taken, and whose new path is unknown.
  package func filesWithoutPath() throws(AssetSourceError) -> [KnownFile] {
    try knownFiles("path < ? ORDER BY path", [Data([1])])
  }

  private func knownFiles(_ condition: String, _ arguments: StatementArguments) throws(AssetSourceError) -> [KnownFile]
  {
    try read { db in
      let rows = try Row.fetchCursor(
        db.cachedStatement(sql: "SELECT \(KnownFile.columns) FROM file WHERE \(condition)"), arguments: arguments)
      var files: [KnownFile] = []
      while let row = try rows.next() { files.append(try KnownFile(row)) }
      return files
    }
  }

  /// Companion files whose asset loses its picture or video if these rows are removed. The missing rows themselves are
  /// left out.
  package func secondaryFiles(ofMissing ids: [Int64]) throws(AssetSourceError) -> [KnownFile] {
    let missing = Set(ids)
    return try read { db in
      var secondaryFiles: [KnownFile] = []
      let statement = try db.cachedStatement(
        sql: """
          SELECT \(KnownFile.columns) FROM file
          WHERE isPrimary = 0 AND asset = (SELECT asset FROM file WHERE id = ? AND isPrimary = 1) ORDER BY role, id
          """)
      for id in ids {
        let rows = try Row.fetchCursor(statement, arguments: [id])
        while let row = try rows.next() {
          let file = try KnownFile(row)
          if !missing.contains(file.id) { secondaryFiles.append(file) }
        }
      }
      return secondaryFiles
    }
  }

  /// The paths of pictures that may replace the missing pictures of these companion files.
  package func pictures(beside paths: [[UInt8]]) throws(AssetSourceError) -> [[UInt8]] {
    paths.isEmpty ? [] : try read { try AssetPairing.pictures(beside: paths, $0) }
  }

  /// The number of files in the catalogue, with or without an asset.
  package func fileCount() throws(AssetSourceError) -> Int {
    try read { try Int.fetchOne($0, sql: "SELECT count(*) FROM file") ?? 0 }
  }

  /// Records files that were found at another path. They keep their row, and so their asset. A row that already has the
  /// new path loses it until its own file is found, so two files may also swap paths. A file at the former path of a
  /// missing asset may restore that asset instead: see `MissingAssets`. A file that is now beside its counterpart, such
  /// as the video of a live photo beside the picture, may join the counterpart's asset.
  ///
  /// - Returns: the paths of missing assets that came back, and of files that may join another asset
  ///   (`ProbedFile.mayJoin`). These files must be read.
  package func move(_ moves: [MovedFile]) throws(AssetSourceError) -> [[UInt8]] {
    var returned: [[UInt8]] = []
    guard !moves.isEmpty else { return returned }
    try change { db, token in
      var writer = try AssetWriter(db, token: token)
      for move in moves { try writer.clearPath(fromRow: move.file.id, isRestorable: false) }
      for move in moves {
        if let missing = try writer.missingAsset(savedAt: move.path, byRow: move.file.id) {
          try writer.remove(row: move.file.id)
          _ = try missing.restore(&writer)
          returned.append(move.path)
        } else {
          try writer.move(row: move.file.id, to: move.path)
          try writer.run("UPDATE file SET changed = ? WHERE id = ?", [move.changeTimeNanoseconds, move.file.id])
        }
      }
      for move in moves where try writer.mayJoin(row: move.file.id) { returned.append(move.path) }
      try writer.finish()
    }
    return returned
  }

  /// Stores a batch of scan findings in one transaction.
  ///
  /// - Returns: the rows that lost their path to the file of a missing asset, which came back. Their own files have
  ///   left the path.
  @discardableResult
  package func store(_ files: [ProbedFile]) throws(AssetSourceError) -> [Int64] {
    var displaced: [Int64] = []
    guard !files.isEmpty else { return displaced }
    try change { db, token in
      var writer = try AssetWriter(db, token: token)
      writer.isScan = true
      for file in files { try writer.store(file) }
      try writer.finish()
      displaced = writer.displacedRows
    }
    return displaced
  }

  /// Removes the rows of missing files. An asset is deleted with the last of its files; if it has user values, it comes
  /// back when its file does (see `MissingAssets`). So pass the rows of all missing files of an asset in one call.
  ///
  /// - Parameters:
  ///   - secondaryFiles: the files of `secondaryFiles(ofMissing:)`, freshly probed. The first one of each asset becomes
  ///     its picture or video.
  ///   - pictures: the files of `pictures(beside:)`, freshly probed. They join the assets of the secondary files.
  package func remove(
    _ ids: [Int64], secondaryFiles: [ProbedFile] = [], pictures: [ProbedFile] = []
  ) throws(AssetSourceError) {
    guard !ids.isEmpty else { return }
    try change { db, token in
      var writer = try AssetWriter(db, token: token)
      try MissingAssets.remember(losing: ids, now: writer.now, db)
      for id in ids { try writer.remove(row: id) }
      for file in secondaryFiles { try writer.store(file) }
      for picture in pictures { try writer.joinAgain(picture) }
      for asset in writer.assetsThatLostFiles.sorted() { try writer.joinCompanions(of: asset) }
      try writer.finish()
    }
  }

  /// Begins a full scan. A catalogue without files gets its probe version at once, so that a first scan that is
  /// interrupted is continued by the next one.
  ///
  /// - Returns: whether every file must be read again, because the last full scan used another probe version.
  package func beginScan(probeVersion: String) throws(AssetSourceError) -> Bool {
    if try lastFileID() == 0 { try recordScan(probeVersion: probeVersion) }
    return try self.probeVersion() != probeVersion
  }

  /// Records the probe version that a full scan used.
  package func recordScan(probeVersion: String) throws(AssetSourceError) {
    if try self.probeVersion() != probeVersion { try note(probeVersion, as: .probe) }
  }

  private func probeVersion() throws(AssetSourceError) -> String {
    try read { try CatalogueValue.probe.read($0) ?? "" }
  }

  /// Records that the first scan is complete: every file that existed was read, including the files that were deferred
  /// because a program might still have been writing them.
  package func recordFirstScanComplete() throws(AssetSourceError) {
    let isKnown: Bool = try read { db in try CatalogueValue.isFirstScanComplete.read(db) ?? false }
    if !isKnown { try note(true, as: .isFirstScanComplete) }
  }

  /// Stores a value about scans. This is not a change of the library: it creates no token.
  private func note(_ value: some DatabaseValueConvertible, as name: CatalogueValue) throws(AssetSourceError) {
    try writeMaintenance { db in try name.write(value, db) }
  }
}

extension FileFingerprint {
  var data: Data { Data(bytes) }
}

extension ProbedMedia {
  /// Milliseconds since 1970; `nil` if the file itself contains no date.
  package var embeddedDate: Int64? { date.isEmbedded ? date.moment.milliseconds : nil }
}
