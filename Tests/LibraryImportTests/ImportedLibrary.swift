import Cryptography
import Foundation
import GRDB
import ImageCodec
import LibraryFixtures
import Logging
import PhotoFixtures
import PhotoModel
import Testing

@testable import LibraryCatalogue
@testable import LibraryFiles
@testable import LibraryImport

/// A library, and the folder of an export beside it.
final class ImportedLibrary {
  let folder: TemporaryLibrary
  let export: String
  let catalogue: Catalogue

  init() throws {
    folder = try TemporaryLibrary()
    export = (folder.root as NSString).deletingLastPathComponent + "/export"
    try FileManager.default.createDirectory(atPath: export, withIntermediateDirectories: true)
    catalogue = try folder.catalogue()
  }

  /// A picture that differs from every other number's.
  static func picture(_ number: Int, exif: EXIFBlock? = nil) -> [UInt8] {
    (exif == nil ? plain : JPEGFile { $0.exif = exif }.encoded(Pixels.orientationCard(width: 32, height: 24)))
      + Array("\(number)".utf8)
  }

  private static let plain = JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 32, height: 24))

  func put(_ bytes: [UInt8], _ path: String) throws {
    let whole = export + "/" + path
    try FileManager.default.createDirectory(
      atPath: (whole as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
    try Data(bytes).write(to: URL(filePath: whole))
  }

  func put(_ text: String, _ path: String) throws { try put(Array(text.utf8), path) }

  func put(_ json: [String: Any], _ path: String) throws {
    try put([UInt8](JSONSerialization.data(withJSONObject: json)), path)
  }

  /// The result of an import, with all its notices.
  struct Outcome {
    let report: ImportReport
    let notices: [ImportReport.Notice]
    var lines: [String] { notices.map(\.line) }
  }

  private final class Notices {
    var list: [ImportReport.Notice] = []
  }

  func run<Source: ImportSource>(
    isDryRun: Bool = false, includesDeleted: Bool = false, zone: TimeZone = .gmt, _ source: (String) throws -> Source
  ) throws -> Outcome {
    let notices = Notices()
    let report = ImportReport { notices.list.append($0) }
    let importer = try LibraryImporter(
      catalogue: catalogue, files: try folderFiles(), scanner: try folder.scanner(catalogue), folder: export,
      libraryPath: folder.root, timeZone: zone, limits: CodecLimits(), isDryRun: isDryRun,
      includesDeleted: includesDeleted, report: report)
    try importer.run(try source(export))
    return Outcome(report: report, notices: notices.list)
  }

  func takeout(
    isDryRun: Bool = false, includesTrash: Bool = false, includesDeleted: Bool = false
  ) throws -> Outcome {
    try run(isDryRun: isDryRun, includesDeleted: includesDeleted) {
      try TakeoutExport(folder: $0, includesTrash: includesTrash)
    }
  }

  /// Changes the library as a user does.
  @discardableResult
  func perform(_ action: ChangeRequest.Action, placeholder: String? = nil) throws -> ChangeOutcome {
    try ChangeListExecutor(catalogue: catalogue, files: try folderFiles(), limits: ChangeLimits())
      .perform([ChangeRequest(action, placeholder: placeholder)], for: .local)
  }

  /// As a restored backup, and as a first scan that was killed: the catalogue may know a part of the files.
  func forgetFirstScan() throws {
    try catalogue.pool.write {
      try $0.execute(sql: "UPDATE catalogueValue SET value = 0 WHERE name = 'isFirstScanComplete'")
    }
  }

  /// Removes everything that is in the trash for good.
  func emptyTrash() throws { try folderFiles().purge(now: Timestamp(milliseconds: 4_000_000_000_000)) }

  func immich() throws -> Outcome { try run { try ImmichExport(folder: $0, includesTrash: false) } }
  func apple(zone: TimeZone = .gmt) throws -> Outcome {
    try run(zone: zone) { try AppleExport(folder: $0, makesAlbums: true, timeZone: zone) }
  }

  private func folderFiles() throws -> LibraryFiles {
    var options = LibraryFiles.Options()
    options.reserveBytes = 0
    return try LibraryFiles(
      catalogue: catalogue, directory: folder.root, timeZone: "UTC", limits: CodecLimits(), options: options,
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
  }

  // MARK: The library

  /// All assets, by the digest of their primary file.
  func assets() throws -> [Data: Asset] {
    var assets: [Data: Asset] = [:]
    var cursor: PageCursor?
    repeat {
      let page = try catalogue.assets(after: cursor, limit: 1000)
      for asset in page.assets {
        let path = folder.root + "/" + asset.original.displayPath
        assets[Self.digest([UInt8](try Data(contentsOf: URL(filePath: path))))] = asset
      }
      cursor = page.nextCursor
    } while cursor != nil
    return assets
  }

  static func digest(_ bytes: [UInt8]) -> Data { Data(Digest.sha256(bytes)) }

  /// The digests of the members of each album.
  func albums() throws -> [String: Set<Data>] {
    let assets = Dictionary(uniqueKeysWithValues: try assets().map { ($1.localIdentifier.rawValue, $0) })
    let rows = try catalogue.pool.read { db in
      try Row.fetchAll(
        db,
        sql: """
          SELECT collection.title, asset.localIdentifier FROM collection
          LEFT JOIN member ON member.collection = collection.id LEFT JOIN asset ON asset.id = member.asset
          WHERE collection.type = 'album'
          """)
    }
    var albums: [String: Set<Data>] = [:]
    for row in rows { albums[row[0], default: []].formUnion([assets[row[1]] ?? Data()]) }
    return albums
  }

  /// Every file of a folder with its content, as a test of what must not change.
  static func contents(of folder: String) throws -> [String: Data] {
    var contents: [String: Data] = [:]
    let walk = FileManager.default.enumerator(atPath: folder)
    while let name = walk?.nextObject() as? String {
      var isFolder: ObjCBool = false
      let path = folder + "/" + name
      if FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), !isFolder.boolValue {
        contents[name] = digest([UInt8](try Data(contentsOf: URL(filePath: path))))
      }
    }
    return contents
  }
}
