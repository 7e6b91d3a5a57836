// The rows of files and assets that AssetWriter inserts and updates.

import Foundation
import GRDB
import ImageCodec
import PhotoModel
import Primitives

extension AssetWriter {
  struct FileRow {
    let id: Int64
    let asset: Int64?
    let role: FileRole?
    let isPrimary: Bool
    let identity: FileIdentity
    let changeTimeNanoseconds: Int64
    /// The random number of its content: see ``FileContent/number``.
    let contentNumber: Int64
    let fingerprint: FileFingerprint?
    /// The name of the burst in the file.
    let burst: String?
    let type: String?
    let embeddedDate: Int64?
    let contentIdentifier: String?
  }

  /// The facts that distinguish two contents of a file.
  struct FileContent {
    let path: [UInt8]
    let identity: FileIdentity
    /// Its ctime; 0 for objects of remote stores.
    let changeTimeNanoseconds: Int64
    /// A random number that the file got when it was new or rewritten, because other contents may have the same inode,
    /// size and times; 0 if it has none.
    let number: Int64

    /// See ``FileIdentity/needsPath``. Only for remote objects: a file in a folder has its own inode.
    var needsPath: Bool { identity.needsPath && changeTimeNanoseconds == 0 }
  }

  func fileRow(at path: [UInt8]) throws -> FileRow? {
    try Row.fetchOne(
      db.cachedStatement(
        sql: """
          SELECT id, asset, role, isPrimary, inode, size, modified, changed, rewritten, fingerprint, burst, type,
            embeddedDate, contentIdentifier
          FROM file WHERE path = ?
          """), arguments: [Data(path)]
    ).map { row in
      FileRow(
        id: row[0], asset: row[1], role: (row[2] as String?).flatMap(FileRole.init), isPrimary: row[3],
        identity: row.identity(from: 4),
        changeTimeNanoseconds: row[7], contentNumber: row[8],
        fingerprint: try row.fingerprint(9),
        burst: row[10], type: row[11], embeddedDate: row[12], contentIdentifier: row[13])
    }
  }

  /// A number for content that no scan has found before; 0 for an object of a remote store, whose entity tag identifies
  /// its content.
  static func newContentNumber(of file: ProbedFile) -> Int64 {
    file.changeTimeNanoseconds == 0 ? 0 : Int64.random(in: 1...Int64.max)
  }

  /// - Parameter number: see ``FileContent/number``.
  func write(
    _ file: ProbedFile, number: Int64, row: Int64?, asset: Int64?, role: FileRole?, isPrimary: Bool,
    media: ProbedMedia?, _ unreadableReason: String? = nil
  ) throws {
    let values: StatementArguments = [
      asset, role?.rawValue, isPrimary, Data(file.path), Int64(bitPattern: file.identity.inode), file.identity.size,
      file.identity.modified, file.changeTimeNanoseconds, number, media?.fingerprint?.data,
      media?.uniformTypeIdentifier, media?.embeddedDate, media?.contentIdentifier, media?.burst,
      media?.mediaSubtypes.contains(.photoLive) ?? false,
      media?.thumbnail?.offset, media?.thumbnail?.length, media?.video?.offset, media?.video?.length,
      try (media?.edit ?? file.sidecarEdit).map(ForeignEditWriter.json), unreadableReason,
    ]
    if let row {
      try run(
        """
        UPDATE file SET asset = ?, role = ?, isPrimary = ?, path = ?, inode = ?, size = ?, modified = ?, changed = ?,
          rewritten = ?, fingerprint = ?, type = ?, embeddedDate = ?, contentIdentifier = ?, burst = ?, isLive = ?,
          thumbnailOffset = ?, thumbnailLength = ?, videoOffset = ?, videoLength = ?, edit = ?, unreadableReason = ?
        WHERE id = ?
        """, values + [row])
    } else {
      try run(
        """
        INSERT INTO file (asset, role, isPrimary, path, inode, size, modified, changed, rewritten, fingerprint, type,
          embeddedDate, contentIdentifier, burst, isLive, thumbnailOffset, thumbnailLength, videoOffset, videoLength,
          edit, unreadableReason)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """, values)
    }
  }

