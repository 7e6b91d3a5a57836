// Remembers assets with user values whose files another program removed. Their records are kept in the tables of the
// trash. An asset comes back when its file does: from a copy, or from a program that removes a file before it saves it
// again.

import Foundation
import GRDB
import ImageCodec
import PhotoModel

enum MissingAssets {
  /// The number of assets that are remembered. The oldest are forgotten first.
  static let maximumCount = 10_000
  /// The time after the removal of a file, in milliseconds, within which a file with other contents at the same path
  /// counts as the same photograph, saved by another program.
  static let saveWindow: Int64 = 10 * 60 * 1000
  /// Two pictures without compression may differ only in the middle, which the fingerprint does not cover.
  private static let uncompressedTypes = Set([SourceFormat.bmp, .tiff].map(\.uniformTypeIdentifier))

  /// An asset with user values that loses all its files.
  struct LostAsset {
    let asset: Int64
    let identifier: LocalIdentifier
    /// The row of its primary file.
    let row: Int64
    /// The path of that file.
    let path: [UInt8]
  }

  /// The assets with user values that lose all their files with these rows.
  static func assets(losing rows: [Int64], _ db: Database) throws -> [LostAsset] {
    let primary = try db.cachedStatement(
      sql: """
        SELECT file.asset, file.path, asset.localIdentifier FROM file JOIN asset ON asset.id = file.asset
        WHERE file.id = ? AND isPrimary
        """)
    let files = try db.cachedStatement(sql: "SELECT id FROM file WHERE asset = ?")
    let gone = Set(rows)
    var lost: [LostAsset] = []
    for row in rows {
      guard let found = try Row.fetchOne(primary, arguments: [row]) else { continue }
      let (asset, path, identifier): (Int64, Data, String) = (found[0], found[1], found[2])
      guard try Int64.fetchSet(files, arguments: [asset]).isSubset(of: gone), try AssetWriter.hasUserValues(asset, db)
      else { continue }
      // The intent of a deletion has already saved the asset.
      if try TrashRecord.find(LocalIdentifier(identifier), db) != nil { continue }
      let stored = [UInt8](path)
      lost.append(
        LostAsset(
          asset: asset, identifier: LocalIdentifier(identifier), row: row, path: VacantPath.former(stored) ?? stored))
    }
    return lost
  }

  /// Saves the assets with user values that lose all their files with these rows.
  ///
  /// - Parameter now: milliseconds since 1970.
  static func remember(losing rows: [Int64], now: Int64, _ db: Database) throws {
    for lost in try assets(losing: rows, db) {
      let file = TrashRecord.File(number: 0, path: lost.path, trashPath: [])
      _ = try TrashRecord.insert(
        lost.identifier, asset: lost.asset, rows: [lost.row], files: [file], state: .missing, now: now, db)
    }
    try db.execute(
      sql: """
        DELETE FROM trash WHERE state = 'missing' AND id <= (
          SELECT id FROM trash WHERE state = 'missing' ORDER BY id DESC LIMIT 1 OFFSET ?)
        """, arguments: [maximumCount])
  }

  /// The record of a missing asset that this new file brings back, updated to the file's path. The file has either the
  /// same content and the same name or time, or other content at the same path within the save window.
  ///
  /// - Parameter isScan: another program has chosen the path.
  fileprivate static func record(
    for media: ProbedMedia, _ file: ProbedFile, isScan: Bool, now: Int64, _ db: Database
  ) throws -> TrashRecord? {
    let exists = try Bool.fetchOne(
      db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM trash WHERE state = 'missing')"))
    guard exists == true else { return nil }
    if let copy = try record(like: media, file, db) { return copy }
    guard isScan else { return nil }
    return try record(savedAt: file.path, now: now, db)
  }

