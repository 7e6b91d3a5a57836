import Foundation
import GRDB
import LibraryFixtures
import PhotoFixtures
import PhotoModel
import Testing

@testable import LibraryCatalogue

#if canImport(Glibc)
  import Glibc
#endif

@Suite("Adjustments in the catalogue")
struct AdjustmentTests {
  private static let crop = StoredAdjustments(
    operations: Adjustments([.crop(UnitRect(x: 0, y: 0, width: 0.5, height: 0.5)), .rotate(quarterTurns: 1)]))
  private static let warm = StoredAdjustments(operations: Adjustments([.tone(.warmth, 0.5)]))
  private static let foreign = StoredAdjustments(
    operations: Adjustments([]),
    foreign: StoredAdjustments.ForeignFormat(
      formatIdentifier: "com.example", formatVersion: "2", data: [0, 255, 10, 13, 0]))

  private static func library() throws -> SyntheticLibrary {
    var assets = (1...3).map { SyntheticAsset(row: $0, date: $0) }
    for i in assets.indices { (assets[i].pixelWidth, assets[i].pixelHeight) = (40, 30) }
    assets[2].mediaType = .video
    return try SyntheticLibrary(assets)
  }

  private static func asset(_ row: Int, _ library: SyntheticLibrary) throws -> Asset {
    let identifier = LocalIdentifier(library.assets[row - 1].identifier)
    return try #require(try library.catalogue.asset(identifier, for: .local))
  }

  private static func set(
    _ adjustments: StoredAdjustments, _ rows: [Int], _ library: SyntheticLibrary, ifMatch: ChangeToken? = nil
  ) throws {
    let targets = rows.map { ChangeTarget.existing(LocalIdentifier(library.assets[$0 - 1].identifier)) }
    _ = try library.changeLists().perform(
      [ChangeRequest(.setAdjustments(targets, adjustments), ifMatch: ifMatch)], for: .local)
  }

  private static func revert(_ rows: [Int], _ library: SyntheticLibrary) throws {
    let targets = rows.map { ChangeTarget.existing(LocalIdentifier(library.assets[$0 - 1].identifier)) }
    _ = try library.changeLists().perform([ChangeRequest(.revertAdjustments(targets))], for: .local)
  }

