// Which files are one asset: a camera's raw data beside the picture that it made of them, and the two halves of a live
// photo. Both lie in one folder.

import Foundation
import GRDB
import PhotoModel

/// An asset that a new file belongs to.
struct Partner {
  let asset: Int64
  /// The file that is its picture or video so far.
  let file: Int64
  /// What the newcomer is to it; `nil`: its picture, and the other file becomes what goes with that.
  let roleOfNewcomer: FileRole?
  let roleOfOther: FileRole

  /// A live photo's video is of three seconds; one that takes longer, and only has the same name, is something else.
  private static let longestPairedVideo = 5.0
  /// Of the two dates of what was taken at one time.
  private static let tolerance: Int64 = 1000
  /// Beside a video that names a moment, and a picture that only names what a clock showed.
  private static let videoTolerance: Int64 = 5000
  private static let quarterOfAnHour: Int64 = 900_000
  private static let widestOffset: Int64 = 14 * 3_600_000

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

  /// - Parameter row: the file's own row, where it has one.
  static func find(for media: ProbedMedia, at path: [UInt8], excluding row: Int64?, _ db: Database) throws -> Partner? {
    for other in try candidates(for: media, at: path, db) where other.file != row {
      let isOtherRAW = isRAWType(other.uniformTypeIdentifier)
      switch (media.mediaType, other.mediaType) {
      case (.image, .image) where media.isRAW != isOtherRAW:
        guard isSameStem(path, other.path), isSameTime(media, other), try lacks(.alternatePhoto, other.asset, db) else {
          continue
        }
        return Partner(
          asset: other.asset, file: other.file, roleOfNewcomer: media.isRAW ? .alternatePhoto : nil,
          roleOfOther: .alternatePhoto)
      case (.image, .video) where !media.isRAW:
        guard isLivePair(media, path, other, duration: other.duration) else { continue }
        return Partner(asset: other.asset, file: other.file, roleOfNewcomer: nil, roleOfOther: .pairedVideo)
      case (.video, .image) where !isOtherRAW:
        guard isLivePair(media, path, other, duration: media.durationSeconds),
          try lacks(.pairedVideo, other.asset, db)
        else { continue }
        return Partner(
          asset: other.asset, file: other.file, roleOfNewcomer: .pairedVideo, roleOfOther: .pairedVideo)
      default: continue
      }
    }
    return nil
  }

  /// The pictures and videos that may be half of what this one is half of: of the same name but for its ending, and of the
  /// same content identifier.
  private static func candidates(for media: ProbedMedia, at path: [UInt8], _ db: Database) throws -> [Candidate] {
    let columns = """
      SELECT file.id, file.asset, file.path, file.type, asset.mediaType, file.toldDate,
        asset.duration, file.contentIdentifier, asset.creationDateSource
      FROM file JOIN asset ON asset.id = file.asset
      """
    var rows: [Row] = []
    if let stem = stem(of: path) {
      // Everything that begins with the name and a dot: the byte behind a dot is a slash.
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

  private static func lacks(_ role: FileRole, _ asset: Int64, _ db: Database) throws -> Bool {
    try Int.fetchOne(
      db.cachedStatement(sql: "SELECT 1 FROM file WHERE asset = ? AND role = ?"), arguments: [asset, role.rawValue])
      == nil
  }

  private static func isSameTime(_ media: ProbedMedia, _ other: Candidate) -> Bool {
    guard let date = media.toldDate, let otherDate = other.creationDate else { return false }
    return abs(date - otherDate) <= tolerance
  }

  private static func isLivePair(
    _ media: ProbedMedia, _ path: [UInt8], _ other: Candidate, duration: Double
  ) -> Bool {
    if let one = media.contentIdentifier, let another = other.contentIdentifier { return one == another }
    guard isSameStem(path, other.path), duration <= longestPairedVideo, let date = media.toldDate,
      let otherDate = other.creationDate
    else { return false }
    let difference = abs(date - otherDate)
    if difference <= videoTolerance { return true }
    // Where one names a moment and the other a time of day somewhere on earth, minutes and seconds must do.
    let hasOffset = media.date.source != .metadataInLibraryZone && other.hasOffset
    let rest = difference % quarterOfAnHour
    return !hasOffset && difference <= widestOffset && min(rest, quarterOfAnHour - rest) <= videoTolerance
  }

  /// The path without its ending; `nil` where the name has none.
  private static func stem(of path: [UInt8]) -> [UInt8]? {
    guard let dot = path.lastIndex(of: UInt8(ascii: ".")), dot > folder(of: path).count else { return nil }
    return Array(path[..<dot])
  }

  private static func isSameStem(_ one: [UInt8], _ another: [UInt8]) -> Bool {
    stem(of: one).map { $0 == stem(of: another) } ?? false
  }

  /// Up to and without the last slash.
  private static func folder(of path: [UInt8]) -> ArraySlice<UInt8> {
    path[..<(path.lastIndex(of: UInt8(ascii: "/")) ?? 0)]
  }
}
