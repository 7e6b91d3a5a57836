import Foundation
import GRDB
import LibraryCatalogue
import LibraryFixtures
import PhotoFixtures
import PhotoModel
import PhotoPredicate
import Testing

typealias Dice = SplitMix

extension Dice {
  init(_ seed: Int) { self.init(state: UInt64(seed) &* 0x2545_F491_4F6C_DD1D &+ 1) }
}

/// An asset as a test writes it to the tables and evaluates it. There are few values of each property, so ties occur.
struct SyntheticAsset: PropertyRow, Sendable {
  var row: Int64
  var identifier: String
  var creationDate: Int64
  var modificationDate: Int64
  var addedDate: Int64
  var fileModificationDate: Int64 = 0
  /// Minutes east of UTC.
  var utcOffset: Int?
  var mediaType = MediaType.image
  var mediaSubtypes: Int64 = 0
  var duration = 0.0
  var pixelWidth: Int64 = 40
  var pixelHeight: Int64 = 30
  var isFavorite = false
  var isHidden = false
  var hasAdjustments = false
  var burst: String?
  var representsBurst = false
  var burstSelection: Int64 = 0
  var isRAW = false
  var isSelfPortrait = false
  var isAnimated = false
  var isLongExposure = false
  var filename = ""
  var type = "public.jpeg"
  var fileSize: Int64 = 1
  var latitude: Double?
  var longitude: Double?
  var placeholder: [UInt8]?
  var title: String?
  var keywords: [String] = []
  var rating: Int64?
  var camera: String?

  init(row: Int64, date: Int64) {
    self.row = row
    title = [nil, "Sea", "sea", "", "\u{C9}t\u{E9}"][Int(row % 5)]
    keywords = [[], ["sea"], ["sea", "\"quoted\", \\"], ["Sea", "a,b"]][Int(row % 4)]
    rating = [nil, -1, 0, 3, 5, 5, nil][Int(row % 7)]
    camera = row % 3 == 0 ? nil : "C\(row % 2)"
    // Sorted differently than every other property.
    identifier = "a\((row &* 7919) % 100_003)-\(row)"
    (creationDate, modificationDate, addedDate) = (date, date, row)
  }

  init(_ row: Int64, _ dice: inout Dice, days: Int = 12) {
    // Including days around 1970, and equal moments.
    let day = Int64(dice.below(days)) - 2
    self.init(row: row, date: day * 86_400_000 + Int64(dice.below(5)) * 3_600_000 - 1)
    identifier = dice.one(of: ["A", "a", "z", "_", "-", "0"]) + "\((row &* 7919) % 100_003)-\(row)"
    modificationDate = Int64(dice.below(4)) * 1000
    addedDate = Int64(dice.below(9)) * 60_000
    fileModificationDate = modificationDate * 2 % 3000
    mediaType = dice.one(of: [.image, .image, .image, .video, .audio, .unknown])
    mediaSubtypes =
      dice.oneIn(2) ? 0 : dice.one(of: [1, 2, 4, 8, 16, 3, 24, 1 << 17, 1 << 10 | 2, 1 << 18, 1 << 19, 1 << 21])
    duration = dice.one(of: [0, 0, 1.5, 0.1, 2, 1e300, 3_600])
    pixelWidth = dice.one(of: [40, 40, 4000, 3000, 1])
    pixelHeight = dice.one(of: [30, 40, 3000])
    isFavorite = dice.oneIn(4)
    isHidden = dice.oneIn(6)
    let isAdjusted = dice.oneIn(5)
    // Adjustments of others are inactive.
    hasAdjustments = isAdjusted && mediaType == .image
    if dice.oneIn(4) {
      burst = "burst\(dice.below(3))"
      representsBurst = dice.oneIn(3)
      burstSelection = dice.oneIn(4) ? 2 : 0
    }
    isRAW = dice.oneIn(5)
    filename = dice.one(of: [
      "IMG_1.jpg", "img_1.JPG", "IMG_2.jpg", "stra\u{DF}e.png", "STRASSE.png", "\u{E9}.jpg", "e\u{301}.jpg",
      "a\u{FFFD}b",
      "it's \"so\".jpg", "\u{1F469}\u{200D}\u{1F469}.heic", "\u{FFFF}", "\u{10000}", "",
    ])
    type = dice.one(of: ["public.jpeg", "public.png", "public.heic"])
    fileSize = dice.one(of: [0, 1, 4096, 1 << 40])
    if dice.oneIn(2) { (latitude, longitude) = (Double(dice.below(3)) * 0.1 - 33.9, 18.5) }
    isSelfPortrait = dice.oneIn(6)
    isAnimated = dice.oneIn(8)
    isLongExposure = dice.oneIn(8)
    placeholder = dice.oneIn(2) ? [UInt8(dice.below(256)), 2, 3] : nil
  }

