// Turns files into assets: writes one batch of scan findings in one transaction, each compared with the current rows of
// the catalogue.
//
//     known file      its asset is updated; with a new name, date or content identifier, it may join another one, or
//                     others may join it
//     new file        joins the asset that it belongs to (see AssetPairing), brings a missing one back (see
//                     MissingAssets), or becomes an asset of its own
//     missing file    its asset is deleted with its last file; otherwise another of its files becomes the primary one,
//                     and files that replace the missing one join it
//
// An asset's row has its user values and album memberships, so an existing row is updated and never replaced.

import Cryptography
import Foundation
import GRDB
import PhotoModel
import Primitives

struct AssetWriter {
  let db: Database
  /// The token of this transaction's change.
  let token: Int64
  /// The keyed digest, still empty, that content versions are computed with.
  let versionDigest: HMACSHA256
  /// The time of this change in milliseconds since 1970.
  let now: Int64
  let calendar: LocalCalendar
  /// The uniform type identifiers that can be decoded.
  let renderableTypes: Set<String>
  var bursts: BurstWriter
  var edits = ForeignEditWriter()
  /// The assets that a new file may join.
  var joinable = JoinableAssets.of(.whole)
  /// The asset that a new file is known to belong to.
  var partner: Int64?
  /// Another program wrote the files, at paths of its choice. Otherwise they are uploads, which get free paths.
  var isScan = false
  /// The content versions that restored assets had when they were deleted, by the new row.
  var restoredVersions: [Int64: String] = [:]
  /// The assets that were merged into others in this transaction, each with the row of the other asset.
  var merged: [LocalIdentifier: Int64] = [:]
  /// The assets that lost a file but not their last one.
  private(set) var assetsThatLostFiles: Set<Int64> = []
  /// The rows that lost their path to the file of a missing asset, which came back in this scan.
  private(set) var displacedRows: [Int64] = []

  init(_ db: Database, token: Int64) throws {
    self.db = db
    self.token = token
    versionDigest = HMACSHA256(key: try Catalogue.contentKey(db))
    now =
      try Int64.fetchOne(db.cachedStatement(sql: "SELECT changeDate FROM library WHERE id = 0"))
      ?? Timestamp.now.milliseconds
    calendar = try LocalDayUpdate.calendar(db)
    renderableTypes = try Catalogue.renderableTypes(db)
    bursts = BurstWriter(db, token: token)
  }

  /// Call it once at the end of the transaction: groups bursts, which span several assets, and applies the edits of
  /// other programs, which may come from several files.
  mutating func finish() throws {
    try bursts.regroup()
    try applyForeignEdits()
    try noteRestoredContents()
  }

  // MARK: Paths

  /// Makes a row's path vacant, because another file has it now.
  ///
  /// - Parameter isRestorable: the row may get the path back if its own file turns out to be gone: see `restorePath`.
  ///   If several rows lost the same path, the ones whose assets have user values wait for it, or if there are none,
  ///   the first one: later ones had the path only for a moment.
  mutating func clearPath(fromRow row: Int64, isRestorable: Bool = true) throws {
    guard let path = try storedPath(ofRow: row), !VacantPath.isVacant(path) || !isRestorable else { return }
    edits.note(sidecar: path)
    let keepsFormer = try isRestorable && replaceWaitingRows(of: path, with: row)
    let vacant = keepsFormer ? VacantPath.of(row, former: path) : VacantPath.of(row)
    try run("UPDATE file SET path = ? WHERE id = ?", [vacant, row])
  }

  /// Returns whether a row may wait for a path. If so, other rows whose assets have no user values stop waiting.
  private func replaceWaitingRows(of path: [UInt8], with row: Int64) throws -> Bool {
    let waiting = try rowsWaiting(for: path)
    if waiting.isEmpty { return true }
    guard try Self.hasUserValues(ofRow: row, db) else { return false }
    for other in waiting where try !Self.hasUserValues(ofRow: other, db) {
      try run("UPDATE file SET path = ? WHERE id = ?", [VacantPath.of(other), other])
    }
    return true
  }

