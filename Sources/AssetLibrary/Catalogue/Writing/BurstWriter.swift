// Which pictures are one burst: those that say so by one name (Apple's BurstUUID), else three or more of one camera in one
// folder that followed each other at once, by clocks that tell fractions of seconds.
//
// One picture stands for a burst. Which one, is decided when the burst comes about, and again only if that one goes.

import Foundation
import GRDB
import PhotoModel

struct BurstWriter {
  /// Two pictures of a burst are no further apart, in milliseconds: two and a half a second is the slowest drive.
  private static let largestGap: Int64 = 400
  /// Without a name of its own, fewer pictures are none: two shots in a row are two pictures.
  private static let fewest = 3
  /// A burst goes no further than so many pictures to each side of one.
  private static let most = 500

  private let db: Database
  private let token: Int64
  /// Pictures that may be of a burst that they do not name.
  private var unnamed: [(asset: Int64, folder: [UInt8])] = []
  /// Bursts, as files name them, that pictures came to.
  private var named: Set<String> = []
  /// Bursts, as assets name them, that a picture left.
  private var left: Set<String> = []

  init(_ db: Database, token: Int64) {
    self.db = db
    self.token = token
  }

  /// A picture is new, or is another now.
  mutating func came(_ asset: Int64, _ media: ProbedMedia, _ path: [UInt8]) {
    guard media.mediaType == .image else { return }
    if let burst = media.burst {
      named.insert(burst)
    } else if media.date.hasFraction, media.cameraModel != nil {
      unnamed.append((asset, Array(path[..<(path.lastIndex(of: UInt8(ascii: "/")) ?? 0)])))
    }
  }

  /// A picture is there again that was of a burst; it is of none until those are regrouped.
  mutating func cameBack(_ asset: Int64, burst: String?, _ path: [UInt8]) {
    if let burst {
      named.insert(burst)
    } else {
      unnamed.append((asset, Array(path[..<(path.lastIndex(of: UInt8(ascii: "/")) ?? 0)])))
    }
  }

  /// Whether an asset that is to be this picture from now on may belong to another burst then. One that only changed in
  /// other ways stays what it is in its own, also the one that somebody picked.
  func isConcerned(by media: ProbedMedia, of asset: Int64) throws -> Bool {
    let row = try Row.fetchOne(
      db.cachedStatement(
        sql: "SELECT burstIdentifier, creationDate, cameraModel, creationDateSource FROM asset WHERE id = ?"),
      arguments: [asset])
    guard let row, let burst: String = row[0] else { return true }
    if let name = media.burst { return name != burst }
    // The date that somebody gave it is no shutter's.
    let isDated = media.date.moment.milliseconds == row[1] || row[3] == DateSource.user.rawValue
    return !isDated || media.cameraModel != row[2]
  }

  /// An asset is about to go, or to be another picture.
  mutating func leaves(_ asset: Int64) throws {
    let burst = try String.fetchOne(
      db.cachedStatement(sql: "SELECT burstIdentifier FROM asset WHERE id = ?"), arguments: [asset])
    guard let burst else { return }
    left.insert(burst)
    try db.cachedStatement(
      sql: "UPDATE asset SET burstIdentifier = NULL, representsBurst = 0, burstSelectionTypes = 0 WHERE id = ?"
    ).execute(arguments: [asset])
  }

  mutating func regroup() throws {
    for burst in named.sorted() {
      let assets = try Int64.fetchAll(
        db.cachedStatement(
          sql: "SELECT asset FROM file WHERE burst = ? AND isPrimary = 1 LIMIT \(2 * Self.most)"), arguments: [burst])
      // One alone is a picture like any other: the rest of its burst is not here.
      if assets.count > 1 { try join(assets, named: burst) }
    }
    for (asset, folder) in unnamed {
      let isGrouped = try Int.fetchOne(
        db.cachedStatement(sql: "SELECT 1 FROM asset WHERE id = ? AND burstIdentifier IS NOT NULL"),
        arguments: [asset])
      if isGrouped != nil { continue }
      let run = try neighbours(of: asset, in: folder)
      guard run.count >= Self.fewest else { continue }
      let names = Set(run.compactMap(\.burst))
      try join(run.map(\.asset), named: names.min() ?? Base64URL.randomIdentifier())
    }
    for burst in left.sorted() { try settle(burst) }
  }

