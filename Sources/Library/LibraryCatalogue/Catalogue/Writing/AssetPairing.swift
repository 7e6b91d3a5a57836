// Decides which files form one asset: RAW data and the picture that the camera made from it, or the picture and video
// of a live photo. Both files must be in the same folder.

import Foundation
import GRDB
import LibraryFolder
import PhotoModel

/// The asset that a new file joins, and the roles of the two files in it.
struct AssetPairing {
  let asset: Int64
  /// The asset's current primary file.
  let file: Int64
  /// The role of the new file; `nil` if it becomes the primary file and the existing one its companion.
  let newFileRole: FileRole?
  let existingFileRole: FileRole

  /// A live photo's video lasts about three seconds. A longer video with the same name is unrelated.
  static let maximumPairedVideoSeconds = 5.0
  /// The maximum difference between the dates of files that were taken together.
  private static let toleranceMilliseconds: Int64 = 1000
  /// The maximum difference between a video, whose date is in UTC, and a picture, which may have only local clock time.
  private static let videoToleranceMilliseconds: Int64 = 5000
  private static let quarterHourMilliseconds: Int64 = 900_000
  private static let maximumOffsetMilliseconds: Int64 = 14 * 3_600_000

  /// A file of another asset that belongs to an asset's picture.
  struct Companion {
    let file: Int64
    let asset: Int64
    let role: FileRole
    /// The file is a video that was paired with another picture: see ``strayVideo(of:at:among:_:)``.
    var isStray = false
  }

  /// The facts that decide which files were made together.
  fileprivate struct Facts {
    let path: [UInt8]
    let creationDate: Int64?
    let hasOffset: Bool
    let contentIdentifier: String?
    let fingerprint: Data?
  }

  fileprivate struct Candidate {
    let file: Int64
    let asset: Int64
    let facts: Facts
    let isRAW: Bool
    let mediaType: MediaType
    let duration: Double
  }

  /// The asset that a file should join; `nil` if there is none.
  ///
  /// - Parameters:
  ///   - row: the file's own row, if it has one.
  ///   - joinable: the assets that the file may join.
  ///   - partner: the asset that the file is known to belong to, even if neither names nor dates show it.
  static func find(
    for media: ProbedMedia, at path: [UInt8], excluding row: Int64?, among joinable: JoinableAssets,
    known partner: Int64?, _ db: Database
  ) throws -> AssetPairing? {
    let facts = Facts(media, at: path)
    let hasStrayVideo = try strayVideo(of: media, at: path, among: joinable, db) != nil
    var first: AssetPairing?
    for other in try candidates(like: facts, known: partner, db) where other.file != row {
      guard try joinable.contains(other.asset, db) else { continue }
      let isOtherRAW = other.isRAW
      let isKnown = other.asset == partner
      let pairing: AssetPairing
      switch (media.mediaType, other.mediaType) {
      case (.image, .image) where media.isRAW != isOtherRAW:
        let isPair = isKnown || isSameStem(path, other.facts.path) && isSameTime(facts, other.facts)
        guard isPair, try hasNoFile(.alternatePhoto, other.asset, db) else { continue }
        pairing = AssetPairing(
          asset: other.asset, file: other.file, newFileRole: media.isRAW ? .alternatePhoto : nil,
          existingFileRole: .alternatePhoto)
      case (.image, .video) where !media.isRAW:
        guard isLivePhotoPair(facts, other.facts, duration: other.duration, isKnown) else { continue }
        // The video with this picture's name is in another asset: see `strayVideo`.
        if hasStrayVideo && !isKnown && !isSameStem(path, other.facts.path) { continue }
        pairing = AssetPairing(asset: other.asset, file: other.file, newFileRole: nil, existingFileRole: .pairedVideo)
      case (.video, .image) where !isOtherRAW:
        guard isLivePhotoPair(facts, other.facts, duration: media.durationSeconds, isKnown),
          try hasNoFile(.pairedVideo, other.asset, db)
        else { continue }
        pairing = AssetPairing(
          asset: other.asset, file: other.file, newFileRole: .pairedVideo, existingFileRole: .pairedVideo)
      default: continue
      }
      if isKnown || pairing.newFileRole != nil { return pairing }
      // The RAW file and the video of a new picture may be two assets. The picture joins the one with user values,
      // because only the other one can be merged afterwards (see AssetWriter.joinCompanions).
      if let first, first.existingFileRole == pairing.existingFileRole { continue }
      if try AssetWriter.hasUserValues(other.asset, db) { return pairing }
      if first == nil { first = pairing }
    }
    return first
  }

