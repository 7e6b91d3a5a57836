// What a scan reads from the catalogue and writes to it.

import Foundation
import GRDB
import PhotoModel

/// A file as the catalogue knows it.
struct KnownFile: Sendable {
  let id: Int64
  let path: [UInt8]
  let identity: FileIdentity

  fileprivate static let columns = "file.id, file.path, file.inode, file.size, file.modified"

  fileprivate init(_ row: Row) throws {
    id = row[0]
    path = try row.withUnsafeData(atIndex: 1) { $0.map { [UInt8]($0) } ?? [] }
    identity = FileIdentity(inode: UInt64(bitPattern: row[2] as Int64), size: row[3], modified: row[4])
  }
}

extension FileIdentity {
  /// What no file is: a row with it is looked at again by every scan.
  static let unknown = FileIdentity(inode: 0, size: 0, modified: 0)
}

extension Catalogue {
  /// Of files that look alike only so many are considered: there are more only where somebody made links or copies, and
  /// then none of them is the one.
  private static let mostCandidates = 8

  /// The highest row number given out so far: rows that a scan adds itself lie above it.
  func lastFileID() throws(AssetSourceError) -> Int64 {
    try read { try Int64.fetchOne($0, sql: "SELECT max(id) FROM file") ?? 0 }
  }

  /// Known files below a folder in the order of their paths, from behind one, a page at a time, up to a row number. The
  /// root's are all there are.
  func knownFiles(
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

  func knownFile(at path: [UInt8]) throws(AssetSourceError) -> KnownFile? {
    try knownFiles("path = ?", [Data(path)]).first
  }

  /// The known files, up to a row number, that were this one, by the file system's word: the same inode, size and time.
  func knownFiles(like identity: FileIdentity, upTo lastID: Int64 = .max) throws(AssetSourceError) -> [KnownFile] {
    if lastID == 0 { return [] }
    return try knownFiles(
      "inode = ? AND size = ? AND modified = ? AND id <= ? LIMIT \(Self.mostCandidates)",
      [Int64(bitPattern: identity.inode), identity.size, identity.modified, lastID])
  }

  /// Those of some rows that are still there.
  func knownFiles(_ ids: [Int64]) throws(AssetSourceError) -> [KnownFile] {
    try read { db in
      let statement = try db.cachedStatement(sql: "SELECT \(KnownFile.columns) FROM file WHERE id = ?")
      return try ids.compactMap { try Row.fetchOne(statement, arguments: [$0]).map { try KnownFile($0) } }
    }
  }

  /// The known files that may have been this one: both ends are the same, and so is all that they say of themselves.
  func knownFiles(like media: ProbedMedia, upTo lastID: Int64) throws(AssetSourceError) -> [KnownFile] {
    guard lastID > 0, let fingerprint = media.fingerprint else { return [] }
    return try knownFiles(
      """
      fingerprint = ? AND id <= ? AND type = ? AND toldDate IS ? AND asset IS NOT NULL
        AND (isPrimary = 0 OR EXISTS (
          SELECT 1 FROM asset WHERE asset.id = file.asset AND pixelWidth = ? AND pixelHeight = ? AND orientation = ?
            AND cameraMake IS ? AND cameraModel IS ?))
        LIMIT \(Self.mostCandidates)
      """,
      [
        fingerprint.data, lastID, media.uniformTypeIdentifier, media.toldDate, media.pixelSize.width,
        media.pixelSize.height, media.orientation.rawValue, media.cameraMake, media.cameraModel,
      ])
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

  /// The files that would be left without their asset's picture or video if these rows went: those that go with it.
  func companions(ofMissing ids: [Int64]) throws(AssetSourceError) -> [KnownFile] {
    let missing = Set(ids)
    return try read { db in
      var companions: [KnownFile] = []
      let statement = try db.cachedStatement(
        sql: """
          SELECT \(KnownFile.columns) FROM file
          WHERE isPrimary = 0 AND asset = (SELECT asset FROM file WHERE id = ? AND isPrimary = 1) ORDER BY role, id
          """)
      for id in ids {
        let rows = try Row.fetchCursor(statement, arguments: [id])
        while let row = try rows.next() {
          let file = try KnownFile(row)
          if !missing.contains(file.id) { companions.append(file) }
        }
      }
      return companions
    }
  }

  func fileCount() throws(AssetSourceError) -> Int {
    try read { try Int.fetchOne($0, sql: "SELECT count(*) FROM file") ?? 0 }
  }

  /// Files that were found under another name keep their row, and so their asset. Whatever had that name loses it, until
  /// it is found itself; so names may also be exchanged.
  func move(_ moves: [(file: KnownFile, to: [UInt8])]) throws(AssetSourceError) {
    guard !moves.isEmpty else { return }
    try change { db, token in
      let writer = try AssetWriter(db, token: token)
      for (file, _) in moves { try writer.takePath(fromRow: file.id) }
      for (file, path) in moves { try writer.move(row: file.id, to: path) }
    }
  }

  /// Puts a batch of findings into the catalogue, all or none.
  func store(_ files: [ProbedFile]) throws(AssetSourceError) {
    guard !files.isEmpty else { return }
    try change { db, token in
      var writer = try AssetWriter(db, token: token)
      for file in files { try writer.store(file) }
      try writer.finish()
    }
  }

  /// Files that are no longer there: their rows go, and an asset goes with the last of its files.
  ///
  /// - Parameter companions: those of `companions(ofMissing:)`, as they are now. The first of an asset becomes its picture
  ///   or video.
  func remove(_ ids: [Int64], companions: [ProbedFile] = []) throws(AssetSourceError) {
    guard !ids.isEmpty else { return }
    try change { db, token in
      var writer = try AssetWriter(db, token: token)
      for id in ids { try writer.remove(row: id) }
      for file in companions { try writer.store(file) }
      try writer.finish()
    }
  }

  /// What the last complete scan was made with; empty if there was none.
  func probeMark() throws(AssetSourceError) -> String {
    try read { try String.fetchOne($0, sql: "SELECT value FROM library WHERE key = 'probe'") ?? "" }
  }

  /// Notes that a scan was complete. It is no change of the library, and takes no token; it writes only what is new.
  func scanIsComplete(probeMark: String) throws(AssetSourceError) {
    let isKnown = try read { db in
      try Bool.fetchOne(
        db,
        sql: """
          SELECT (SELECT value FROM library WHERE key = 'isFirstScanComplete')
            AND (SELECT value FROM library WHERE key = 'probe') = ?
          """,
        arguments: [probeMark]) ?? false
    }
    if isKnown { return }
    do {
      try pool.write { db in
        try db.execute(sql: "UPDATE library SET value = 1 WHERE key = 'isFirstScanComplete'")
        try db.execute(sql: "UPDATE library SET value = ? WHERE key = 'probe'", arguments: [probeMark])
      }
    } catch {
      throw Self.translated(error)
    }
  }
}

extension ProbedMedia {
  /// In milliseconds, where the file itself names a date.
  var toldDate: Int64? { date.isTold ? date.moment.milliseconds : nil }
}