  private static let properties = [
    "revision", "mediaType", "mediaSubtypes", "uniformTypeIdentifier", "originalFilename", "fileSize", "pixelWidth",
    "pixelHeight", "orientation", "hasAlpha", "duration", "creationDate", "creationDateSource", "utcOffset",
    "zoneOffset", "modificationDate", "fileModificationDate", "latitude", "longitude", "altitude", "cameraMake",
    "cameraModel", "lensModel", "placeCity", "placeRegion", "placeCountry", "rating", "title", "keywords", "people",
    "regions", "rights", "license", "caption", "isSelfPortrait", "isAnimated", "isLongExposure", "hasDecoder",
  ]
  /// The place in the file's metadata. Clients don't see these columns, so they change without a new revision.
  private static let filePlaceColumns = ["fileLatitude", "fileLongitude", "fileCity", "fileRegion", "fileCountry"]
  /// A failed insertion rolls the transaction back in any case. OR ROLLBACK makes that explicit, so SQLite need not
  /// journal the pages of each insertion: see CatalogueSchema.
  private static let insertSQL = """
    INSERT OR ROLLBACK INTO asset
      (\((properties + filePlaceColumns).joined(separator: ", ")), localIdentifier, addedDate, contentVersion, isRAW)
    VALUES (\((properties + filePlaceColumns).map { _ in "?" }.joined(separator: ", ")), ?, ?, ?, ?)
    """
  /// Arguments 1 to n are the properties, n + 1 is the asset, n + 2 is whether the file may have changed. A no-op if
  /// neither the file nor any value has changed: full scans of a new version probe every file again, and clients must
  /// not see each asset as changed.
  private static let updateSQL: String = {
    let values = properties.enumerated().map { (name: $1, value: value(of: $1, from: "?\($0 + 1)")) }
    let compared = values.filter { $0.name != "revision" && $0.name != "modificationDate" }
    return """
      UPDATE asset SET \(values.map { "\($0.name) = \($0.value)" }.joined(separator: ", "))
      WHERE id = ?\(values.count + 1) AND (?\(values.count + 2)
        OR (\(compared.map(\.name).joined(separator: ", "))) IS NOT (\(compared.map(\.value).joined(separator: ", "))))
      """
  }()
  private static let updateFilePlaceSQL = """
    UPDATE asset SET (\(filePlaceColumns.joined(separator: ", "))) = (?1, ?2, ?3, ?4, ?5)
    WHERE id = ?6 AND (\(filePlaceColumns.joined(separator: ", "))) IS NOT (?1, ?2, ?3, ?4, ?5)
    """

  /// The new value of a property. Values that a user set take precedence over those of the file.
  private static func value(of property: String, from argument: String) -> String {
    func value(unless condition: String) -> String { "CASE WHEN \(condition) THEN \(property) ELSE \(argument) END" }
    func value(unless field: UserFields) -> String { value(unless: "userFields & \(field.rawValue)") }
    return switch property {
    case "creationDate", "creationDateSource", "utcOffset", "zoneOffset":
      value(unless: "creationDateSource = '\(DateSource.user.rawValue)'")
    case "latitude", "longitude", "altitude", "placeCity", "placeRegion", "placeCountry":
      value(unless: "hasUserLocation")
    // `refresh` computes the adjusted size.
    case "pixelWidth", "pixelHeight": value(unless: "adjustments IS NOT NULL")
    case "title": value(unless: .title)
    case "caption": value(unless: .caption)
    case "keywords": value(unless: .keywords)
    case "rating": value(unless: .rating)
    case "people", "regions": value(unless: .regions)
    // `refresh` sets the bit of live photos, which depends on the other files.
    case "mediaSubtypes": "(\(argument) & ~\(live)) | (mediaSubtypes & \(live))"
    default: argument
    }
  }

  static let live = MediaSubtypes.photoLive.rawValue

  private func arguments(_ media: ProbedMedia, _ file: ProbedFile) -> StatementArguments {
    let descriptive = media.descriptive
    return [
      token, media.mediaType.number, media.mediaSubtypes.rawValue, media.uniformTypeIdentifier,
      OriginalFile.displayName(file.path), file.identity.size, media.pixelSize.width, media.pixelSize.height,
      media.orientation.rawValue, media.hasAlpha, media.durationSeconds, media.date.moment.milliseconds,
      media.date.source.rawValue, media.date.utcOffset, calendar.zoneOffset(at: media.date.moment), now,
      media.modificationDate.milliseconds, media.location?.latitude, media.location?.longitude,
      media.location?.altitude, media.cameraMake, media.cameraModel, descriptive.lensModel,
      descriptive.place.city, descriptive.place.region, descriptive.place.country,
      descriptive.rating, descriptive.title, TextList.json(descriptive.keywords), TextList.json(descriptive.people),
      RegionList.json(media.regions), descriptive.rights, descriptive.license, descriptive.caption,
      media.isSelfPortrait, media.isAnimated, media.isLongExposure,
      hasDecoder(media),
    ]
  }

