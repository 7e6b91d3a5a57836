// Groups pictures into bursts: by a common name in their files (Apple's BurstUUID), or else three or more pictures from
// one camera in one folder, taken in immediate succession, if their dates have fractions of seconds.
//
// One picture represents the burst. It is chosen when the burst is formed, and again only if that picture leaves.
//
// A burst of one picture is dissolved. The remaining picture, pictures in the trash, and assets whose picture is
// missing (only the video or RAW file is left) remember the burst in `formerBurst`. When another picture returns, they
// form the same burst again, and pictures that a user picked are still picked.

import Foundation
import GRDB
import LibraryFolder
import PhotoModel
import Primitives

struct BurstWriter {
  /// The maximum time between two pictures of a burst, in milliseconds: the slowest burst mode takes 2.5 pictures a
  /// second.
  private static let maximumGapMilliseconds: Int64 = 400
  /// The minimum size of a burst without a name: two shots in a row are not a burst.
  private static let minimumCount = 3
  /// The maximum number of pictures on each side of the one that is examined.
  private static let maximumNeighbours = 500
  private static let maximumSpanMilliseconds = maximumGapMilliseconds * Int64(maximumNeighbours)

  private let db: Database
  private let token: Int64
  /// Pictures that name no burst but may belong to one.
  private var ungrouped: [(asset: Int64, folder: [UInt8])] = []
  /// Bursts that gained pictures, by their names in files.
  private var namedBursts: Set<String> = []
  /// Bursts to which pictures return from the trash, by identifier.
  private var formerBursts: Set<String> = []
  /// Bursts that lost a picture, by identifier.
  private var changedBursts: Set<String> = []

  init(_ db: Database, token: Int64) {
    self.db = db
    self.token = token
  }

  /// Records a picture that is new or has new content.
  mutating func pictureChanged(_ asset: Int64, _ media: ProbedMedia, _ path: [UInt8]) {
    guard media.mediaType == .image else { return }
    if let burst = media.burst {
      namedBursts.insert(burst)
    } else if media.date.hasFraction, media.cameraModel != nil {
      ungrouped.append((asset, LibraryPath.folder(of: path)))
    }
  }

  /// Records a restored picture that was part of a burst. It belongs to no burst until `regroup()`.
  ///
  /// - Parameters:
  ///   - burst: the identifier of the burst.
  ///   - name: the name of the burst in its file.
  mutating func pictureRestored(_ asset: Int64, of burst: String, named name: String?, _ path: [UInt8]) {
    formerBursts.insert(burst)
    if let name {
      namedBursts.insert(name)
    } else {
      ungrouped.append((asset, LibraryPath.folder(of: path)))
    }
  }

  /// Gives a picture the membership and role in a burst of its copy, which is about to be deleted.
  mutating func pictureReplaced(_ asset: Int64, byCopy copy: Int64) throws {
    for id in [asset, copy] {
      let burst = try String.fetchOne(
        db.cachedStatement(sql: "SELECT burstIdentifier FROM asset WHERE id = ? AND burstIdentifier IS NOT NULL"),
        arguments: [id])
      if let burst { changedBursts.insert(burst) }
    }
    try db.cachedStatement(
      sql: """
        UPDATE asset SET burstIdentifier = other.burstIdentifier, representsBurst = other.representsBurst,
          formerBurst = CASE WHEN other.burstIdentifier IS NULL
            THEN coalesce(other.formerBurst, asset.burstIdentifier, asset.formerBurst) END,
          burstSelectionTypes = asset.burstSelectionTypes & ~?1 | other.burstSelectionTypes
        FROM asset AS other WHERE asset.id = ?2 AND other.id = ?3
        """
    ).execute(arguments: [BurstSelectionTypes.autoPick.rawValue, asset, copy])
  }

  /// What happens to the burst membership of an asset that gets the properties of a file.
  enum Regrouping {
    /// It stays in its burst.
    case unneeded
    /// It leaves the burst, but may return with the user's pick, because it is the same photograph.
    case remembering
    /// It leaves the burst for good, and may join another one.
    case forgetting
  }