  func value(for key: PropertyKey) -> PropertyValue? {
    switch key.name {
    case "localIdentifier": .string(identifier)
    case "creationDate": .date(Timestamp(milliseconds: creationDate))
    case "modificationDate": .date(Timestamp(milliseconds: modificationDate))
    case "fileModificationDate": .date(Timestamp(milliseconds: fileModificationDate))
    case "addedDate": .date(Timestamp(milliseconds: addedDate))
    case "mediaType": .name(mediaType.rawValue)
    case "mediaSubtypes": .integer(mediaSubtypes)
    case "duration": .real(duration)
    case "pixelWidth": .integer(pixelWidth)
    case "pixelHeight": .integer(pixelHeight)
    case "isFavorite": .boolean(isFavorite)
    case "isHidden": .boolean(isHidden)
    case "hasAdjustments": .boolean(hasAdjustments)
    case "burstIdentifier": burst.map { .string($0) }
    case "representsBurst": .boolean(representsBurst)
    case "isRAW": .boolean(isRAW)
    case "isSelfPortrait": .boolean(isSelfPortrait)
    case "isAnimated": .boolean(isAnimated)
    case "isLongExposure": .boolean(isLongExposure)
    case "originalFilename": .string(filename)
    case "relativePath": .string("\(row).jpg")
    case "uniformTypeIdentifier": .string(type)
    case "fileSize": .integer(fileSize)
    case "latitude": latitude.map { .real($0) }
    case "longitude": longitude.map { .real($0) }
    case "title": title.map { .string($0) }
    case "keywords": keywords.isEmpty ? nil : .strings(keywords)
    case "rating": rating.map { .integer($0) }
    case "cameraMake", "cameraModel", "lensModel": camera.map { .string($0) }
    case "caption": title.map { .string($0) }
    default: fatalError("\(key.name) is not known to the tests")
    }
  }

  func isListed(hidden: Bool, bursts: Bool) -> Bool {
    (hidden || !isHidden) && (bursts || burst == nil || representsBurst || burstSelection != 0)
  }

  /// The number of its day in a library whose time zone is UTC, rounded down.
  var day: Int { Int((Double(creationDate + Int64(utcOffset ?? 0) * 60_000) / 86_400_000).rounded(.down)) }
}

/// A catalogue whose rows a test writes directly by SQL.
final class SyntheticLibrary {
  let folder: TemporaryLibrary
  let catalogue: Catalogue
  let queue: DatabaseQueue
  private(set) var assets: [SyntheticAsset] = []

  init(_ assets: [SyntheticAsset] = [], traced: (@Sendable (String) -> Void)? = nil) throws {
    folder = try TemporaryLibrary()
    catalogue = try Catalogue(dataFolder: folder.data, traced: traced)
    var configuration = Configuration()
    configuration.busyMode = .timeout(10)
    configuration.prepareDatabase { db in
      try db.execute(sql: "PRAGMA synchronous = OFF")
    }
    queue = try DatabaseQueue(path: folder.data + "/catalogue.sqlite", configuration: configuration)
    try insert(assets)
  }

  func insert(_ new: [SyntheticAsset]) throws {
    assets += new
    try queue.write { try Self.write(new, $0) }
  }

