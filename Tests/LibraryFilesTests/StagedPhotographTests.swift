import Foundation
import GRDB
import LibraryFixtures
import PhotoFixtures
import PhotoModel
import Testing

@testable import LibraryCatalogue
@testable import LibraryFiles

/// Change lists that create the picture, the RAW file and the video of one photograph. In any order, they become one
/// asset, and every name that the list has for it means that asset.
@Suite("Lists that create the parts of one photograph")
struct StagedPhotographTests {
  private static let date = "2024:05:06 07:08:09"

  private static let parts: [String: [UInt8]] = [
    "IMG_5.JPG": JPEGFile {
      $0.exif = EXIFBlock {
        $0.dateTimeOriginal = date
        $0.offsetTimeOriginal = "+00:00"
      }
    }.encoded(Pixels.orientationCard(width: 32, height: 24)),
    "IMG_5.NEF": TIFFPicture.nef(
      TIFFPicture.Details {
        $0.make = "NIKON CORPORATION"
        $0.dateTimeOriginal = date
        $0.offsetTimeOriginal = "+00:00"
      }
    ).bytes,
    // 2024-05-06T07:08:09Z, three seconds.
    "IMG_5.MOV": MovieFile {
      $0.created = 3_797_824_089
      $0.duration = 1800
    }.bytes,
  ]

  private static func create(_ name: String, _ files: LibraryFiles) throws -> ChangeRequest {
    let upload = try files.staged(try #require(parts[name]), name)
    return ChangeRequest(.createAssetFromStagedUpload(upload), placeholder: "$" + name)
  }

  private static func perform(
    _ requests: [ChangeRequest], _ catalogue: Catalogue, _ files: LibraryFiles
  ) throws -> ChangeOutcome {
    try ChangeListExecutor(catalogue: catalogue, files: files, limits: ChangeLimits()).perform(requests, for: .local)
  }

  private static func members(_ catalogue: Catalogue) throws -> [String] {
    try catalogue.pool.read { db in
      try String.fetchAll(
        db,
        sql: """
          SELECT asset.localIdentifier FROM member JOIN asset ON asset.id = member.asset
            JOIN collection ON collection.id = member.collection
          WHERE collection.title = 'Album'
          """)
    }
  }

  @Test(
    "the parts are one asset, which has what the list sets by the name of any part",
    arguments: [
      ["IMG_5.JPG", "IMG_5.NEF", "IMG_5.MOV"], ["IMG_5.JPG", "IMG_5.MOV", "IMG_5.NEF"],
      ["IMG_5.NEF", "IMG_5.JPG", "IMG_5.MOV"], ["IMG_5.NEF", "IMG_5.MOV", "IMG_5.JPG"],
      ["IMG_5.MOV", "IMG_5.JPG", "IMG_5.NEF"], ["IMG_5.MOV", "IMG_5.NEF", "IMG_5.JPG"],
    ])
  func oneList(_ names: [String]) throws {
    for named in names {
      let library = try TemporaryLibrary()
      let catalogue = try library.catalogue()
      let files = try library.files(catalogue)
      let requests =
        try names.map { try Self.create($0, files) } + [
          ChangeRequest(.updateAsset(.placeholder("$" + named), AssetUpdate(isFavorite: true))),
          ChangeRequest(.createCollection(NewCollection(isFolder: false, title: "Album")), placeholder: "$a"),
          ChangeRequest(.addAssets(.placeholder("$a"), names.map { .placeholder("$" + $0) })),
        ]
      let outcome = try Self.perform(requests, catalogue, files)
      let assets = try catalogue.everything()
      let asset = try #require(assets["2024/05/IMG_5.JPG"])
      #expect(assets.count == 1 && asset.isFavorite && asset.isRAW && asset.mediaSubtypes.contains(.photoLive))
      for name in names { #expect(outcome.created["$" + name] == asset.localIdentifier) }
      #expect(try Self.members(catalogue) == [asset.localIdentifier.rawValue])
    }
  }

  @Test("an entry that puts one asset at two indexes of an album is refused, by whatever names; nothing is created")
  func replaced() throws {
    let library = try TemporaryLibrary()
    let catalogue = try library.catalogue()
    let files = try library.files(catalogue)
    let names = ["IMG_5.JPG", "IMG_5.MOV"]
    let targets = names.map { ChangeTarget.placeholder("$" + $0) }
    let requests =
      try names.map { try Self.create($0, files) } + [
        ChangeRequest(.createCollection(NewCollection(isFolder: false, title: "Album")), placeholder: "$a"),
        ChangeRequest(.addAssets(.placeholder("$a"), targets)),
        ChangeRequest(.replaceAssets(.placeholder("$a"), targets, indexes: [0, 1])),
      ]
    let refusal = ChangeListError(.namedTwice("$IMG_5.MOV"), index: 4, parameter: "assets")
    #expect(throws: refusal) { try Self.perform(requests, catalogue, files) }
    #expect(try catalogue.everything().isEmpty && Self.members(catalogue).isEmpty)
  }

  @Test("the identifier and the content of an asset that becomes a part of another one mean that one in the same list")
  func mergedAsset() throws {
    let library = try TemporaryLibrary()
    let catalogue = try library.catalogue()
    let files = try library.files(catalogue)
    for name in ["IMG_5.NEF", "IMG_5.MOV"] { try library.put(try #require(Self.parts[name]), "2024/05/" + name) }
    try library.scan(catalogue)
    let before = try catalogue.everything()
    let video = try #require(before["2024/05/IMG_5.MOV"]?.localIdentifier)
    let raw = try #require(before["2024/05/IMG_5.NEF"]?.localIdentifier)
    let requests = [
      try Self.create("IMG_5.JPG", files), try Self.create("IMG_5.MOV", files), try Self.create("IMG_5.NEF", files),
      ChangeRequest(.updateAsset(.existing(video), AssetUpdate(isFavorite: true))),
      ChangeRequest(.updateAsset(.existing(raw), AssetUpdate(isHidden: true))),
    ]
    let outcome = try Self.perform(requests, catalogue, files)
    let assets = try catalogue.everything(includesHidden: true)
    let asset = try #require(assets["2024/05/IMG_5.JPG"])
    #expect(assets.count == 1 && asset.isFavorite && asset.isHidden)
    #expect(Set(outcome.created.values) == [asset.localIdentifier] && outcome.created.count == 3)
    #expect([video, raw].contains(asset.localIdentifier))
  }
}
