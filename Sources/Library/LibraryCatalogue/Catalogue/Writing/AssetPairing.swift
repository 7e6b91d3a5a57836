// Decides which files form one asset: RAW data and the picture that the camera made from it, or the picture and video
// of a live photo. Both files must be in the same folder.

import Foundation
import GRDB
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
  private static let maximumPairedVideoSeconds = 5.0
  /// The maximum difference between the dates of files that were taken together.
  private static let toleranceMilliseconds: Int64 = 1000
  /// The same for a video, which names a moment, and a picture, which may name only local clock time.
  private static let videoToleranceMilliseconds: Int64 = 5000
  private static let quarterHourMilliseconds: Int64 = 900_000
  private static let maximumOffsetMilliseconds: Int64 = 14 * 3_600_000

  private struct Candidate {
    let file: Int64
    let asset: Int64
    let path: [UInt8]
    let uniformTypeIdentifier: String
    let mediaType: MediaType
    let creationDate: Int64?
    let duration: Double
    let contentIdentifier: String?
    let hasOffset: Bool
  }

  /// - Parameters:
  ///   - row: the file's own row, if it has one.
  ///   - joinable: the assets that the file may join.
  ///   - partner: the asset that it is known to belong to: dates need not show it.
  static func find(
    for media: ProbedMedia, at path: [UInt8], excluding row: Int64?, among joinable: JoinableAssets,
    known partner: Int64?, _ db: Database
  ) throws -> AssetPairing? {
    for other in try candidates(for: media, at: path, db) where other.file != row {
      guard try joinable.contains(other.asset, db) else { continue }
      let isOtherRAW = isRAWType(other.uniformTypeIdentifier)
      let isKnown = other.asset == partner
      switch (media.mediaType, other.mediaType) {
      case (.image, .image) where media.isRAW != isOtherRAW:
        guard isSameStem(path, other.path), isKnown || isSameTime(media, other),
          try hasNoFile(.alternatePhoto, other.asset, db)
        else {
          continue
        }
        return AssetPairing(
          asset: other.asset, file: other.file, newFileRole: media.isRAW ? .alternatePhoto : nil,
          existingFileRole: .alternatePhoto)
      case (.image, .video) where !media.isRAW:
        guard isLivePhotoPair(media, path, other, duration: other.duration, isKnown) else { continue }
        return AssetPairing(asset: other.asset, file: other.file, newFileRole: nil, existingFileRole: .pairedVideo)
      case (.video, .image) where !isOtherRAW:
        guard isLivePhotoPair(media, path, other, duration: media.durationSeconds, isKnown),
          try hasNoFile(.pairedVideo, other.asset, db)
        else { continue }
        return AssetPairing(
          asset: other.asset, file: other.file, newFileRole: .pairedVideo, existingFileRole: .pairedVideo)
      default: continue
      }
    }
    return nil
  }

  /// Whether there is a file of the same name or content identifier, in the same folder, of another kind: the RAW file,
  /// the picture or the video of one photograph.
  static func hasCounterpart(of media: ProbedMedia, at path: [UInt8], _ db: Database) throws -> Bool {
    try candidates(for: media, at: path, db).contains { other in
      switch (media.mediaType, other.mediaType) {
      case (.image, .image): media.isRAW != isRAWType(other.uniformTypeIdentifier)
      case (.image, .video), (.video, .image): true
      default: false
      }
    }
  }

  /// Primary files that may belong to the same asset: same path except for the extension, or same content identifier.
  private static func candidates(for media: ProbedMedia, at path: [UInt8], _ db: Database) throws -> [Candidate] {
    let columns = """
      SELECT file.id, file.asset, file.path, file.type, asset.mediaType, file.embeddedDate,
        asset.duration, file.contentIdentifier, asset.creationDateSource
      FROM file JOIN asset ON asset.id = file.asset
      """
    var rows: [Row] = []
    if let stem = stem(of: path) {
      // All paths that start with the stem and a dot: the slash is the byte value after the dot.
      rows += try Row.fetchAll(
        db.cachedStatement(sql: "\(columns) WHERE file.path > ? AND file.path < ? AND file.isPrimary = 1 LIMIT 8"),
        arguments: [Data(stem + [UInt8(ascii: ".")]), Data(stem + [UInt8(ascii: "/")])])
    }
    if let identifier = media.contentIdentifier {
      rows += try Row.fetchAll(
        db.cachedStatement(sql: "\(columns) WHERE file.contentIdentifier = ? AND file.isPrimary = 1 LIMIT 8"),
        arguments: [identifier])
    }
    let folder = folder(of: path)
    return try rows.compactMap { row in
      let candidate = Candidate(
        file: row[0], asset: row[1], path: try row.withUnsafeData(atIndex: 2) { $0.map { [UInt8]($0) } ?? [] },
        uniformTypeIdentifier: row[3] ?? "", mediaType: MediaType(number: row[4]) ?? .unknown, creationDate: row[5],
        duration: row[6], contentIdentifier: row[7],
        hasOffset: (row[8] as String) != DateSource.metadataInLibraryZone.rawValue)
      return self.folder(of: candidate.path) == folder ? candidate : nil
    }
  }

  private static func hasNoFile(_ role: FileRole, _ asset: Int64, _ db: Database) throws -> Bool {
    try Int.fetchOne(
      db.cachedStatement(sql: "SELECT 1 FROM file WHERE asset = ? AND role = ?"), arguments: [asset, role.rawValue])
      == nil
  }

  private static func isSameTime(_ media: ProbedMedia, _ other: Candidate) -> Bool {
    guard let date = media.embeddedDate, let otherDate = other.creationDate else { return false }
    return abs(date - otherDate) <= toleranceMilliseconds
  }

  private static func isLivePhotoPair(
    _ media: ProbedMedia, _ path: [UInt8], _ other: Candidate, duration: Double, _ isKnown: Bool
  ) -> Bool {
    if let one = media.contentIdentifier, let another = other.contentIdentifier { return one == another }
    guard isSameStem(path, other.path), duration <= maximumPairedVideoSeconds else { return false }
    if isKnown { return true }
    guard let date = media.embeddedDate, let otherDate = other.creationDate else { return false }
    let difference = abs(date - otherDate)
    if difference <= videoToleranceMilliseconds { return true }
    // If at least one date has no time zone, their difference may include a zone offset; so compare modulo a quarter of
    // an hour, which all offsets are multiples of.
    let hasOffset = media.date.source != .metadataInLibraryZone && other.hasOffset
    let rest = difference % quarterHourMilliseconds
    return !hasOffset && difference <= maximumOffsetMilliseconds
      && min(rest, quarterHourMilliseconds - rest) <= videoToleranceMilliseconds
  }

  /// The path without its extension; `nil` if the name has none.
  private static func stem(of path: [UInt8]) -> [UInt8]? {
    guard let dot = path.lastIndex(of: UInt8(ascii: ".")), dot > folder(of: path).count else { return nil }
    return Array(path[..<dot])
  }

  private static func isSameStem(_ one: [UInt8], _ another: [UInt8]) -> Bool {
    stem(of: one).map { $0 == stem(of: another) } ?? false
  }

  /// The path before its last slash.
  private static func folder(of path: [UInt8]) -> ArraySlice<UInt8> {
    path[..<(path.lastIndex(of: UInt8(ascii: "/")) ?? 0)]
  }
}
