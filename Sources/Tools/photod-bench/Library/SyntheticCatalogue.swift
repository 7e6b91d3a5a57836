import Foundation
import GRDB
import LibraryCatalogue
import PhotoFixtures
import PhotoModel

/// A catalogue of a library that grew over fifteen years, without the library's files: photographs of phones and
/// cameras, videos, bursts, screenshots, locations, favourites and albums, with more assets in later years. The same
/// number of assets gives the same catalogue in every run. It is kept between runs until the catalogue's tables change.
struct SyntheticCatalogue {
  /// The data folder of the catalogue.
  let folder: String

  private static let albums = 60
  private static let albumsPerFolder = 10
  private static let begin = 1_293_840_000_000.0  // 2011-01-01
  private static let span = 15 * 365.25 * 86_400_000

  init(assets count: Int, in cache: String) throws {
    folder = "\(cache)/assets-\(count)"
    let mark = folder + "/complete"
    let schema = try TemporaryFolder.with { folder in
      _ = try Catalogue(dataFolder: folder)
      return try DatabaseQueue(path: folder + "/catalogue.sqlite").read {
        try String.fetchAll($0, sql: "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name")
      }.joined(separator: ";\n")
    }
    if FileManager.default.contents(atPath: mark) == Data(schema.utf8) { return }
    FileHandle.standardError.write(Data("making a catalogue of \(count) assets in \(folder), once\n".utf8))
    try? FileManager.default.removeItem(atPath: folder)
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    _ = try Catalogue(dataFolder: folder)
    try fill(count)
    // As at the end of a scan.
    try Catalogue(dataFolder: folder).refreshMoments(zone: .gmt)
    try Data(schema.utf8).write(to: URL(filePath: mark))
  }

  private func fill(_ count: Int) throws {
    var configuration = Configuration()
    configuration.prepareDatabase { db in
      // An interrupted run starts again.
      try db.execute(sql: "PRAGMA synchronous = OFF; PRAGMA cache_size = -500000; PRAGMA temp_store = MEMORY")
    }
    let queue = try DatabaseQueue(path: folder + "/catalogue.sqlite", configuration: configuration)
    try queue.write { db in
      let writer = try SyntheticWriter(db)
      var random = SplitMix(state: 7)
      // Outings, oldest first. Taking the square root of a random number makes their density grow with time.
      let assetsPerOuting = 40
      let starts = (0..<max(1, count / assetsPerOuting)).map { _ in
        Self.begin + Self.span * Double.random(in: 0..<1, using: &random).squareRoot()
      }.sorted()
      for (number, start) in starts.enumerated() {
        let end = number + 1 == starts.count ? count : (number + 1) * assetsPerOuting
        try writer.addOuting(from: start, until: end, &random)
      }
      try addAlbums(db)
      try db.execute(sql: "UPDATE catalogueValue SET value = 1 WHERE name = 'isFirstScanComplete'")
      try db.execute(sql: "UPDATE library SET revision = 1, nonLocationRevision = 1 WHERE id = 0")
      try db.execute(sql: "ANALYZE")
    }
  }

  /// Adds albums with a hundredth of the library each, except the first, which contains half of it, in folders of ten.
  private func addAlbums(_ db: Database) throws {
    for number in 0..<Self.albums {
      if number % Self.albumsPerFolder == 0 {
        try db.execute(
          sql: """
            INSERT INTO collection (id, localIdentifier, type, subtype, title, position, revision)
            VALUES (?, ?, 'folder', 'folder', ?, ?, 1)
            """, arguments: [1000 + number, String(format: "folder%016d", number), "Folder \(number)", number])
      }
      try db.execute(
        sql: """
          INSERT INTO collection (id, localIdentifier, type, subtype, title, parent, position, revision)
          VALUES (?, ?, 'album', 'albumRegular', ?, ?, ?, 1)
          """,
        arguments: [
          2000 + number, String(format: "album%017d", number), "Album \(number)",
          number < 40 ? nil : 1000 + number / Self.albumsPerFolder * Self.albumsPerFolder, number,
        ])
      try db.execute(
        sql: """
          INSERT INTO member (collection, position, asset, creationDate, listing)
          SELECT ?, row_number() OVER (ORDER BY id) * 1024, id, creationDate, listing FROM asset WHERE id % ? = ?
          """, arguments: [2000 + number, number == 0 ? 2 : 100, number == 0 ? 0 : number])
    }
  }
}