  /// The record of an asset whose file was removed from this path within the save window. A removal may also seem to be
  /// in the future, if the clock was set back since; one beyond the window has a date of a wrong clock and is ignored.
  fileprivate static func record(savedAt path: [UInt8], now: Int64, _ db: Database) throws -> TrashRecord? {
    let saved = try Int64.fetchOne(
      db.cachedStatement(
        sql: """
          SELECT trash.id FROM trashFile CROSS JOIN trash ON trash.id = trash
          WHERE path = ? AND place = 0 AND state = 'missing' AND deletedDate BETWEEN ? AND ?
          ORDER BY trash.id DESC LIMIT 1
          """), arguments: [Data(path), now - saveWindow, now + saveWindow])
    return try saved.flatMap { try TrashRecord.find($0, db) }
  }

  /// Whether two files of this type with the same fingerprint, size and metadata are copies of each other.
  static func isCopy(of type: String, hasSameName: Bool, hasSameTime: Bool) -> Bool {
    uncompressedTypes.contains(type) ? hasSameName && hasSameTime : hasSameName || hasSameTime
  }

  /// The record of an asset whose file has this content.
  private static func record(
    like media: ProbedMedia, _ file: ProbedFile, _ db: Database
  ) throws -> TrashRecord? {
    guard let fingerprint = media.fingerprint else { return nil }
    for record in try records(with: fingerprint, at: file.path, db) {
      guard let former = record.files.first, let original = try record.original(of: former, db),
        original.identity.size == file.identity.size, try record.hasProperties(of: media, db)
      else { continue }
      let hasSameName = OriginalFile.displayName(former.path) == OriginalFile.displayName(file.path)
      let hasSameTime = original.identity.isOfSameTime(as: file.identity)
      let type = media.uniformTypeIdentifier
      let isSameFile = original.identity == file.identity
      guard isSameFile || isCopy(of: type, hasSameName: hasSameName, hasSameTime: hasSameTime) else { continue }
      return try record.returning(to: file.path, db)
    }
    return nil
  }

  /// The record of a missing asset whose file has this identity and this content, whatever its path. The content is
  /// compared because another file may have got the inode.
  ///
  /// - Parameter path: where the file is now. It decides between several assets.
  static func record(
    of identity: FileIdentity, _ fingerprint: FileFingerprint, at path: [UInt8], _ db: Database
  ) throws -> TrashRecord? {
    for record in try records(with: fingerprint, at: path, db) {
      if let file = record.files.first, try record.original(of: file, db)?.identity == identity { return record }
    }
    return nil
  }

  /// The records of missing assets whose file has this fingerprint: those with its path come first, then those with its
  /// name, then the newest ones. So each name of one file, and each copy of it, preferably comes back as the asset
  /// that it was.
  private static func records(
    with fingerprint: FileFingerprint, at path: [UInt8], _ db: Database
  ) throws -> [TrashRecord] {
    let records = try TrashRecord.find(fingerprint, in: .missing, db)
    let name = OriginalFile.displayName(path)
    func rank(_ record: TrashRecord) -> Int {
      guard let former = record.files.first else { return 2 }
      if former.path == path { return 0 }
      return OriginalFile.displayName(former.path) == name ? 1 : 2
    }
    return (0...2).flatMap { wanted in records.filter { rank($0) == wanted } }
  }
}

extension TrashRecord {
  /// Sets another path of the primary file of a missing asset, and returns the changed record.
  fileprivate func returning(to path: [UInt8], _ db: Database) throws -> TrashRecord? {
    try updatePaths(File(number: 0, path: path, trashPath: []), db)
    return try Self.find(id, db)
  }