  /// The rows that may get this path back.
  func rowsWaiting(for path: [UInt8]) throws -> [Int64] {
    let bounds = VacantPath.bounds(former: path)
    let rows = try Row.fetchAll(
      db.cachedStatement(sql: "SELECT id, path FROM file WHERE path > ? AND path < ?"),
      arguments: [bounds.lower, bounds.upper])
    return try rows.filter { try VacantPath.former($0.bytes(1)) == path }.map { $0[0] as Int64 }
  }

  private func storedPath(ofRow row: Int64) throws -> [UInt8]? {
    try Data.fetchOne(db.cachedStatement(sql: "SELECT path FROM file WHERE id = ?"), arguments: [row]).map {
      [UInt8]($0)
    }
  }

  /// Moves a row to a path. Another row with that path loses it.
  mutating func move(row: Int64, to path: [UInt8]) throws {
    if let former = try storedPath(ofRow: row) { edits.note(sidecar: former) }
    edits.note(sidecar: path)
    if let previous = try fileRow(at: path)?.id, previous != row { try clearPath(fromRow: previous) }
    try run("UPDATE file SET path = ? WHERE id = ?", [Data(path), row])
    let asset = try Int64.fetchOne(
      db.cachedStatement(sql: "SELECT asset FROM file WHERE id = ?"), arguments: [row])
    guard let asset else { return }
    edits.note(asset: asset)
    try run(
      """
      UPDATE asset SET revision = ?1, modificationDate = ?5,
        originalFilename = CASE (SELECT isPrimary FROM file WHERE id = ?3) WHEN 1 THEN ?4 ELSE originalFilename END
      WHERE id = ?2
      """, [token, asset, row, OriginalFile.displayName(path), now])
  }

  // MARK: Findings

  mutating func store(_ file: ProbedFile) throws {
    if let former = file.movedFromRow { try move(row: former, to: file.path) }
    // Looked up only now: rows may have moved since the scan found the file, also within this batch.
    let row = try fileRow(at: file.path)
    edits.note(sidecar: file.path)
    switch file.finding {
    case .media(let media): try store(media, of: file, row)
    case .unreadable(let reason):
      if let asset = row?.asset {
        // An unreadable file is not deleted: it may be half copied, or its disk may be failing. The row keeps its old
        // identity, which differs from the file's, so every scan reads the file again until it is readable or gone.
        try run(
          "UPDATE file SET unreadableReason = ?1 WHERE asset = ?2 AND path = ?3 AND unreadableReason IS NOT ?1",
          [reason, asset, Data(file.path)])
      } else {
        try write(file, number: 0, row: row?.id, asset: nil, role: nil, isPrimary: false, media: nil, reason)
      }
    }
  }

  /// Stores a known or a new file: see the drawing above. A companion that can no longer have its role counts as new.
  private mutating func store(_ media: ProbedMedia, of file: ProbedFile, _ row: FileRow?) throws {
    if let row, let asset = row.asset {
      if let missing = try missingAsset(renamed: media, file, over: row) {
        // The restoration makes the row's path vacant.
        displacedRows.append(row.id)
        return try bringBack(missing, with: media, of: file, nil)
      }
      if try row.isPrimary || keepsRole(row, in: asset, media, of: file) {
        return try storeKnown(media, of: file, row, in: asset)
      }
      try detach(row, from: asset)
    } else if let missing = try missingAsset(for: media, file) {
      return try bringBack(missing, with: media, of: file, row)
    }
    // Not rewritten: a file keeps its content number when it changes its asset or role.
    let known = row.flatMap { $0.isRewritten(file, media) ? nil : $0.contentNumber } ?? 0
    let number = known != 0 ? known : Self.newContentNumber(of: file)
    let pairing = try AssetPairing.find(
      for: media, at: file.path, excluding: row?.id, among: joinable, known: partner, db)
    if let pairing {
      try add(media, of: file, row, number: number, to: pairing)
    } else {
      try addAsset(media, of: file, row, number: number)
    }
  }

