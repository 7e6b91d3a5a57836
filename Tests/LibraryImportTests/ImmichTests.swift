import Cryptography
import Foundation
import PhotoFixtures
import PhotoModel
import Testing

@testable import LibraryCatalogue
@testable import LibraryImport

@Suite("Import from Immich")
struct ImmichTests {
  private static func asset(
    _ number: Int, _ bytes: [UInt8], path: String? = nil, _ more: [String: Any] = [:]
  ) -> [String: Any] {
    [
      "id": "id-\(number)", "originalPath": path ?? "/usr/src/app/upload/library/admin/2020/\(number).jpg",
      "originalFileName": "IMG_\(number).jpg", "checksum": Data(Digest.digest(bytes, .sha1)).base64EncodedString(),
      "fileCreatedAt": "2020-02-03T04:05:06.000Z", "localDateTime": "2020-02-03T06:05:06.000Z", "type": "IMAGE",
    ].merging(more) { $1 }
  }

  private func put(_ assets: [[String: Any]], _ name: String = "assets.json", in library: ImportedLibrary) throws {
    try library.put([UInt8](JSONSerialization.data(withJSONObject: assets)), name)
  }

  @Test("a live photo whose video is not beside it is a failure, because the video would be lost with the old system")
  func missingVideo() throws {
    let library = try ImportedLibrary()
    let pictures = (0..<3).map { ImportedLibrary.picture($0) }
    for (number, picture) in pictures.enumerated() { try library.put(picture, "library/admin/2020/\(number).jpg") }
    try library.put("a video", "library/admin/2020/1.mov")
    let video = ["livePhotoVideoId": "v"]
    try put(
      [
        Self.asset(0, pictures[0], video), Self.asset(1, pictures[1], video),
        Self.asset(2, pictures[2], ["livePhotoVideoId": NSNull()]),
      ], in: library)
    let outcome = try library.immich()
    // The video of the second one is found, and can't be read.
    #expect(outcome.report.failed == 2 && outcome.report.added == 3, "\(outcome.lines)")
    #expect(outcome.lines.contains { $0.contains("the video of this live photo was not found") }, "\(outcome.lines)")
  }

