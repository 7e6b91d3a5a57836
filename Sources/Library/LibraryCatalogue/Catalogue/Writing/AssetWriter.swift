// Turns files into assets: writes one batch of scan findings in one transaction, each compared with the current rows of
// the catalogue.
//
//     known file      its asset is updated; with a new name, date or content identifier, it may join another one, or
//                     others may join it
//     new file        joins the asset that it belongs to (see AssetPairing), brings a missing one back (see
//                     MissingAssets), or becomes an asset of its own
//     missing file    its asset is deleted with its last file; otherwise another of its files becomes the primary one,
//                     and files that took the place of the missing one join it
//
// A user's changes to an asset, and its album memberships, belong to the asset's row. So an existing row is updated and
// never replaced.

import Cryptography
import Foundation
import GRDB
import PhotoModel
import Primitives

struct AssetWriter {
  let db: Database
  /// The token of this transaction's change.
  let token: Int64
  /// The keyed MAC that content versions start from.
  let pixels: HMACSHA256
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
  /// Another program wrote the files, at paths of its own choice. An upload gets a free path.
  var isScan = false
  /// The content versions that restored assets had when they were deleted.
  var restored: [Int64: String] = [:]
  /// The identifiers of the assets that became parts of others in this transaction, and the rows of those others.
  var merged: [LocalIdentifier: Int64] = [:]
  /// The assets that lost a file and have others.
  private(set) var reduced: Set<Int64> = []

  init(_ db: Database, token: Int64) throws {
    self.db = db
    self.token = token
    pixels = HMACSHA256(key: try Catalogue.contentKey(db))
    now =
      try Int64.fetchOne(db.cachedStatement(sql: "SELECT changeDate FROM library WHERE id = 0"))
      ?? Int64(Date().timeIntervalSince1970 * 1000)
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

  /// Takes a row's path, which another file has now.
  ///
  /// - Parameter isRestorable: the row may get it back, if its own file turns out to be gone: see `restorePath`. If
  ///   several rows lost a path, those wait for it whose assets users have changed, or else the first that lost it: a
  ///   file that took the path only for a moment does not.
  mutating func clearPath(fromRow row: Int64, isRestorable: Bool = true) throws {
    guard let path = try storedPath(ofRow: row), !VacantPath.isVacant(path) || !isRestorable else { return }
    edits.note(sidecar: path)
    let keepsFormer = try isRestorable && replaceWaitingRows(of: path, with: row)
    let vacant = keepsFormer ? VacantPath.of(row, former: path) : VacantPath.of(row)
    try run("UPDATE file SET path = ? WHERE id = ?", [vacant, row])
  }

  /// Returns whether a row waits for a path from now on. If so, rows whose assets no user has changed no longer do.
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
    // Look the row up now: rows may have moved since the scan saw the file, also within this batch.
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

  /// A known file, or a new one: see the drawing above. A companion that can no longer have its role is a new file.
  private mutating func store(_ media: ProbedMedia, of file: ProbedFile, _ row: FileRow?) throws {
    if let row, let asset = row.asset {
      if try row.isPrimary || keepsRole(row, in: asset, media, of: file) {
        return try storeKnown(media, of: file, row, in: asset)
      }
      try detach(row, from: asset)
    } else if let missing = try missingAsset(for: media, file) {
      return try bringBack(missing, with: media, of: file, row)
    }
    // A file that changes its asset or its role has the same content.
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

  /// A known file that keeps its role in its asset, unless it joins another one.
  private mutating func storeKnown(_ media: ProbedMedia, of file: ProbedFile, _ row: FileRow, in asset: Int64) throws {
    // Another time zone or a program that reads more also finds other facts, but in the same file.
    let isOtherContent = row.identity != file.identity || row.wasTouched(file) || file.wasWritten
    let mayJoin = row.isPrimary && (file.mayJoin || isOtherContent && row.hasOtherFacts(than: media))
    if mayJoin, try join(file, media, row) { return }
    let role = row.isPrimary ? media.primaryRole : row.role
    try write(
      file, number: row.contentNumber, row: row.id, asset: asset, role: role, isPrimary: row.isPrimary, media: media)
    var isRewritten = row.isRewritten(file, media)
    let isOtherFile = row.identity != file.identity || isRewritten
    if row.isPrimary {
      // `remove(row:)` has made it the primary file.
      let isOtherPrimary = row.identity == .unknown
      let hasChanged = try update(
        asset, media, file, isOtherFile: isOtherFile, isOtherPrimary: isOtherPrimary, namedBurst: row.burst)
      // Other metadata are other bytes, which may be beyond those that the fingerprint covers.
      if hasChanged && row.wasTouched(file) { isRewritten = true }
    } else if isOtherFile {
      try touch(asset)
    }
    if isRewritten {
      try run("UPDATE file SET rewritten = ? WHERE id = ?", [Self.newContentNumber(of: file), row.id])
    }
    try refresh(asset)
    // A file that waited for the end of the walk may follow its RAW file or its video.
    if mayJoin || file.movedFromRow != nil && row.isPrimary { try joinCompanions(of: asset) }
    edits.note(asset: asset)
  }

  /// Takes a companion file, which can no longer have its role, out of its asset.
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
    // No event reported writes while the file was elsewhere.
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

  /// Removes a missing file's row. Its asset is deleted with it, unless the asset has other files; in that case the
  /// caller stores the first of them again in the same transaction.
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
    reduced.insert(asset)
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
    var pixels: [FileContent] = []
    var isRAW = false
    var isLive = false
    for (index, file) in files.enumerated() {
      let role = (file[0] as String?).flatMap(FileRole.init)
      if role == .pairedVideo || index == 0 && file[5] { isLive = true }
      if (file[4] as String?).map(isRAWType) ?? false { isRAW = true }
      // A live photo's video contributes no pixels to the picture.
      guard index == 0 || role == .alternatePhoto else { continue }
      pixels.append(
        FileContent(
          path: try file.bytes(7), identity: file.identity(from: 1), changeTimeNanoseconds: file[8], number: file[6]))
    }
    try run(Self.refreshSQL, [contentVersion(of: pixels), isRAW, isLive, asset, token, now])
    try refreshAdjustedPicture(of: asset)
  }

  /// HMAC-SHA256 over the identities of the files that hold the asset's pixels, with the numbers of their contents and
  /// their paths where those are needed, truncated to 128 bits. It follows from the rows, so it is the same each time.
  func contentVersion(of files: [FileContent]) -> String {
    var pixels = pixels
    for file in files {
      let identity = file.identity
      let values = (
        identity.inode.littleEndian, UInt64(bitPattern: identity.size).littleEndian,
        UInt64(bitPattern: identity.modified).littleEndian
      )
      withUnsafeBytes(of: values) { pixels.update($0) }
      if file.number != 0 { withUnsafeBytes(of: file.number.littleEndian) { pixels.update($0) } }
      if file.needsPath {
        withUnsafeBytes(of: UInt64(file.path.count).littleEndian) { pixels.update($0) }
        pixels.update(file.path)
      }
    }
    return Base64URL.encode(pixels.finalize().prefix(16))
  }

  /// The end of the content version of an asset with these regions of a user: 48 bits of a keyed digest.
  func regionsVersion(_ json: String?) -> String {
    var digest = pixels
    digest.update((json ?? "").utf8)
    return "." + Base64URL.encode(digest.finalize().prefix(6))
  }

  func run(_ sql: String, _ arguments: StatementArguments) throws {
    try db.cachedStatement(sql: sql).execute(arguments: arguments)
  }
}