  private func filePlaceArguments(_ media: ProbedMedia) -> StatementArguments {
    let names = media.descriptive.place
    let location = names.isEmpty ? nil : media.location
    return [location?.latitude, location?.longitude, names.city, names.region, names.country]
  }

  private func hasDecoder(_ media: ProbedMedia) -> Bool {
    let canDevelop = media.isRAW && renderableTypes.contains(SourceFormat.raw.uniformTypeIdentifier)
    return renderableTypes.contains(media.uniformTypeIdentifier) && (media.hasPicture || canDevelop)
  }

  /// Inserts an asset with this one file.
  ///
  /// - Parameter number: the number of the file's content.
  mutating func insert(_ media: ProbedMedia, _ file: ProbedFile, number: Int64) throws -> Int64 {
    let content = FileContent(
      path: file.path, identity: file.identity, changeTimeNanoseconds: file.changeTimeNanoseconds, number: number)
    let values = arguments(media, file) + filePlaceArguments(media)
    try run(
      Self.insertSQL,
      values + [Base64URL.randomIdentifier(), now, contentVersion(of: [content]), media.isRAW])
    let asset = db.lastInsertedRowID
    // Grouping a burst changes all of its pictures, so it is skipped if the file may join no asset.
    if joinable != .none { bursts.pictureChanged(asset, media, file.path) }
    return asset
  }

  /// - Parameters:
  ///   - isOtherFile: the asset's picture may have changed.
  ///   - isOtherPrimary: another file was the asset's primary one until now.
  ///   - namedBurst: the name of the burst that the file had until now.
  /// - Returns: whether any property changed, or the place that the file names.
  @discardableResult
  mutating func update(
    _ asset: Int64, _ media: ProbedMedia, _ file: ProbedFile, isOtherFile: Bool = true, isOtherPrimary: Bool,
    namedBurst: String? = nil
  ) throws -> Bool {
    let regrouping = try bursts.regrouping(
      by: media, of: asset, isOtherFile: isOtherPrimary, namedBurst: namedBurst)
    try run(Self.updateSQL, arguments(media, file) + [asset, isOtherFile])
    var hasChanged = db.changesCount > 0
    try run(Self.updateFilePlaceSQL, filePlaceArguments(media) + [asset])
    if db.changesCount > 0 { hasChanged = true }
    try run(
      """
      UPDATE asset SET unadjustedWidth = ?1, unadjustedHeight = ?2
      WHERE id = ?3 AND adjustments IS NOT NULL AND (unadjustedWidth, unadjustedHeight) IS NOT (?1, ?2)
      """,
      [media.pixelSize.width, media.pixelSize.height, asset])
    switch regrouping {
    case .unneeded: return hasChanged
    case .remembering: try bursts.remember(burstOf: asset)
    case .forgetting: try bursts.pictureRemoved(asset)
    }
    bursts.pictureChanged(asset, media, file.path)
    return hasChanged
  }
}

extension AssetWriter.FileRow {
  /// Whether only the file's ctime differs: its contents may have changed without a new modification time, or only its
  /// name, mode or links.
  func wasTouched(_ file: ProbedFile) -> Bool {
    identity == file.identity && changeTimeNanoseconds != 0 && file.changeTimeNanoseconds != 0
      && changeTimeNanoseconds != file.changeTimeNanoseconds
  }

  /// Whether the facts by which files are joined have changed: the file was incomplete when it was read, or a program
  /// has corrected its date.
  func hasOtherFacts(than media: ProbedMedia) -> Bool {
    if type != media.uniformTypeIdentifier { return true }
    if embeddedDate != media.embeddedDate { return true }
    return contentIdentifier != media.contentIdentifier
  }

  /// Whether the file has other bytes, or another inode, size or time, and needs a new content number: later contents
  /// of its path may have the former inode, size and time again. Never for an object of a remote store.
  func isRewritten(_ file: ProbedFile, _ media: ProbedMedia) -> Bool {
    guard file.changeTimeNanoseconds != 0 else { return false }
    // `remove(row:)` clears the identity, so that the file is read again.
    let isSame =
      identity == .unknown ? changeTimeNanoseconds == file.changeTimeNanoseconds : identity == file.identity
    if !isSame { return true }
    if file.wasWritten && (wasTouched(file) || file.hasCoarseChangeTime) { return true }
    guard let fingerprint, let now = media.fingerprint else { return false }
    return fingerprint != now
  }
}