  /// How an asset is regrouped when it gets this file's properties.
  ///
  /// - Parameters:
  ///   - isOtherFile: another file was the asset's primary one until now: the picture went missing or came back.
  ///   - namedBurst: the name of the burst that the file had until now.
  func regrouping(
    by media: ProbedMedia, of asset: Int64, isOtherFile: Bool, namedBurst: String?
  ) throws -> Regrouping {
    let row = try Row.fetchOne(
      db.cachedStatement(
        sql: """
          SELECT coalesce(burstIdentifier, formerBurst), burstIdentifier IS NOT NULL, creationDate, cameraModel,
            creationDateSource
          FROM asset WHERE id = ?
          """), arguments: [asset])
    guard let row, let burst: String = row[0] else { return .forgetting }
    let isMember: Bool = row[1]
    // Only pictures form bursts. A video replaces the missing picture of its live photo.
    if media.mediaType != .image { return .remembering }
    let isSamePicture: Bool
    if let name = media.burst {
      isSamePicture = name == burst
    } else if namedBurst != nil {
      // The picture was in the burst only by the name in its file, which is gone.
      isSamePicture = false
    } else {
      // A date that a user set is not the time of the shutter.
      let isDated = media.date.moment.milliseconds == row[2] || row[4] == DateSource.user.rawValue
      isSamePicture = isDated && media.cameraModel == row[3]
    }
    if isSamePicture && (isMember || !isOtherFile) { return .unneeded }
    let isOfOtherBurst = media.burst.map { $0 != burst } ?? false
    return isOtherFile && !isOfOtherBurst ? .remembering : .forgetting
  }

  /// Takes an asset out of its burst until ``regroup()``. It remembers the burst, and whether a user picked it.
  mutating func remember(burstOf asset: Int64) throws {
    let burst = try String.fetchOne(
      db.cachedStatement(
        sql: """
          UPDATE asset SET formerBurst = burstIdentifier, burstIdentifier = NULL, representsBurst = 0,
            burstSelectionTypes = burstSelectionTypes & ~?1
          WHERE id = ?2 AND burstIdentifier IS NOT NULL RETURNING formerBurst
          """), arguments: [BurstSelectionTypes.autoPick.rawValue, asset])
    if let burst { changedBursts.insert(burst) }
  }

  /// Removes an asset from its burst, because it is about to be deleted or to become another picture.
  mutating func pictureRemoved(_ asset: Int64) throws {
    let row = try Row.fetchOne(
      db.cachedStatement(
        sql: """
          SELECT burstIdentifier FROM asset
          WHERE id = ? AND (burstIdentifier IS NOT NULL OR formerBurst IS NOT NULL)
          """), arguments: [asset])
    guard let row else { return }
    if let burst: String = row[0] { changedBursts.insert(burst) }
    try db.cachedStatement(
      sql: """
        UPDATE asset SET burstIdentifier = NULL, formerBurst = NULL, representsBurst = 0, burstSelectionTypes = 0
        WHERE id = ?
        """
    ).execute(arguments: [asset])
  }

  /// Forms and updates the bursts of all recorded pictures.
  mutating func regroup() throws {
    for burst in formerBursts.sorted() { try joinAgain(burst) }
    for burst in namedBursts.sorted() {
      let assets = try Int64.fetchAll(
        db.cachedStatement(
          sql: "SELECT asset FROM file WHERE burst = ? AND isPrimary = 1 LIMIT \(2 * Self.maximumNeighbours)"),
        arguments: [burst])
      // A single picture of a named burst is an ordinary picture: the rest of the burst is not in the library.
      if assets.count > 1 { try join(assets, named: burst) }
    }
    for (asset, folder) in ungrouped {
      guard try isUngroupedWithNeighbour(asset) else { continue }
      let run = try neighbours(of: asset, in: folder)
      guard run.count >= Self.minimumCount else { continue }
      let name = run.compactMap(\.burst).min() ?? run.compactMap(\.formerBurst).min()
      try join(run.map(\.asset), named: name ?? Base64URL.randomIdentifier())
    }
    for burst in changedBursts.sorted() { try updateRepresentative(burst) }
  }

  /// Whether a picture belongs to no burst, and another asset was taken close enough in time to form one. For nearly
  /// all pictures of a scan, this one statement replaces the three of ``neighbours(of:in:)``.
  private func isUngroupedWithNeighbour(_ asset: Int64) throws -> Bool {
    try Int.fetchOne(
      db.cachedStatement(
        sql: """
          SELECT 1 FROM asset CROSS JOIN \(LibraryAssetIndex.byDate.source)
            ON libraryAsset.library = 0 AND libraryAsset.asset <> asset.id
              AND libraryAsset.creationDate >= asset.creationDate - \(Self.maximumGapMilliseconds)
              AND libraryAsset.creationDate <= asset.creationDate + \(Self.maximumGapMilliseconds)
          WHERE asset.id = ? AND asset.burstIdentifier IS NULL LIMIT 1
          """), arguments: [asset]) != nil
  }