  /// Stores a known file that keeps its role in its asset, unless it joins another asset.
  private mutating func storeKnown(_ media: ProbedMedia, of file: ProbedFile, _ row: FileRow, in asset: Int64) throws {
    // A probe with another time zone or of another version also finds other facts, but in an unchanged file.
    let isOtherContent = row.identity != file.identity || row.wasTouched(file) || file.wasWritten
    let mayJoin = row.isPrimary && (file.mayJoin || isOtherContent && row.hasOtherFacts(than: media))
    if mayJoin, try join(file, media, row) { return }
    let role = row.isPrimary ? media.primaryRole : row.role
    try write(
      file, number: row.contentNumber, row: row.id, asset: asset, role: role, isPrimary: row.isPrimary, media: media)
    var isRewritten = row.isRewritten(file, media)
    let isOtherFile = row.identity != file.identity || isRewritten
    if row.isPrimary {
      // `remove(row:)` has made a companion the primary file and cleared its identity.
      let isOtherPrimary = row.identity == .unknown
      let hasChanged = try update(
        asset, media, file, isOtherFile: isOtherFile, isOtherPrimary: isOtherPrimary, namedBurst: row.burst)
      // Changed metadata mean changed bytes, even if the fingerprint does not cover them.
      if hasChanged && row.wasTouched(file) { isRewritten = true }
    } else if isOtherFile {
      try touch(asset)
    }
    if isRewritten {
      try run("UPDATE file SET rewritten = ? WHERE id = ?", [Self.newContentNumber(of: file), row.id])
    }
    try refresh(asset)
    // A moved file is stored at the end of the walk, so its RAW file or video may have been stored before it.
    if mayJoin || file.movedFromRow != nil && row.isPrimary { try joinCompanions(of: asset) }
    edits.note(asset: asset)
  }

  /// Takes a companion file that can no longer have its role out of its asset.
  private func detach(_ row: FileRow, from asset: Int64) throws {
    try run("UPDATE file SET asset = NULL, role = NULL WHERE id = ?", [row.id])
    try touch(asset)
    try refresh(asset)
  }

  /// Restores a missing asset, and stores the file in it.
  private mutating func bringBack(
    _ missing: TrashRecord, with media: ProbedMedia, of file: ProbedFile, _ row: FileRow?
  ) throws {
    if let row { try remove(row: row.id) }
    let asset = try missing.restore(&self)
    // While the file was missing, no event reported writes to it.
    var returned = file
    returned.wasWritten = true
    try store(media, of: returned, fileRow(at: file.path))
    try joinCompanions(of: asset)
  }

  /// Adds a file to another asset: as its companion, or as its primary file.
  private mutating func add(
    _ media: ProbedMedia, of file: ProbedFile, _ row: FileRow?, number: Int64, to partner: AssetPairing
  ) throws {
    if let role = partner.newFileRole {
      try write(file, number: number, row: row?.id, asset: partner.asset, role: role, isPrimary: false, media: media)
      try touch(partner.asset)
    } else {
      try run(
        "UPDATE file SET isPrimary = 0, role = ? WHERE id = ?", [partner.existingFileRole.rawValue, partner.file])
      try write(
        file, number: number, row: row?.id, asset: partner.asset, role: media.primaryRole, isPrimary: true,
        media: media)
      try update(partner.asset, media, file, isOtherPrimary: true)
      try joinCompanions(of: partner.asset)
    }
    try refresh(partner.asset)
    edits.note(asset: partner.asset)
  }

  private mutating func addAsset(_ media: ProbedMedia, of file: ProbedFile, _ row: FileRow?, number: Int64) throws {
    let asset = try insert(media, file, number: number)
    try write(
      file, number: number, row: row?.id, asset: asset, role: media.primaryRole, isPrimary: true, media: media)
    edits.note(newAsset: asset, hasEdit: media.edit != nil)
    if try AssetPairing.strayVideo(of: media, at: file.path, among: joinable, db) != nil {
      try joinCompanions(of: asset)
    }
  }

  /// Removes a missing file's row, and its asset with it unless the asset has other files. In that case the caller
  /// stores the first of them again in the same transaction.
  mutating func remove(row: Int64) throws {
    let gone = try Row.fetchOne(
      db.cachedStatement(sql: "DELETE FROM file WHERE id = ? RETURNING asset, isPrimary, path"), arguments: [row])
    guard let gone else { return }
    try edits.note(sidecar: gone.bytes(2))
    guard let asset: Int64 = gone[0] else { return }
    edits.note(asset: asset)
    let other = try Int64.fetchOne(
      db.cachedStatement(sql: "SELECT id FROM file WHERE asset = ? ORDER BY role, id LIMIT 1"), arguments: [asset])
    guard let other else {
      try bursts.pictureRemoved(asset)
      try run("DELETE FROM asset WHERE id = ?", [asset])
      return
    }
    assetsThatLostFiles.insert(asset)
    if gone[1] {
      // Clear the identity, so that the next scan reads the file even if the caller does not store it now: a picture's
      // properties differ from a video's.
      try run(
        """
        UPDATE file SET isPrimary = 1, role = CASE role WHEN 'pairedVideo' THEN 'video' ELSE 'photo' END,
          inode = 0, size = 0, modified = 0
        WHERE id = ?
        """, [other])
    }
    try touch(asset)
    try refresh(asset)
  }