  @Test("size and content version follow the edit, and reverting restores both")
  func editAndRevert() throws {
    let library = try Self.library()
    let before = try Self.asset(1, library)
    try Self.set(Self.crop, [1], library)
    let edited = try Self.asset(1, library)
    #expect(edited.pixelSize == PixelSize(width: 15, height: 20))
    #expect(edited.unadjustedPixelSize == PixelSize(width: 40, height: 30))
    #expect(edited.hasAdjustments && edited.adjustments == Self.crop.operations)
    #expect(edited.contentVersion != before.contentVersion && edited.revision != before.revision)
    #expect(
      edited.unadjusted.contentVersion == before.contentVersion && edited.unadjusted.pixelSize == before.pixelSize)
    #expect(edited.adjustmentDate != nil)
    try Self.set(Self.warm, [1], library)
    let again = try Self.asset(1, library)
    #expect(again.pixelSize == before.pixelSize && again.unadjusted.contentVersion == before.contentVersion)
    #expect(![edited.contentVersion, before.contentVersion].contains(again.contentVersion))
    try Self.set(Self.crop, [1], library)
    #expect(try Self.asset(1, library).contentVersion == edited.contentVersion)
    try Self.revert([1], library)
    let reverted = try Self.asset(1, library)
    #expect(reverted.contentVersion == before.contentVersion && reverted.pixelSize == before.pixelSize)
    #expect(!reverted.hasAdjustments && reverted.adjustments == nil && reverted.beforeAdjustments == nil)
  }

  @Test("while the picture of a live photo is missing, its adjustments are inactive; they return with it")
  func withoutPicture() throws {
    let library = try TemporaryLibrary()
    let exif = EXIFBlock {
      $0.make = "Maker"
      $0.dateTimeOriginal = "2024:05:06 07:08:09"
      $0.offsetTimeOriginal = "+00:00"
    }
    let picture = JPEGFile { $0.exif = exif }.encoded(Pixels.orientationCard(width: 32, height: 24))
    let movie = MovieFile {
      $0.created = 3_797_824_089
      $0.duration = 1800
    }.bytes
    try library.put(movie, "IMG.MOV")
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let alone = try #require(try catalogue.everything()["IMG.MOV"])
    try library.put(picture, "IMG.JPG")
    try library.scan(catalogue)
    try catalogue.change { db, token in
      var writer = try AssetWriter(db, token: token)
      try writer.setAdjustments(Self.crop, of: try #require(try Int64.fetchOne(db, sql: "SELECT id FROM asset")))
      try writer.finish()
    }
    let edited = try #require(try catalogue.everything()["IMG.JPG"])
    #expect(edited.hasAdjustments && edited.pixelSize == PixelSize(width: 12, height: 16))
    #expect(unlink(library.root + "/IMG.JPG") == 0)
    try library.scan(catalogue)
    let video = try #require(try catalogue.everything()["IMG.MOV"])
    #expect(video.localIdentifier == edited.localIdentifier && video.mediaType == .video)
    #expect(!video.hasAdjustments && video.adjustments == nil && video.beforeAdjustments == nil)
    #expect(video.pixelSize == alone.pixelSize && video.contentVersion == alone.contentVersion)
    #expect(try catalogue.adjustedAsset(video.localIdentifier, for: .local)?.adjustments == nil)
    try library.put(picture, "IMG.JPG")
    try library.scan(catalogue)
    let again = try #require(try catalogue.everything()["IMG.JPG"])
    #expect(again.localIdentifier == edited.localIdentifier && again.pixelSize == edited.pixelSize)
    #expect(again.hasAdjustments && again.adjustments == edited.adjustments)
  }

  @Test("the history says that the content changed, once for an edit and once for reverting")
  func history() throws {
    let library = try Self.library()
    let start = try library.token()
    try Self.set(Self.warm, [1, 2], library)
    let middle = try library.token()
    let identifiers = Set([1, 2].map { LocalIdentifier(library.assets[$0 - 1].identifier) })
    func updated(since token: ChangeToken) throws -> [LocalIdentifier: Bool] {
      let changes = try library.catalogue.changes(since: token, ChangeFilter(), limit: 100, for: .local)
      return Dictionary(uniqueKeysWithValues: changes.assets.updated.map { ($0.localIdentifier, $0.isContentChanged) })
    }
    #expect(try updated(since: start) == Dictionary(uniqueKeysWithValues: identifiers.map { ($0, true) }))
    // A no-op creates no token.
    try Self.set(Self.warm, [1], library)
    try Self.revert([3], library)
    #expect(try library.token() == middle)
    try Self.revert([1], library)
    #expect(try updated(since: middle) == [LocalIdentifier(library.assets[0].identifier): true])
  }

  @Test("data of another program are kept byte for byte, and the picture stays what it was")
  func foreignData() throws {
    let library = try Self.library()
    let before = try Self.asset(1, library)
    try Self.set(Self.foreign, [1], library)
    let edited = try Self.asset(1, library)
    #expect(edited.hasAdjustments && edited.adjustments == nil)
    #expect(edited.contentVersion == before.contentVersion && edited.pixelSize == before.pixelSize)
    let found = try #require(try library.catalogue.adjustedAsset(edited.localIdentifier, for: .local))
    #expect(found.adjustments == Self.foreign)
    var translated = Self.foreign
    translated.operations = Self.crop.operations
    try Self.set(translated, [1], library)
    #expect(try Self.asset(1, library).pixelSize == PixelSize(width: 15, height: 20))
    #expect(try library.catalogue.adjustedAsset(edited.localIdentifier, for: .local)?.adjustments == translated)
  }

  @Test("a list that fails edits nothing")
  func allOrNothing() throws {
    let library = try Self.library()
    let (token, before) = (try library.token(), try Self.asset(1, library))
    do {
      try Self.set(Self.warm, [1, 3], library)
      Issue.record("a video has no adjustments")
    } catch let error as ChangeListError {
      #expect(error.reason == .notAdjustable(library.assets[2].identifier) && error.index == 0)
    }
    do {
      try Self.set(Self.warm, [1], library, ifMatch: .never)
      Issue.record("another revision")
    } catch let error as ChangeListError {
      #expect(error.reason == .revisionMismatch(library.assets[0].identifier))
    }
    do {
      try Self.set(Self.warm, [1, 2], library, ifMatch: before.revision)
      Issue.record("a revision of several assets")
    } catch let error as ChangeListError {
      #expect(error.parameter == "ifMatch")
    }
    #expect(try library.token() == token)
    #expect(try Self.asset(1, library) == before)
    try Self.set(Self.warm, [1], library, ifMatch: before.revision)
    #expect(try Self.asset(1, library).hasAdjustments)
  }

  @Test("predicates and placeholders follow the edit")
  func placeholderAndPredicate() throws {
    let library = try Self.library()
    let asset = try Self.asset(1, library)
    func missing() throws -> Bool {
      try library.catalogue.assetsWithoutPlaceholder(after: nil, limit: 10).contains {
        $0.localIdentifier == asset.localIdentifier
      }
    }
    func result(_ version: ContentVersion) -> PlaceholderResult {
      PlaceholderResult(localIdentifier: asset.localIdentifier, contentVersion: version, placeholder: [1, 2, 3])
    }
    try library.catalogue.store([result(asset.contentVersion)])
    #expect(try !missing())
    try Self.set(Self.warm, [1], library)
    #expect(try missing() && Self.asset(1, library).placeholder == nil)
    // A placeholder of the picture before the edit comes too late.
    try library.catalogue.store([result(asset.contentVersion)])
    #expect(try missing())
    try library.catalogue.store([result(Self.asset(1, library).contentVersion)])
    #expect(try !missing() && Self.asset(1, library).placeholder == [1, 2, 3])
  }

  @Test("a picture whose edit is reverted before its placeholder is made is renderable, and gets one again")
  func revertedWithoutPlaceholder() throws {
    let library = try Self.library()
    func isMissing() throws -> Bool {
      let identifier = try Self.asset(1, library).localIdentifier
      let missing = try library.catalogue.assetsWithoutPlaceholder(after: nil, limit: 10)
      return missing.contains { $0.localIdentifier == identifier }
    }
    func store(_ placeholder: [UInt8]?) throws {
      let asset = try Self.asset(1, library)
      let result = PlaceholderResult(
        localIdentifier: asset.localIdentifier, contentVersion: asset.contentVersion, placeholder: placeholder)
      try library.catalogue.store([result])
    }
    try store([1, 2, 3])
    try Self.set(Self.warm, [1], library)
    try Self.revert([1], library)
    let reverted = try Self.asset(1, library)
    #expect(try reverted.isRenderable && reverted.placeholder == nil && isMissing())
    try store([1, 2, 3])
    #expect(try Self.asset(1, library).placeholder == [1, 2, 3])
    // A recorded failure still holds when its content returns.
    try store(nil)
    try Self.set(Self.warm, [1], library)
    #expect(try Self.asset(1, library).isRenderable)
    try Self.revert([1], library)
    #expect(try !Self.asset(1, library).isRenderable && !isMissing())
  }
}