  /// Joins all current and former pictures of a burst, even if pictures taken between them are still in the trash.
  private func joinAgain(_ burst: String) throws {
    let assets = try Int64.fetchAll(
      db.cachedStatement(
        sql: """
          SELECT asset FROM \(LibraryAssetIndex.byBurst.source) WHERE library = 0 AND burstIdentifier = ?1
          UNION SELECT id FROM asset WHERE formerBurst = ?1 AND mediaType = 1
          """), arguments: [burst])
    if assets.count > 1 { try join(assets, named: burst) }
  }

  private func join(_ assets: [Int64], named burst: String) throws {
    let statement = try db.cachedStatement(
      sql: """
        UPDATE asset SET burstIdentifier = ?1, formerBurst = NULL, revision = ?2
        WHERE id = ?3 AND burstIdentifier IS NOT ?1
        """)
    for asset in assets { try statement.execute(arguments: [burst, token, asset]) }
    try updateRepresentative(burst)
  }

  /// Ensures that a burst has exactly one representative, and dissolves a burst of a single picture.
  private func updateRepresentative(_ burst: String) throws {
    let members = try Row.fetchAll(
      db.cachedStatement(
        sql: """
          SELECT asset.id, representsBurst
          FROM \(LibraryAssetIndex.byBurst.source) CROSS JOIN asset ON asset.id = libraryAsset.asset
          WHERE libraryAsset.library = 0 AND libraryAsset.burstIdentifier = ?
          ORDER BY asset.creationDate, asset.localIdentifier
          """), arguments: [burst])
    if members.count == 1 {
      try db.cachedStatement(
        sql: """
          UPDATE asset SET formerBurst = burstIdentifier, burstIdentifier = NULL, representsBurst = 0,
            burstSelectionTypes = burstSelectionTypes & ~?1, revision = ?2
          WHERE id = ?3
          """
      ).execute(arguments: [BurstSelectionTypes.autoPick.rawValue, token, members[0][0] as Int64])
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

  /// The pictures from the same camera, of the same size and in the same folder that were taken in immediate
  /// succession, including this one.
  private func neighbours(
    of asset: Int64, in folder: [UInt8]
  ) throws -> [(asset: Int64, burst: String?, formerBurst: String?)] {
    guard
      let own = try Row.fetchOne(
        db.cachedStatement(
          sql: """
            SELECT creationDate, cameraMake, cameraModel,
              coalesce(unadjustedWidth, pixelWidth) * coalesce(unadjustedHeight, pixelHeight), formerBurst
            FROM asset WHERE id = ?
            """),
        arguments: [asset])
    else { return [] }
    var run: [(asset: Int64, burst: String?, formerBurst: String?)] = [(asset, nil, own[4])]
    for isForward in [false, true] {
      var last: Int64 = own[0]
      let limit = run.count + Self.maximumNeighbours
      let rows = try Row.fetchCursor(
        db.cachedStatement(
          sql: """
            SELECT asset.id, asset.creationDate, asset.burstIdentifier, file.path, file.burst, asset.formerBurst
            FROM \(LibraryAssetIndex.byDate.source) \(AssetRow.joins)
            WHERE libraryAsset.library = 0 AND libraryAsset.creationDate \(isForward ? ">=" : "<=") ?1
              AND libraryAsset.creationDate \(isForward ? "<= ?1 +" : ">= ?1 -") \(Self.maximumSpanMilliseconds)
              AND cameraModel = ?2 AND cameraMake IS ?3
              AND coalesce(unadjustedWidth, pixelWidth) * coalesce(unadjustedHeight, pixelHeight) = ?4
              AND asset.mediaType = 1
              AND asset.id <> ?5
            ORDER BY libraryAsset.creationDate \(isForward ? "" : "DESC")
            """),
        arguments: [last, own[2] as String?, own[1] as String?, own[3] as Int64, asset])
      while run.count < limit, let row = try rows.next() {
        let date: Int64 = row[1]
        guard abs(date - last) <= Self.maximumGapMilliseconds else { break }
        // Pictures with the same date match in both directions; count them once.
        if !isForward && date == (own[0] as Int64) { continue }
        guard row[4] as String? == nil, try LibraryPath.folder(of: row.bytes(3)) == folder else { continue }
        run.append((row[0], row[2], row[5]))
        last = date
      }
    }
    return run
  }
}