  // MARK: Assets

  func touch(_ asset: Int64) throws {
    try run("UPDATE asset SET revision = ?, modificationDate = ? WHERE id = ?", [token, now, asset])
  }

  private static let refreshSQL: String = {
    let values = [
      ("isRAW", "?2"),
      ("contentVersion", "CASE WHEN adjustments IS NULL THEN ?1 || regionsVersion ELSE contentVersion END"),
      ("unadjustedVersion", "CASE WHEN adjustments IS NULL THEN NULL ELSE ?1 END"),
      ("mediaSubtypes", "CASE WHEN ?3 THEN mediaSubtypes | \(live) ELSE mediaSubtypes & ~\(live) END"),
    ]
    return """
      UPDATE asset SET revision = ?5, modificationDate = ?6, \(values.map { "\($0) = \($1)" }.joined(separator: ", "))
      WHERE id = ?4 AND (\(values.map(\.0).joined(separator: ", "))) IS NOT (\(values.map(\.1).joined(separator: ", ")))
      """
  }()

  /// Updates the properties that are derived from all files of an asset.
  func refresh(_ asset: Int64) throws {
    let files = try Row.fetchAll(
      db.cachedStatement(
        sql: """
          SELECT role, inode, size, modified, type, isLive, rewritten, path, changed FROM file WHERE asset = ?
          ORDER BY isPrimary DESC, role, id
          """), arguments: [asset])
    var pictureFiles: [FileContent] = []
    var isRAW = false
    var isLive = false
    for (index, file) in files.enumerated() {
      let role = (file[0] as String?).flatMap(FileRole.init)
      if role == .pairedVideo || index == 0 && file[5] { isLive = true }
      if (file[4] as String?).map(isRAWType) ?? false { isRAW = true }
      // A live photo's video contributes no pixels to the picture.
      guard index == 0 || role == .alternatePhoto else { continue }
      pictureFiles.append(
        FileContent(
          path: try file.bytes(7), identity: file.identity(from: 1), changeTimeNanoseconds: file[8], number: file[6]))
    }
    try run(Self.refreshSQL, [contentVersion(of: pictureFiles), isRAW, isLive, asset, token, now])
    try refreshAdjustedPicture(of: asset)
  }

  /// HMAC-SHA256, truncated to 128 bits, over the identities of the files that hold the asset's pixels, their content
  /// numbers, and their paths where needed. Depends only on the rows, so it is reproducible.
  func contentVersion(of files: [FileContent]) -> String {
    var digest = versionDigest
    for file in files {
      let identity = file.identity
      let values = (
        identity.inode.littleEndian, UInt64(bitPattern: identity.size).littleEndian,
        UInt64(bitPattern: identity.modified).littleEndian
      )
      withUnsafeBytes(of: values) { digest.update($0) }
      if file.number != 0 { withUnsafeBytes(of: file.number.littleEndian) { digest.update($0) } }
      if file.needsPath {
        withUnsafeBytes(of: UInt64(file.path.count).littleEndian) { digest.update($0) }
        digest.update(file.path)
      }
    }
    return Base64URL.encode(digest.finalize().prefix(16))
  }

  /// The suffix of the content version of an asset whose regions a user set: 48 bits of a keyed digest of them.
  func regionsVersion(_ json: String?) -> String {
    var digest = versionDigest
    digest.update((json ?? "").utf8)
    return "." + Base64URL.encode(digest.finalize().prefix(6))
  }

  func run(_ sql: String, _ arguments: StatementArguments) throws {
    try db.cachedStatement(sql: sql).execute(arguments: arguments)
  }
}
