// Imports the edits of other programs, from a picture's own file or from a sidecar beside it. After every change of
// these files, the asset gets the edit as its adjustments, or loses the adjustments of an edit that is gone. Once a
// user has set or reverted an asset's adjustments, edits in files no longer change them.
//
//     precedence    Apple's adjustment data (.AAE) > XMP sidecar > XMP in the file

import Foundation
import GRDB
import PhotoModel

/// The files and assets of one transaction whose edits may have changed.
struct ForeignEditWriter {
  /// The maximum number of pictures that one sidecar may describe: `IMG_1.xmp` beside `IMG_1.jpg`, `IMG_1.heic`, ….
  static let maximumPictures = 16

  fileprivate var assets: Set<Int64> = []
  fileprivate var sidecars: Set<[UInt8]> = []
  /// New assets whose own file has no edit. They can get one only from a sidecar.
  fileprivate var assetsWithoutEdit: [Int64] = []

  mutating func note(asset: Int64) { assets.insert(asset) }

  /// Records an asset that was inserted in this transaction.
  ///
  /// - Parameter hasEdit: its file has an edit.
  mutating func note(newAsset asset: Int64, hasEdit: Bool) {
    if hasEdit { assets.insert(asset) } else { assetsWithoutEdit.append(asset) }
  }

  /// Records a path where a file appeared, changed or disappeared. Ignored unless it is the path of a sidecar.
  mutating func note(sidecar path: [UInt8]) {
    if SidecarPaths.type(of: path) != nil { sidecars.insert(path) }
  }

  static func json(_ edit: ForeignEdit) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return String(decoding: try encoder.encode(edit), as: UTF8.self)
  }

  /// Whether any file has an edit, or any asset got one.
  fileprivate static func anyEditExists(_ db: Database) throws -> Bool {
    try Bool.fetchOne(
      db.cachedStatement(
        sql: """
          SELECT EXISTS (SELECT 1 FROM file INDEXED BY fileWithEdit WHERE edit IS NOT NULL)
            OR EXISTS (SELECT 1 FROM asset INDEXED BY assetWithImportedEdit WHERE adjustmentOrigin = 'imported')
          """)) ?? false
  }

  /// The maximum number of edits that are examined to find out whether any is in a sidecar.
  private static let examinedEdits = 1000

  /// Whether any sidecar may have an edit. Always true if very many files have edits, because searching them for a
  /// sidecar could take longer than looking for sidecars beside each new picture.
  fileprivate static func sidecarsMayHaveEdits(_ db: Database) throws -> Bool {
    try Bool.fetchOne(
      db.cachedStatement(
        sql: """
          SELECT coalesce(max(asset IS NULL), 0) OR count(*) = \(examinedEdits)
          FROM (SELECT asset FROM file INDEXED BY fileWithEdit WHERE edit IS NOT NULL LIMIT \(examinedEdits))
          """)) ?? false
  }

  fileprivate static func importsTones(_ db: Database) throws -> Bool {
    try CatalogueValue.importsTones.read(db) ?? false
  }

  /// The edit in an asset's files, translated into operations, even if the user's own adjustments override it; `nil` if
  /// the files have none.
  static func imported(of asset: Int64, _ db: Database) throws -> ImportedEdit? {
    try anyEditExists(db) ? imported(ofAny: asset, db) : nil
  }

  /// Like ``imported(of:_:)``, without the check whether any file has an edit.
  fileprivate static func imported(ofAny asset: Int64, _ db: Database) throws -> ImportedEdit? {
    let picture = try Row.fetchOne(
      db.cachedStatement(
        sql: """
          SELECT file.path, file.edit, asset.orientation, coalesce(unadjustedWidth, pixelWidth),
            coalesce(unadjustedHeight, pixelHeight)
          FROM asset \(AssetRow.primaryFile) WHERE asset.id = ? AND asset.mediaType = 1
          """), arguments: [asset])
    guard let picture else { return nil }
    let path = try picture.bytes(0)
    guard let json = try sidecarEdit(beside: path, db) ?? picture[1] as String? else { return nil }
    let edit = try JSONDecoder().decode(ForeignEdit.self, from: Data(json.utf8))
    let rendering = edit.rendering(
      of: PixelSize(width: picture[3], height: picture[4]), Orientation(rawValue: picture[2]) ?? .topLeft,
      includesTones: try importsTones(db))
    guard edit.isAlwaysEdit || !rendering.operations.isEmpty else { return nil }
    return ImportedEdit(
      formatIdentifier: edit.formatIdentifier, formatVersion: edit.formatVersion, operations: rendering.operations,
      unrendered: rendering.unrendered)
  }

  private static func sidecarEdit(beside path: [UInt8], _ db: Database) throws -> String? {
    let statement = try db.cachedStatement(
      sql: "SELECT edit FROM file WHERE path = ? AND asset IS NULL AND edit IS NOT NULL")
    let paths = SidecarPaths.beside(path)
    for type in [AssetResourceType.adjustmentData, .sidecar] {
      for sidecar in paths where sidecar.type == type {
        if let json = try String.fetchOne(statement, arguments: [Data(sidecar.path)]) { return json }
      }
    }
    return nil
  }

  /// The assets whose primary file a sidecar at this path describes, or would describe.
  fileprivate static func pictures(of sidecar: [UInt8], _ db: Database) throws -> [Int64] {
    let (whole, stems) = SidecarPaths.described(by: sidecar)
    var found: [Int64] = []
    let one = try db.cachedStatement(sql: "SELECT asset FROM file WHERE path = ? AND isPrimary = 1")
    for path in whole { found += try Int64.fetchAll(one, arguments: [Data(path)]) }
    let range = try db.cachedStatement(
      sql: """
        SELECT path, asset FROM file WHERE \(StemRange.condition) AND isPrimary = 1 AND asset IS NOT NULL
        ORDER BY path LIMIT \(maximumPictures)
        """)
    for stem in stems {
      let rows = try Row.fetchAll(range, arguments: StemRange.bounds(of: stem))
      for row in rows where try SidecarPaths.beside(row.bytes(0)).contains(where: { $0.path == sidecar }) {
        found.append(row[1])
      }
    }
    return found
  }
}

