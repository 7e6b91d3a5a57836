// Assets that users changed and whose files another program removed. Their records wait among those of the trash, and
// such an asset comes back with its file: from a copy, or from a program that removes a file before it writes it anew.

import Foundation
import GRDB
import PhotoModel

enum MissingAssets {
  /// The number of assets that are remembered. The oldest are forgotten first.
  static let maximumCount = 10_000
  /// How long a file with other contents at the path of a missing one is the same photograph, saved by another program:
  /// milliseconds.
  static let savingTime: Int64 = 10 * 60 * 1000
  /// More files with the same ends and size are copies of one file.
  private static let maximumCandidates = 8

  /// Remembers the assets that lose all their files with these rows, unless no user has changed them.
  ///
  /// - Parameter now: milliseconds since 1970.
  static func remember(withoutFiles rows: [Int64], now: Int64, _ db: Database) throws {
    let primary = try db.cachedStatement(
      sql: """
        SELECT file.asset, file.path, asset.localIdentifier FROM file JOIN asset ON asset.id = file.asset
        WHERE file.id = ? AND isPrimary
        """)
    let files = try db.cachedStatement(sql: "SELECT id FROM file WHERE asset = ?")
    let gone = Set(rows)
    for row in rows {
      guard let found = try Row.fetchOne(primary, arguments: [row]) else { continue }
      let (asset, path, identifier): (Int64, Data, String) = (found[0], found[1], found[2])
      guard try Int64.fetchSet(files, arguments: [asset]).isSubset(of: gone), try AssetWriter.hasUserValues(asset, db)
      else { continue }
      // The intent of a deletion has saved it already.
      if try TrashRecord.find(LocalIdentifier(identifier), db) != nil { continue }
      let file = TrashRecord.File(number: 0, path: [UInt8](path), trashPath: [])
      _ = try TrashRecord.insert(
        LocalIdentifier(identifier), asset: asset, rows: [row], files: [file], state: .missing, now: now, db)
    }
    try db.execute(
      sql: """
        DELETE FROM trash WHERE state = 'missing' AND id <= (
          SELECT id FROM trash WHERE state = 'missing' ORDER BY id DESC LIMIT 1 OFFSET ?)
        """, arguments: [maximumCount])
  }

  /// The record of a missing asset that this new file brings back, with the file's path: the same content under the same
  /// name or with the same time, or another content at the same path soon after.
  fileprivate static func record(
    for media: ProbedMedia, _ file: ProbedFile, now: Int64, _ db: Database
  ) throws -> TrashRecord? {
    let exists = try Bool.fetchOne(
      db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM trash WHERE state = 'missing')"))
    guard exists == true else { return nil }
    if let fingerprint = media.fingerprint, let copy = try record(like: fingerprint, file, db) { return copy }
    let saved = try Int64.fetchOne(
      db.cachedStatement(
        sql: """
          SELECT trash.id FROM trashFile CROSS JOIN trash ON trash.id = trash
          WHERE path = ? AND place = 0 AND state = 'missing' AND deletedDate >= ?
          ORDER BY trash.id DESC LIMIT 1
          """), arguments: [Data(file.path), now - savingTime])
    return try saved.flatMap { try TrashRecord.find($0, db) }
  }

  /// The record of an asset whose file has this content.
  private static func record(
    like fingerprint: FileFingerprint, _ file: ProbedFile, _ db: Database
  ) throws -> TrashRecord? {
    let records = try Int64.fetchAll(
      db.cachedStatement(
        sql: """
          SELECT trash.id FROM trashValue CROSS JOIN trash ON trash.id = trash
          WHERE value = ? AND file = 0 AND name = 'fingerprint' AND state = 'missing'
          ORDER BY trash.id DESC LIMIT \(maximumCandidates)
          """), arguments: [fingerprint.data])
    for id in records {
      guard let record = try TrashRecord.find(id, db), let former = record.files.first,
        let original = try record.original(of: former, db), original.identity.size == file.identity.size
      else { continue }
      let isNamed = OriginalFile.displayName(former.path) == OriginalFile.displayName(file.path)
      guard isNamed || original.identity.modified == file.identity.modified else { continue }
      try record.updatePaths(TrashRecord.File(number: former.number, path: file.path, trashPath: []), db)
      return try TrashRecord.find(id, db)
    }
    return nil
  }
}

extension AssetWriter {
  /// The missing asset that a new file brings back. Callers with limited visibility don't learn of any.
  func missingAsset(for media: ProbedMedia, _ file: ProbedFile) throws -> TrashRecord? {
    guard joinable == .of(.whole), partner == nil else { return nil }
    return try MissingAssets.record(for: media, file, now: now, db)
  }
}

extension Catalogue {
  /// Forgets the missing assets that were removed before a point in time.
  ///
  /// - Parameter milliseconds: since 1970.
  package func forgetMissingAssets(removedBefore milliseconds: Int64) throws(AssetSourceError) {
    try writeTrash { db in
      try db.execute(
        sql: "DELETE FROM trash WHERE state = 'missing' AND deletedDate < ?", arguments: [milliseconds])
    }
  }
}