  /// Whether the primary file had the properties of this one that `Catalogue.knownFiles(like:)` compares.
  fileprivate func hasProperties(of media: ProbedMedia, _ db: Database) throws -> Bool {
    let file = try values(0, of: "file", db)
    let asset = try values(Self.assetRow, of: "asset", db)
    func side(_ unadjusted: String, _ shown: String) -> DatabaseValue? {
      asset[unadjusted].flatMap { $0.isNull ? nil : $0 } ?? asset[shown]
    }
    let pairs: [(DatabaseValue?, (any DatabaseValueConvertible)?)] = [
      (file["type"], media.uniformTypeIdentifier), (file["embeddedDate"], media.embeddedDate),
      (side("unadjustedWidth", "pixelWidth"), media.pixelSize.width),
      (side("unadjustedHeight", "pixelHeight"), media.pixelSize.height),
      (asset["orientation"], media.orientation.rawValue), (asset["cameraMake"], media.cameraMake),
      (asset["cameraModel"], media.cameraModel),
    ]
    return pairs.allSatisfy { saved, new in saved == new?.databaseValue ?? .null }
  }
}

extension AssetWriter {
  /// The missing asset that a new file brings back; always `nil` for callers with limited visibility.
  func missingAsset(for media: ProbedMedia, _ file: ProbedFile) throws -> TrashRecord? {
    guard joinable == .of(.whole), partner == nil else { return nil }
    return try MissingAssets.record(for: media, file, isScan: isScan, now: now, db)
  }

  /// The missing asset whose file is now at the path of another known file, as if it had been renamed to that path. In
  /// a bucket nothing is renamed: an object that is written again stays the same asset. So does a copy of the known
  /// file, which has its size, time and content. A file that another row has too is a link to that row's file.
  func missingAsset(renamed media: ProbedMedia, _ file: ProbedFile, over row: FileRow) throws -> TrashRecord? {
    guard isScan, file.changeTimeNanoseconds != 0, row.identity != file.identity, let fingerprint = media.fingerprint
    else { return nil }
    let hasSameSizeAndTime = row.identity.size == file.identity.size && row.identity.modified == file.identity.modified
    if hasSameSizeAndTime && row.fingerprint == fingerprint { return nil }
    guard try !hasRow(file.identity) else { return nil }
    return try MissingAssets.record(of: file.identity, fingerprint, at: file.path, db)?.returning(to: file.path, db)
  }

  /// Whether a known file has this identity.
  private func hasRow(_ identity: FileIdentity) throws -> Bool {
    try Bool.fetchOne(
      db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM file WHERE inode = ? AND size = ? AND modified = ?)"),
      arguments: [Int64(bitPattern: identity.inode), identity.size, identity.modified]) ?? false
  }

  /// The missing asset that a known file brings back by moving to its path: a program removed the photograph and saved
  /// it again through a temporary file, which a scan indexed. The known file must be the only one of an asset without
  /// user values. If another row has the path or waits for it, `restorePath` decides instead.
  func missingAsset(savedAt path: [UInt8], byRow row: Int64) throws -> TrashRecord? {
    guard let record = try MissingAssets.record(savedAt: path, now: now, db), try fileRow(at: path) == nil,
      try rowsWaiting(for: path).isEmpty
    else { return nil }
    let asset = try Int64.fetchOne(db.cachedStatement(sql: "SELECT asset FROM file WHERE id = ?"), arguments: [row])
    guard let asset, try isMergeable(asset) else { return nil }
    return record
  }
}

extension Catalogue {
  /// Whether the file with this identity and content belongs to a missing asset, whatever its path.
  package func isOfMissingAsset(
    _ identity: FileIdentity, _ fingerprint: FileFingerprint
  ) throws(AssetSourceError) -> Bool {
    try read { db in try MissingAssets.record(of: identity, fingerprint, at: [], db) != nil }
  }

  /// Forgets the missing assets that were removed before a point in time and before the save window.
  ///
  /// - Parameters:
  ///   - milliseconds: since 1970.
  ///   - now: milliseconds since 1970.
  package func forgetMissingAssets(removedBefore milliseconds: Int64, now: Int64) throws(AssetSourceError) {
    try writeMaintenance(isLarge: true) { db in
      try db.execute(
        sql: "DELETE FROM trash WHERE state = 'missing' AND deletedDate < ?",
        arguments: [min(milliseconds, now - MissingAssets.saveWindow)])
    }
  }
}