  /// Whether a video is short enough for an asset's live photo, or has the content identifier of its picture.
  static func mayBePairedVideo(_ media: ProbedMedia, of asset: Int64, _ db: Database) throws -> Bool {
    if media.durationSeconds <= maximumPairedVideoSeconds { return true }
    guard let identifier = media.contentIdentifier else { return false }
    let other = try String.fetchOne(
      db.cachedStatement(sql: "SELECT contentIdentifier FROM file WHERE asset = ? AND isPrimary = 1"),
      arguments: [asset])
    return identifier == other
  }

  /// The RAW file and the video that belong to an asset's picture and are in assets of their own.
  static func companions(of asset: Int64, among joinable: JoinableAssets, _ db: Database) throws -> [Companion] {
    let row = try Row.fetchOne(
      db.cachedStatement(sql: "\(columns) WHERE file.asset = ? AND file.isPrimary = 1"), arguments: [asset])
    guard let row else { return [] }
    let picture = try candidate(row)
    guard picture.mediaType == .image, !picture.isRAW else { return [] }
    let stray = try strayVideo(of: picture.facts, among: joinable, db)
    var found: [Companion] = []
    for other in try candidates(like: picture.facts, db) where other.asset != asset {
      guard try joinable.contains(other.asset, db) else { continue }
      let role: FileRole
      switch other.mediaType {
      case .image where other.isRAW:
        guard isSameStem(picture.facts.path, other.facts.path), isSameTime(picture.facts, other.facts) else { continue }
        role = .alternatePhoto
      case .video:
        guard isLivePhotoPair(picture.facts, other.facts, duration: other.duration, false) else { continue }
        if stray != nil && !isSameStem(picture.facts.path, other.facts.path) { continue }
        role = .pairedVideo
      default: continue
      }
      guard try hasNoFile(role, asset, db), !found.contains(where: { $0.role == role }) else { continue }
      found.append(Companion(file: other.file, asset: other.asset, role: role))
    }
    let isVideoFound = found.contains { $0.role == .pairedVideo }
    if let stray, !isVideoFound, try hasNoFile(.pairedVideo, asset, db) { found.append(stray) }
    return found
  }

  /// The video that belongs to a new picture but is in the asset of another picture: it has the new picture's name and
  /// content identifier, and the other picture has another name. The video came before the new picture, and was paired
  /// with the other one by the identifier alone, because Apple's edited version (`IMG_E1.HEIC`) has the identifier of
  /// its original (`IMG_1.HEIC`). If the other picture is a copy of the new one, it keeps the video: it may be the same
  /// picture, renamed.
  static func strayVideo(
    of media: ProbedMedia, at path: [UInt8], among joinable: JoinableAssets, _ db: Database
  ) throws -> Companion? {
    guard media.mediaType == .image, !media.isRAW else { return nil }
    return try strayVideo(of: Facts(media, at: path), among: joinable, db)
  }

  private static func strayVideo(
    of facts: Facts, among joinable: JoinableAssets, _ db: Database
  ) throws -> Companion? {
    guard let identifier = facts.contentIdentifier, let stem = stem(of: facts.path) else { return nil }
    // The plus sign keeps SQLite from using the index of identifiers: fewer files have the name.
    let rows = try Row.fetchAll(
      db.cachedStatement(
        sql: """
          SELECT file.id, file.asset, picture.path
          FROM file CROSS JOIN file AS picture ON picture.asset = file.asset AND picture.isPrimary = 1
          WHERE \(StemRange.condition) AND +file.contentIdentifier = ?3 AND file.role = 'pairedVideo'
            AND picture.fingerprint IS NOT ?4
          """), arguments: StemRange.bounds(of: stem) + [identifier, facts.fingerprint])
    for row in rows {
      let picture = try row.bytes(2)
      // The name of the other picture is unknown until the scan finds it.
      if VacantPath.isVacant(picture) || isSameStem(picture, facts.path) { continue }
      guard try joinable.contains(row[1], db) else { continue }
      // The user values may have been meant for the video.
      if try AssetWriter.hasUserValues(row[1], db) { continue }
      return Companion(file: row[0], asset: row[1], role: .pairedVideo, isStray: true)
    }
    return nil
  }