  private func join(_ assets: [Int64], named burst: String) throws {
    let statement = try db.cachedStatement(
      sql: "UPDATE asset SET burstIdentifier = ?1, revision = ?2 WHERE id = ?3 AND burstIdentifier IS NOT ?1")
    for asset in assets { try statement.execute(arguments: [burst, token, asset]) }
    try settle(burst)
  }

  /// Sees to it that a burst has one picture that stands for it, and that one of a single picture is none.
  private func settle(_ burst: String) throws {
    let members = try Row.fetchAll(
      db.cachedStatement(
        sql: """
          SELECT id, representsBurst FROM asset WHERE burstIdentifier = ? ORDER BY creationDate, localIdentifier
          """), arguments: [burst])
    if members.count == 1 {
      try db.cachedStatement(
        sql: """
          UPDATE asset SET burstIdentifier = NULL, representsBurst = 0, burstSelectionTypes = 0, revision = ? WHERE id = ?
          """
      ).execute(arguments: [token, members[0][0] as Int64])
      return
    }
    let representing = members.filter { $0[1] }.map { $0[0] as Int64 }
    guard let chosen = representing.first ?? members.first.map({ $0[0] as Int64 }) else { return }
    for row in members {
      let id: Int64 = row[0]
      guard (row[1] as Bool) != (id == chosen) else { continue }
      try db.cachedStatement(
        sql: """
          UPDATE asset SET representsBurst = ?1, revision = ?2,
            burstSelectionTypes = CASE WHEN ?1 THEN burstSelectionTypes | ?3 ELSE burstSelectionTypes & ~?3 END
          WHERE id = ?4
          """
      ).execute(arguments: [id == chosen, token, BurstSelectionTypes.autoPick.rawValue, id])
    }
  }

  /// The pictures of the same camera, size and folder that follow each other at once, this one among them.
  private func neighbours(of asset: Int64, in folder: [UInt8]) throws -> [(asset: Int64, burst: String?)] {
    guard
      let own = try Row.fetchOne(
        db.cachedStatement(
          sql: "SELECT creationDate, cameraMake, cameraModel, pixelWidth * pixelHeight FROM asset WHERE id = ?"),
        arguments: [asset])
    else { return [] }
    var run: [(asset: Int64, burst: String?)] = [(asset, nil)]
    for isForward in [false, true] {
      var last: Int64 = own[0]
      let rows = try Row.fetchCursor(
        db.cachedStatement(
          sql: """
            SELECT asset.id, asset.creationDate, asset.burstIdentifier, file.path, file.burst
            FROM asset JOIN file ON file.asset = asset.id AND file.isPrimary = 1
            WHERE asset.creationDate \(isForward ? ">=" : "<=") ?1
              AND asset.creationDate \(isForward ? "<= ?1 +" : ">= ?1 -") \(Self.largestGap * Int64(Self.most))
              AND cameraModel = ?2 AND cameraMake IS ?3 AND pixelWidth * pixelHeight = ?4 AND mediaType = 1
              AND asset.id <> ?5
            ORDER BY asset.creationDate \(isForward ? "" : "DESC")
            """),
        arguments: [last, own[2] as String?, own[1] as String?, own[3] as Int64, asset])
      while run.count <= Self.most, let row = try rows.next() {
        let date: Int64 = row[1]
        guard abs(date - last) <= Self.largestGap else { break }
        // Those at the very same moment come in both directions.
        if !isForward && date == (own[0] as Int64) { continue }
        let path = try row.withUnsafeData(atIndex: 3) { $0.map { [UInt8]($0) } ?? [] }
        guard row[4] as String? == nil, path[..<(path.lastIndex(of: UInt8(ascii: "/")) ?? 0)].elementsEqual(folder)
        else { continue }
        run.append((row[0], row[2]))
        last = date
      }
    }
    return run
  }
}