  /// Writes assets and their files into the tables.
  static func write(_ new: [SyntheticAsset], revision: Int64 = 1, _ db: Database) throws {
    // No row may have a future revision.
    try db.execute(sql: "UPDATE library SET revision = max(revision, ?) WHERE id = 0", arguments: [revision])
    let asset = try db.makeStatement(
      sql: """
        INSERT INTO asset (id, localIdentifier, contentVersion, revision, mediaType, mediaSubtypes,
          uniformTypeIdentifier, isRAW, originalFilename, fileSize, pixelWidth, pixelHeight, orientation, hasAlpha,
          duration, creationDate, creationDateSource, modificationDate, addedDate, latitude, longitude, isFavorite,
          isHidden, adjustments, burstIdentifier, representsBurst, burstSelectionTypes, placeholder, placeholderVersion,
          title, caption, keywords, rating, cameraMake, cameraModel, lensModel, utcOffset, fileModificationDate,
          isSelfPortrait, isAnimated, isLongExposure)
        VALUES (?, ?, 'v', ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, 0, ?, ?, 'metadata', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
          ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """)
    let file = try db.makeStatement(
      sql: """
        INSERT INTO file (asset, role, isPrimary, path, inode, size, modified) VALUES (?, 'photo', 1, ?, ?, 1, 1)
        """)
    for one in new {
      try asset.execute(arguments: [
        one.row, one.identifier, revision, one.mediaType.number, one.mediaSubtypes, one.type, one.isRAW, one.filename,
        one.fileSize, one.pixelWidth, one.pixelHeight, one.duration, one.creationDate, one.modificationDate,
        one.addedDate, one.latitude, one.longitude, one.isFavorite, one.isHidden, one.hasAdjustments ? "[]" : nil,
        one.burst, one.representsBurst, one.burstSelection, one.placeholder.map { Data($0) },
        one.placeholder == nil ? nil : "v", one.title, one.title,
        one.keywords.isEmpty ? nil : String(decoding: try JSONEncoder().encode(one.keywords), as: UTF8.self),
        one.rating, one.camera, one.camera, one.camera, one.utcOffset, one.fileModificationDate,
        one.isSelfPortrait, one.isAnimated, one.isLongExposure,
      ])
      try file.execute(arguments: [one.row, Data("\(one.row).jpg".utf8), one.row])
    }
  }

  func delete(at index: Int) throws {
    let gone = assets.remove(at: index)
    try queue.write { try $0.execute(sql: "DELETE FROM asset WHERE id = ?", arguments: [gone.row]) }
  }

  func update(at index: Int, _ body: (inout SyntheticAsset) -> Void) throws {
    body(&assets[index])
    let one = assets[index]
    try queue.write { db in
      try db.execute(
        sql: """
          UPDATE asset SET isFavorite = ?, isHidden = ?, creationDate = ?, originalFilename = ?, fileSize = ?
          WHERE id = ?
          """,
        arguments: [one.isFavorite, one.isHidden, one.creationDate, one.filename, one.fileSize, one.row])
      // A trigger sets it if a property changed.
      assets[index].modificationDate =
        try Int64.fetchOne(db, sql: "SELECT modificationDate FROM asset WHERE id = ?", arguments: [one.row]) ?? 0
    }
  }

  /// Makes an album with these assets, in this order, and returns its row.
  func makeAlbum(_ title: String, _ rows: [Int64], parent: Int64? = nil, position: Int = 0) throws -> Int64 {
    try queue.write { db in
      let album = try self.makeCollection(db, "album", "albumRegular", title, parent, position)
      let statement = try db.makeStatement(
        sql: "INSERT INTO member SELECT ?, ?, id, creationDate, listing FROM asset WHERE id = ?")
      for (place, row) in rows.enumerated() { try statement.execute(arguments: [album, place * 8 - 40, row]) }
      return album
    }
  }

  func makeFolder(_ title: String, parent: Int64? = nil, position: Int = 0) throws -> Int64 {
    try queue.write { try self.makeCollection($0, "folder", "regularFolder", title, parent, position) }
  }

  private func makeCollection(
    _ db: Database, _ type: String, _ subtype: String, _ title: String, _ parent: Int64?, _ position: Int
  ) throws -> Int64 {
    try db.execute(
      sql: """
        INSERT INTO collection (localIdentifier, type, subtype, title, parent, position, revision)
        VALUES (?, ?, ?, ?, ?, ?, 1)
        """, arguments: ["\(type)-\(title)", type, subtype, title, parent, position])
    return db.lastInsertedRowID
  }

  /// The name, rule and order of each smart album.
  func rules() throws -> [(identifier: String, subtype: String, rule: FetchPredicate, sort: FetchSortDescriptors)] {
    try queue.read { db in
      try Row.fetchAll(
        db, sql: "SELECT localIdentifier, subtype, rule, ruleOrder FROM collection WHERE type = 'smartAlbum'"
      ).map { row in
        (
          row[0], row[1], try FetchPredicate(row[2], schema: .asset, principal: .local),
          try FetchSortDescriptors(row[3], schema: .asset, principal: .local)
        )
      }
    }
  }
}