extension AssetWriter {
  /// Applies the edits in files to the recorded assets.
  mutating func applyForeignEdits() throws {
    defer { edits = ForeignEditWriter() }
    let isEmpty = edits.assets.isEmpty && edits.sidecars.isEmpty && edits.assetsWithoutEdit.isEmpty
    guard !isEmpty, try ForeignEditWriter.anyEditExists(db) else { return }
    var assets = edits.assets
    if !edits.assetsWithoutEdit.isEmpty, try ForeignEditWriter.sidecarsMayHaveEdits(db) {
      assets.formUnion(edits.assetsWithoutEdit)
    }
    for sidecar in edits.sidecars { assets.formUnion(try ForeignEditWriter.pictures(of: sidecar, db)) }
    for asset in assets.sorted() { try applyForeignEdit(to: asset) }
  }

  private func applyForeignEdit(to asset: Int64) throws {
    let row = try Row.fetchOne(
      db.cachedStatement(sql: "SELECT adjustmentOrigin FROM asset WHERE id = ?"), arguments: [asset])
    guard let row else { return }
    let origin = (row[0] as String?).flatMap(StoredAdjustments.Origin.init)
    guard origin != .user else { return }
    guard let edit = try ForeignEditWriter.imported(ofAny: asset, db) else {
      if origin == .imported { try revertAdjustments(of: asset, origin: nil) }
      return
    }
    try setAdjustments(
      StoredAdjustments(
        operations: edit.operations,
        foreign: StoredAdjustments.ForeignFormat(
          formatIdentifier: edit.formatIdentifier, formatVersion: edit.formatVersion, data: nil),
        origin: .imported), of: asset)
  }
}

extension Catalogue {
  /// Sets whether edits of other programs are imported with their tones. A change imports all of these edits again.
  package func setImportsTones(_ importsTones: Bool) throws(AssetSourceError) {
    guard try read({ try ForeignEditWriter.importsTones($0) }) != importsTones else { return }
    try change { db, token in
      try CatalogueValue.importsTones.write(importsTones, db)
      var writer = try AssetWriter(db, token: token)
      let files = try Row.fetchCursor(
        db, sql: "SELECT path, asset FROM file INDEXED BY fileWithEdit WHERE edit IS NOT NULL")
      while let file = try files.next() {
        if let asset: Int64 = file[1] {
          writer.edits.note(asset: asset)
        } else {
          try writer.edits.note(sidecar: file.bytes(0))
        }
      }
      try writer.finish()
    }
  }
}