  @Test("files, dates, places, descriptions, favourites, archived assets, people and albums arrive")
  func everything() throws {
    let library = try ImportedLibrary()
    let pictures = (0..<6).map { ImportedLibrary.picture($0) }
    try library.put(pictures[0], "library/admin/2020/0.jpg")
    try library.put(pictures[1], "upload/library/admin/2020/1.jpg")
    try library.put(pictures[2], "id-2.jpg")
    try library.put(pictures[3], "library/admin/2020/3.jpg")
    try library.put(pictures[4], "library/admin/2020/4.jpg")
    try library.put(pictures[5], "library/admin/2020/unknown.jpg")
    try library.put("thumb", "thumbs/admin/id-0.webp")
    try put(
      [
        Self.asset(
          0, pictures[0],
          [
            "isFavorite": true, "people": [["name": "Ada"], ["name": ""]], "tags": [["value": "Trips/Sea"]],
            "stack": ["id": "s"],
            "exifInfo": [
              "description": "Words", "latitude": 1.5, "longitude": -2.5, "rating": 4, "make": "Maker",
              "dateTimeOriginal": "2020-02-03T04:05:06+00:00",
            ],
          ]),
        Self.asset(1, pictures[1], ["visibility": "archive"]), Self.asset(2, pictures[2], path: "/x/y/other.jpg"),
      ], in: library)
    // A page of the API, and one asset a line.
    try library.put(
      ["assets": ["items": [Self.asset(3, pictures[3])], "nextPage": NSNull()]], "assets-2.json")
    let trashed = try JSONSerialization.data(withJSONObject: Self.asset(4, pictures[4], ["isTrashed": true]))
    try library.put([UInt8](trashed + Data("\n".utf8)), "assets-3.jsonl")
    try library.put(
      """
      [{"id": "a", "albumName": "Sea", "description": "d", "assets": [{"id": "id-0"}, {"id": "id-3"}]}
      ,{"id": "b", "albumName": "Sea", "assetIds": ["id-1", "id-9"]}]
      """, "albums.json")

    let outcome = try library.immich()
    #expect(outcome.report.failed == 1 && outcome.report.added == 4, "\(outcome.lines)")
    let assets = try library.assets()
    let first = try #require(assets[ImportedLibrary.digest(pictures[0])])
    #expect(first.isFavorite && first.descriptive.caption == "Words" && first.descriptive.rating == 4)
    #expect(first.location == Location(latitude: 1.5, longitude: -2.5))
    #expect(first.descriptive.keywords == ["Trips/Sea", "Ada"])
    #expect(first.creationDate.rfc3339 == "2020-02-03T04:05:06Z" && first.utcOffset == 120)
    #expect(first.original.displayPath == "2020/02/IMG_0.jpg")
    #expect(assets[ImportedLibrary.digest(pictures[1])]?.isHidden == true)
    #expect(
      try library.albums() == [
        "Sea": [ImportedLibrary.digest(pictures[0]), ImportedLibrary.digest(pictures[3])],
        "Sea (2)": [ImportedLibrary.digest(pictures[1])],
      ])
    #expect(outcome.report.unmappedFields == ["stack": 1, "description of albums": 1])
    #expect(outcome.report.remarks["members of albums that assets.json does not have"] == 1)
    #expect(outcome.report.remarks["files that Immich has made, such as thumbnails"] == 1)
    #expect(
      outcome.lines.sorted() == [
        "failed library/admin/2020/unknown.jpg: no asset of assets.json has this file; is its visibility missing there?",
        "skipped /usr/src/app/upload/library/admin/2020/4.jpg: in Immich's trash; --include-trashed imports it",
      ])
    let token = try library.catalogue.changeToken()
    #expect(try library.immich().report.added == 0)
    #expect(try library.catalogue.changeToken() == token)
  }

  @Test("a file is found if its name has another normal form of Unicode, as in a copy that macOS has made")
  func normalForms() throws {
    let library = try ImportedLibrary()
    let picture = ImportedLibrary.picture(1)
    try library.put(picture, "library/admin/u\u{308}/e\u{301}.jpg")
    try put([Self.asset(1, picture, path: "/upload/library/admin/\u{FC}/\u{E9}.jpg")], in: library)
    let outcome = try library.immich()
    #expect(outcome.report.added == 1 && outcome.report.failed == 0, "\(outcome.lines)")
  }

  @Test("a file with other content, and paths that leave the folder, are not imported")
  func hostile() throws {
    let library = try ImportedLibrary()
    let picture = ImportedLibrary.picture(1)
    try library.put(picture, "a/1.jpg")
    let outside = (library.export as NSString).deletingLastPathComponent + "/outside.jpg"
    try Data(picture).write(to: URL(filePath: outside))
    let link = library.export + "/link.jpg"
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: outside)
    try put(
      [
        Self.asset(1, ImportedLibrary.picture(2), path: "/upload/a/1.jpg"),
        Self.asset(2, picture, path: "../outside.jpg"), Self.asset(3, picture, path: outside),
        Self.asset(4, picture, path: "link.jpg"), Self.asset(5, picture, path: "\u{0}"), ["id": "none"],
      ], in: library)
    let outcome = try library.immich()
    #expect(outcome.report.added == 0 && outcome.report.failed == 7, "\(outcome.lines)")
    #expect(try library.assets().isEmpty)
  }

  @Test(
    "a damaged document ends the import and says where",
    arguments: [
      ("[{\"id\": \"a\"", "it ends within an object"), ("[{}, x", "it is not a list of JSON objects, at byte 5"),
      ("\"text\"", "it is not a list of JSON objects, at byte 0"),
    ])
  func malformed(_ text: String, _ reason: String) throws {
    let library = try ImportedLibrary()
    try library.put(text, "assets.json")
    #expect(throws: ImportError.malformed(path: library.export + "/assets.json", reason)) { try library.immich() }
  }

  @Test("a folder without the answers of the API is refused with what is needed")
  func noDocument() throws {
    let library = try ImportedLibrary()
    #expect { try library.immich() } throws: { "\($0)".contains("has no assets.json") }
  }

  @Test("the video of a live photo is found by its own entry, with the checksum of an external library too")
  func videos() throws {
    let library = try ImportedLibrary()
    let picture = ImportedLibrary.picture(1)
    let movie = MovieFile { $0.duration = 600 }.bytes
    try library.put(picture, "upload/user/aa/bb/p.jpg")
    try library.put(movie, "upload/user/cc/dd/v.mov")
    let path = "/mnt/photos/2020/ext.jpg"
    let external = ImportedLibrary.picture(2)
    try library.put(external, "photos/2020/ext.jpg")
    let checksum = Data(Digest.digest(Array("path:\(path)".utf8), .sha1)).base64EncodedString()
    try put(
      [
        Self.asset(2, movie, path: "/data/upload/user/cc/dd/v.mov", ["type": "VIDEO", "visibility": "hidden"]),
        Self.asset(
          1, picture, path: "/data/upload/user/aa/bb/p.jpg", ["livePhotoVideoId": "id-2", "isFavorite": true]),
        Self.asset(3, external, path: path, ["checksum": checksum]),
      ], in: library)
    let outcome = try library.immich()
    #expect(outcome.report.failed == 0 && outcome.report.added == 3, "\(outcome.lines)")
    let assets = try library.assets()
    let asset = try #require(assets[ImportedLibrary.digest(picture)])
    #expect(asset.mediaSubtypes.contains(.photoLive) && asset.isFavorite && !asset.isHidden)
    #expect(assets.count == 2)
  }

  @Test("the video of a live photo that becomes an asset of its own is in the albums of its picture")
  func longVideo() throws {
    let library = try ImportedLibrary()
    let picture = ImportedLibrary.picture(1)
    let movie = MovieFile { $0.duration = 20 * 600 }.bytes
    try library.put(picture, "upload/p.jpg")
    try library.put(movie, "upload/v.mov")
    try put(
      [
        Self.asset(2, movie, path: "/data/upload/v.mov", ["type": "VIDEO", "visibility": "hidden"]),
        Self.asset(1, picture, path: "/data/upload/p.jpg", ["livePhotoVideoId": "id-2"]),
      ], in: library)
    try library.put("{\"id\": \"a\", \"albumName\": \"Sea\", \"assetIds\": [\"id-1\"]}", "albums.jsonl")
    let outcome = try library.immich()
    #expect(outcome.report.failed == 0 && outcome.report.added == 2, "\(outcome.lines)")
    #expect(try library.albums() == ["Sea": [ImportedLibrary.digest(picture), ImportedLibrary.digest(movie)]])
  }

  @Test("an album in several objects is one, one with missing members is a failure, and tags become keywords")
  func documents() throws {
    let library = try ImportedLibrary()
    let pictures = (0..<2).map { ImportedLibrary.picture($0) }
    for (number, picture) in pictures.enumerated() { try library.put(picture, "library/admin/2020/\(number).jpg") }
    try put(pictures.enumerated().map { Self.asset($0, $1) }, in: library)
    try library.put(
      """
      {"id": "a", "albumName": "Sea", "assetCount": 2, "assetIds": ["id-0"]}
      {"id": "a", "albumName": "Sea", "assetCount": 2, "assetIds": ["id-1"]}
      {"id": "b", "albumName": "Lake", "assetCount": 602, "assets": []}
      """, "albums.jsonl")
    try library.put("{\"value\": \"Trips/Sea\", \"assetIds\": [\"id-1\"]}", "tags.jsonl")
    let outcome = try library.immich()
    #expect(outcome.lines == ["failed albums.jsonl: the album Lake has 602 assets, of which 0 are listed"])
    #expect(try library.albums() == ["Sea": Set(pictures.map(ImportedLibrary.digest))])
    #expect(try library.assets()[ImportedLibrary.digest(pictures[1])]?.descriptive.keywords == ["Trips/Sea"])
  }

  @Test("descriptions and keywords that are coordinates are left out, because callers without `location` see them")
  func coordinates() throws {
    let library = try ImportedLibrary()
    let picture = ImportedLibrary.picture(0)
    try library.put(picture, "library/admin/2020/0.jpg")
    let facts: [String: Any] = [
      "exifInfo": ["description": " geo:52.5,13.4"], "people": [["name": "Ada"], ["name": "GEO:lat=52.5"]],
      "tags": [["value": "geo:lat=52.5"], ["value": "geo:\u{301}"], ["value": "Trips"]],
    ]
    try put([Self.asset(0, picture, facts)], in: library)
    try library.put("{\"value\": \"geo:lon=13.4\", \"assetIds\": [\"id-0\"]}", "tags.jsonl")
    try library.put("{\"id\": \"a\", \"albumName\": \"geo:1\", \"assetIds\": [\"id-0\"]}", "albums.jsonl")
    let outcome = try library.immich()
    #expect(outcome.report.added == 1 && outcome.report.failed == 0, "\(outcome.lines)")
    let asset = try #require(try library.assets()[ImportedLibrary.digest(picture)])
    #expect(asset.descriptive.keywords == ["Trips", "Ada"] && asset.descriptive.caption == nil)
    let remark = "descriptions and keywords that are coordinates, which were left out"
    #expect(outcome.report.remarks[remark] == 5, "\(outcome.report.remarks)")
    // An album is named by its user, like one of a change list.
    #expect(try library.albums() == ["geo:1": [ImportedLibrary.digest(picture)]])
  }

  @Test("albums of one title keep their members when the export is made again in another order")
  func order() throws {
    let library = try ImportedLibrary()
    let pictures = (0..<3).map { ImportedLibrary.picture($0) }
    for (number, picture) in pictures.enumerated() { try library.put(picture, "library/admin/2020/\(number).jpg") }
    let assets = pictures.enumerated().map { Self.asset($0, $1) }
    try put(Array(assets.prefix(2)), in: library)
    let (a, b) = ("\"id\": \"a\", \"albumName\": \"Sea\"", "\"id\": \"b\", \"albumName\": \"Sea\"")
    try library.put("{\(a), \"assetIds\": [\"id-0\"]} {\(b), \"assetIds\": [\"id-1\"]}", "albums.jsonl")
    _ = try library.immich()
    let before = try library.albums()
    try put(assets.reversed(), in: library)
    try library.put("{\(b), \"assetIds\": [\"id-1\"]} {\(a), \"assetIds\": [\"id-0\"]}", "albums.jsonl")
    #expect(try library.immich().report.albumsMade == 0)
    #expect(try library.albums() == before && before.count == 2)
  }
}