  /// The paths of primary pictures that differ from one of these paths only in the extension.
  static func pictures(beside paths: [[UInt8]], _ db: Database) throws -> [[UInt8]] {
    let statement = try db.cachedStatement(
      sql: """
        SELECT file.path FROM file CROSS JOIN asset ON asset.id = file.asset
        WHERE \(StemRange.condition) AND file.isPrimary = 1 AND asset.mediaType = 1 AND asset.isRAW = 0 LIMIT 8
        """)
    var found: Set<[UInt8]> = []
    for path in paths {
      guard let stem = stem(of: path) else { continue }
      let rows = try Data.fetchAll(statement, arguments: StemRange.bounds(of: stem))
      found.formUnion(rows.map { [UInt8]($0) })
    }
    return found.sorted { $0.lexicographicallyPrecedes($1) }
  }

  /// Whether any file has this path, or this path with another extension. Files of the asset that a new file at the
  /// path would join do not count.
  static func isStemTaken(of path: [UInt8], by media: ProbedMedia, _ db: Database) throws -> Bool {
    guard let stem = stem(of: path) else { return false }
    let rows = try Row.fetchAll(
      db.cachedStatement(sql: "SELECT asset FROM file WHERE \(StemRange.condition)"),
      arguments: StemRange.bounds(of: stem))
    let assets = rows.map { $0[0] as Int64? }
    if assets.isEmpty { return false }
    let joined = try find(for: media, at: path, excluding: nil, among: .of(.whole), known: nil, db)?.asset
    return joined == nil || assets.contains { $0 != joined }
  }

  /// Whether files that differ from this path only in the extension belong to other photographs, so that the new file
  /// would join none of them. A RAW file and a video of the same time may belong to one photograph whose picture is
  /// still to come.
  static func hasStrangers(beside path: [UInt8], of media: ProbedMedia, _ db: Database) throws -> Bool {
    guard let stem = stem(of: path) else { return false }
    let assets = try Set(
      Int64.fetchAll(
        db.cachedStatement(sql: "SELECT asset FROM file WHERE \(StemRange.condition) AND asset IS NOT NULL"),
        arguments: StemRange.bounds(of: stem)))
    if assets.isEmpty { return false }
    let joined = try find(for: media, at: path, excluding: nil, among: .of(.whole), known: nil, db)?.asset
    if let joined, assets.contains(joined) { return false }
    let facts = Facts(media, at: path)
    let parts = try candidates(like: facts, db).filter { mayBePart($0, with: media, facts) }
    return !assets.isSubset(of: parts.map(\.asset))
  }

  /// Whether a known file and a new one may be parts of one photograph: of different kinds, and of the same time.
  private static func mayBePart(_ other: Candidate, with media: ProbedMedia, _ facts: Facts) -> Bool {
    guard isSameStem(other.facts.path, facts.path) else { return false }
    if other.mediaType == media.mediaType { return other.isRAW != media.isRAW && isSameTime(facts, other.facts) }
    let duration = media.mediaType == .video ? media.durationSeconds : other.duration
    return isLivePhotoPair(facts, other.facts, duration: duration, false)
  }

  /// Whether there is a file of the same name or content identifier, in the same folder, of another kind: the RAW file,
  /// the picture or the video of one photograph.
  static func hasCounterpart(of media: ProbedMedia, at path: [UInt8], _ db: Database) throws -> Bool {
    try candidates(like: Facts(media, at: path), db).contains { other in
      switch (media.mediaType, other.mediaType) {
      case (.image, .image): media.isRAW != other.isRAW
      case (.image, .video), (.video, .image): true
      default: false
      }
    }
  }

  /// The same for the file in a row.
  static func hasCounterpart(ofRow row: Int64, _ db: Database) throws -> Bool {
    let found = try Row.fetchOne(db.cachedStatement(sql: "\(columns) WHERE file.id = ?"), arguments: [row])
    guard let found else { return false }
    let file = try candidate(found)
    return try candidates(like: file.facts, db).contains { other in
      other.mediaType != file.mediaType || other.isRAW != file.isRAW
    }
  }