/// Writes assets and their files, one after the other.
private final class SyntheticWriter {
  private let asset: Statement
  private let file: Statement
  private var number = 0
  private var files = 0

  init(_ db: Database) throws {
    let columns = [
      "id", "localIdentifier", "contentVersion", "revision", "mediaType", "mediaSubtypes", "uniformTypeIdentifier",
      "isRAW", "originalFilename", "fileSize", "pixelWidth", "pixelHeight", "orientation", "hasAlpha", "duration",
      "creationDate", "creationDateSource", "modificationDate", "addedDate", "latitude", "longitude", "cameraMake",
      "cameraModel", "isFavorite", "isHidden", "burstIdentifier", "representsBurst", "placeholder",
      "placeholderVersion", "title", "keywords", "people", "lensModel", "placeCity", "placeCountry",
    ]
    asset = try db.makeStatement(sql: Self.insertion("asset", columns))
    file = try db.makeStatement(
      sql: Self.insertion(
        "file",
        [
          "id", "asset", "role", "isPrimary", "path", "inode", "size", "modified", "fingerprint", "type",
          "embeddedDate",
        ]))
  }

  private static func insertion(_ table: String, _ columns: [String]) -> String {
    "INSERT INTO \(table) (\(columns.joined(separator: ", "))) "
      + "VALUES (\(columns.map { _ in "?" }.joined(separator: ", ")))"
  }

  /// Adds the pictures of one outing at one place, up to `end` assets in total.
  func addOuting(from start: Double, until end: Int, _ random: inout SplitMix) throws {
    func chance(_ share: Double) -> Bool { Double.random(in: 0..<1, using: &random) < share }
    let place =
      chance(0.6) ? (Double.random(in: -50..<65, using: &random), Double.random(in: -180..<180, using: &random)) : nil
    let isPhone = chance(0.7)
    let day = CivilDay(milliseconds: start)
    let words = BenchWords.several(2, &random)
    let folder = "\(day.year)/\(day.month) \(words.joined(separator: " "))"
    let (city, country) = (BenchWords.one(&random), BenchWords.one(&random))
    var date = start
    var burst: (identifier: String, left: Int)?
    while number < end {
      let represents: Bool
      if burst == nil, chance(0.015) {
        burst = (identifier(&random), Int.random(in: 4...9, using: &random))
        represents = true
      } else {
        represents = false
      }
      date += burst == nil ? Double.random(in: 2_000..<300_000, using: &random) : 100
      let isVideo = burst == nil && chance(0.05)
      var subtypes = 0
      if !isVideo && burst == nil {
        if chance(0.04) { subtypes |= 4 }
        if chance(0.1) { subtypes |= 2 }
        if chance(0.005) { subtypes |= 1 }
        if isPhone && chance(0.2) { subtypes |= 8 }
        if isPhone && chance(0.05) { subtypes |= 16 }
      }
      try add(
        Shot(
          date: Int64(date), place: place, isPhone: isPhone, isVideo: isVideo, subtypes: subtypes,
          isRAW: !isPhone && !isVideo && chance(0.1), isFavorite: chance(0.03), isHidden: chance(0.01),
          burst: burst?.identifier, representsBurst: represents, folder: folder,
          title: chance(0.1) ? BenchWords.several(3, &random).joined(separator: " ") : nil,
          keywords: chance(0.3) ? BenchWords.several(3, &random) : nil,
          people: chance(0.2) ? BenchWords.several(2, &random) : nil,
          placeNames: place.map { _ in (city, country) }), &random)
      if let left = burst?.left { if left > 1 { burst?.left = left - 1 } else { burst = nil } }
    }
  }