extension Dice {
  /// Comparisons of each kind, with values that some assets have.
  private static let comparisons = [
    "isFavorite == YES", "isFavorite == NO", "favorite != true", "isHidden == YES", "hidden == false",
    "mediaType == video",
    "mediaType != image", "mediaType == 1", "mediaType IN {video, audio}", "mediaType > image",
    "(mediaSubtypes & photoPanorama) != 0", "(mediaSubtypes & photoHDR) == photoHDR",
    "(mediaSubtypes & photoLive) != 0",
    "(mediaSubtypes & photoScreenshot) == 0", "(mediaSubtypes & photoDepthEffect) != 0", "mediaSubtypes == 3",
    "creationDate > '1970-01-03T00:00:00Z'", "creationDate <= '1970-01-05T02:59:59.999Z'", "creationDate != nil",
    "creationDate BETWEEN {'1969-12-31T00:00:00Z', '1970-01-06T00:59:59.999Z'}", "creationDate == nil",
    "creationDate == '1970-01-02T00:59:59.999Z'", "addedDate >= '1970-01-01T00:04:00Z'",
    "modificationDate < creationDate",
    "duration > 1", "duration BETWEEN {0.1, 2}", "duration == 1e300", "pixelWidth > pixelHeight",
    "pixelWidth IN {1, 3000}",
    "isSelfPortrait == YES", "isAnimated == YES", "isLongExposure == NO", "(mediaSubtypes & videoTimelapse) != 0",
    "hasAdjustments == YES", "representsBurst == YES", "isRAW == YES", "burstIdentifier == 'burst1'",
    "burstIdentifier != 'burst1'", "burstIdentifier == nil", "burstIdentifier IN {'burst0', 'burst2'}",
    "originalFilename BEGINSWITH 'IMG_'", "originalFilename BEGINSWITH[c] 'img_'",
    "originalFilename CONTAINS '\u{301}'",
    "originalFilename LIKE '*.jp?'", "originalFilename ENDSWITH[c] '.JPG'", "originalFilename ==[c] 'stra\u{DF}e.png'",
    "originalFilename == ''", "originalFilename >= '\u{E9}'", "uniformTypeIdentifier != 'public.jpeg'",
    "originalFilename == 'IMG_1.jpg'", "originalFilename CONTAINS[c] 'mg_'", "relativePath BEGINSWITH '1'",
    "relativePath CONTAINS[c] '2.J'", "relativePath == '7.jpg'",
    "fileSize >= 4096",
    "latitude > -33.85", "latitude == nil", "longitude BETWEEN {18, 19}", "localIdentifier BEGINSWITH 'a'",
    "TRUEPREDICATE",
    "localIdentifier IN {'x', 'y'}", "FALSEPREDICATE", "fileSize IN {}",
    "title == 'sea'", "title CONTAINS[c] 'SEA'", "title == nil", "rating >= 3", "rating == nil", "rating != 5",
    "ANY keywords == 'sea'", "keywords CONTAINS[c] 'SEA'", "ANY keywords != 'sea'", "keywords == nil",
    "ANY keywords CONTAINS '\"'", "cameraModel == 'C1'", "cameraMake != 'C0'", "lensModel == nil", "caption < 'Z'",
  ]

  mutating func predicateText(_ identifiers: [String], depth: Int = 2) -> String {
    switch depth == 0 ? 9 : below(10) {
    case 0, 1, 2:
      (0...1 + below(2)).map { _ in "(\(predicateText(identifiers, depth: depth - 1)))" }.joined(separator: " AND ")
    case 3, 4:
      (0...1 + below(2)).map { _ in "(\(predicateText(identifiers, depth: depth - 1)))" }.joined(separator: " OR ")
    case 5: "NOT (\(predicateText(identifiers, depth: depth - 1)))"
    case 6 where !identifiers.isEmpty:
      "localIdentifier IN {\((0...below(4)).map { _ in "'\(one(of: identifiers))'" }.joined(separator: ", "))}"
    default: one(of: Self.comparisons)
    }
  }

  mutating func sort() -> FetchSortDescriptors {
    var keys = PropertySchema.asset.keys.filter(\.isSortable).shuffled(using: &self).prefix(1 + below(3))
    // Most fetches sort by date.
    if oneIn(3), let date = PropertySchema.asset.key(named: "creationDate") {
      keys = [date] + keys.filter { $0 != date }.prefix(1)
    }
    return FetchSortDescriptors(keys.map { FetchSortDescriptor($0, isAscending: oneIn(2)) }, schema: .asset)
  }
}