  /// Primary files that may belong to the same asset: first that of the known partner, then those whose paths differ
  /// only in the extension, then those with the same content identifier.
  private static func candidates(like facts: Facts, known partner: Int64? = nil, _ db: Database) throws -> [Candidate] {
    let path = facts.path
    var rows: [Row] = []
    if let partner {
      rows += try Row.fetchAll(
        db.cachedStatement(sql: "\(columns) WHERE file.asset = ? AND file.isPrimary = 1"), arguments: [partner])
    }
    if let stem = stem(of: path) {
      rows += try Row.fetchAll(
        db.cachedStatement(sql: "\(columns) WHERE \(StemRange.condition) AND file.isPrimary = 1 LIMIT 8"),
        arguments: StemRange.bounds(of: stem))
    }
    let folder = LibraryPath.folder(of: path)
    if let identifier = facts.contentIdentifier {
      // The folder is compared in SQL, so that copies in other folders do not count towards the limit.
      let start: [UInt8] = folder.isEmpty ? [] : folder + [UInt8(ascii: "/")]
      rows += try Row.fetchAll(
        db.cachedStatement(
          sql: """
            \(columns) WHERE file.contentIdentifier = ?1 AND substr(file.path, 1, length(?2)) = ?2
              AND instr(substr(file.path, length(?2) + 1), x'2F') = 0 AND file.isPrimary = 1 LIMIT 8
            """), arguments: [identifier, Data(start)])
    }
    return try rows.map { try candidate($0) }.filter { LibraryPath.folder(of: $0.facts.path) == folder }
  }

  private static let columns = """
    SELECT file.id, file.asset, file.path, file.type, asset.mediaType, file.embeddedDate,
      asset.duration, file.contentIdentifier, asset.creationDateSource, file.fingerprint
    FROM file JOIN asset ON asset.id = file.asset
    """

  private static func candidate(_ row: Row) throws -> Candidate {
    let facts = Facts(
      path: try row.bytes(2), creationDate: row[5],
      hasOffset: (row[8] as String) != DateSource.metadataInLibraryZone.rawValue, contentIdentifier: row[7],
      fingerprint: row[9])
    return Candidate(
      file: row[0], asset: row[1], facts: facts, isRAW: isRAWType(row[3] ?? ""),
      mediaType: MediaType(number: row[4]) ?? .unknown, duration: row[6])
  }

  private static func hasNoFile(_ role: FileRole, _ asset: Int64, _ db: Database) throws -> Bool {
    try Int.fetchOne(
      db.cachedStatement(sql: "SELECT 1 FROM file WHERE asset = ? AND role = ?"), arguments: [asset, role.rawValue])
      == nil
  }

  private static func isSameTime(_ one: Facts, _ other: Facts) -> Bool {
    guard let date = one.creationDate, let otherDate = other.creationDate else { return false }
    return abs(date - otherDate) <= toleranceMilliseconds
  }

  private static func isLivePhotoPair(_ one: Facts, _ other: Facts, duration: Double, _ isKnown: Bool) -> Bool {
    if let identifier = one.contentIdentifier, let another = other.contentIdentifier { return identifier == another }
    guard duration <= maximumPairedVideoSeconds else { return false }
    if isKnown { return true }
    guard isSameStem(one.path, other.path) else { return false }
    guard let date = one.creationDate, let otherDate = other.creationDate else { return false }
    let difference = abs(date - otherDate)
    if difference <= videoToleranceMilliseconds { return true }
    // If a date has no time zone, the difference may include a zone offset. All offsets are multiples of a quarter of
    // an hour, so compare modulo that.
    let hasOffset = one.hasOffset && other.hasOffset
    let rest = difference % quarterHourMilliseconds
    return !hasOffset && difference <= maximumOffsetMilliseconds
      && min(rest, quarterHourMilliseconds - rest) <= videoToleranceMilliseconds
  }

  /// The path without its extension; `nil` if the name has none.
  private static func stem(of path: [UInt8]) -> [UInt8]? {
    guard let dot = path.lastIndex(of: UInt8(ascii: ".")), dot > LibraryPath.folder(of: path).count else { return nil }
    return Array(path[..<dot])
  }

  /// Whether two paths are the same except for the extension.
  static func isSameStem(_ one: [UInt8], _ another: [UInt8]) -> Bool {
    stem(of: one).map { $0 == stem(of: another) } ?? false
  }
}

extension AssetPairing.Facts {
  fileprivate init(_ media: ProbedMedia, at path: [UInt8]) {
    self.init(
      path: path, creationDate: media.embeddedDate, hasOffset: media.date.source != .metadataInLibraryZone,
      contentIdentifier: media.contentIdentifier, fingerprint: media.fingerprint?.data)
  }
}