  private struct Shot {
    let date: Int64
    let place: (latitude: Double, longitude: Double)?
    let isPhone, isVideo: Bool
    let subtypes: Int
    let isRAW, isFavorite, isHidden: Bool
    let burst: String?
    let representsBurst: Bool
    let folder: String
    let title: String?
    let keywords, people: [String]?
    let placeNames: (city: String, country: String)?
  }

  /// The year and month of a folder's name.
  private struct CivilDay {
    let year, month: String

    init(milliseconds: Double) {
      let text = Date(timeIntervalSince1970: milliseconds / 1000).ISO8601Format()
      (year, month) = (String(text.prefix(4)), String(text.prefix(7)))
    }
  }

  /// Words without characters to escape.
  private func json(_ words: [String]?) -> String? {
    words.map { "[\($0.map { "\"\($0)\"" }.joined(separator: ","))]" }
  }

  private func add(_ shot: Shot, _ random: inout SplitMix) throws {
    number += 1
    let isUpright = Bool.random(using: &random)
    let (width, height) = shot.isVideo ? (1920, 1080) : (4032, 3024)
    let version = identifier(&random)
    let ending = shot.isVideo ? "MOV" : "JPG"
    let name = String(format: "IMG_%06d.%@", number, ending)
    let type = shot.isVideo ? "com.apple.quicktime-movie" : "public.jpeg"
    let hasPlaceholder = !shot.isVideo && number % 50 != 0
    try asset.execute(arguments: [
      number, identifier(&random), version, number, shot.isVideo ? 2 : 1, shot.subtypes, type, shot.isRAW, name,
      Int.random(in: 1_000_000..<9_000_000, using: &random), isUpright ? width : height, isUpright ? height : width,
      isUpright ? 1 : 6, false, shot.isVideo ? Double(number % 90) + 0.5 : 0, shot.date, "metadata", shot.date,
      shot.date + Int64.random(in: 0..<2_592_000_000, using: &random), shot.place?.latitude, shot.place?.longitude,
      shot.isPhone ? "Apple" : "FUJIFILM", shot.isPhone ? "iPhone 1\(number % 5)" : "X-T4", shot.isFavorite,
      shot.isHidden, shot.burst, shot.representsBurst, hasPlaceholder ? bytes(25, &random) : nil,
      hasPlaceholder ? version : nil, shot.title, json(shot.keywords), json(shot.people),
      shot.isPhone ? nil : "XF 16-80mm F4", shot.placeNames?.city, shot.placeNames?.country,
    ])
    let path = "\(shot.folder)/\(name)"
    try addFile(path, shot.isVideo ? "video" : "photo", isPrimary: true, type, shot.date, &random)
    if shot.isRAW {
      try addFile(path + ".RAF", "alternatePhoto", isPrimary: false, "com.fuji.raw-image", shot.date, &random)
    }
    if shot.subtypes & 8 != 0 {
      try addFile(path + ".MOV", "pairedVideo", isPrimary: false, "com.apple.quicktime-movie", shot.date, &random)
    }
  }

  private func addFile(
    _ path: String, _ role: String, isPrimary: Bool, _ type: String, _ date: Int64, _ random: inout SplitMix
  ) throws {
    files += 1
    try file.execute(arguments: [
      files, number, role, isPrimary, Data(path.utf8), files, 5_000_000, date * 1_000_000, bytes(16, &random), type,
      date,
    ])
  }

  private func bytes(_ count: Int, _ random: inout SplitMix) -> Data {
    Data((0..<count).map { _ in UInt8.random(in: .min ... .max, using: &random) })
  }

  /// 22 characters, as in the catalogue.
  private func identifier(_ random: inout SplitMix) -> String {
    let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    return String(decoding: (0..<22).map { _ in letters[Int(random.next() >> 58)] }, as: UTF8.self)
  }
}
