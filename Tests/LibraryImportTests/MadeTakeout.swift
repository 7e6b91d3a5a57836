import Foundation
import PhotoFixtures

@testable import LibraryImport

/// A Google Takeout of a thousand files, with the properties that its pictures must have in the library.
struct MadeTakeout {
  struct Picture {
    var isFavorite = false
    var isHidden = false
    var seconds: Int64
    var caption: String?
    var latitude: Double?
    var people: [String] = []
    var albums: Set<String> = []
  }

  /// By the digest of the content.
  private(set) var pictures: [Data: Picture] = [:]
  private(set) var mediaFiles = 0
  private(set) var trashed = 0

  private static let root = "Takeout/Google Photos/"
  private static let start: Int64 = 1_400_000_000
  private static let albums = ["Sea and Sky", "Größe & Ehre", "2019"]

  /// - Parameter unique: the number of pictures; a quarter of them is a second time in an album.
  init(in library: ImportedLibrary, unique: Int) throws {
    for (index, title) in Self.albums.enumerated() {
      let album: [String: Any] = ["title": title, "description": index == 0 ? "words" : "", "access": "protected"]
      try library.put(album, "\(Self.root)\(title)/\(index == 1 ? "Metadaten" : "metadata").json")
    }
    for number in 0..<unique { try add(number, to: library) }
    try library.put("<html></html>", "Takeout/archive_browser.html")
    try library.put(["title": "Photos from 2014"], "\(Self.root)Photos from 2014/metadata.json")
  }

  private mutating func add(_ number: Int, to library: ImportedLibrary) throws {
    var picture = Picture(seconds: Self.start + Int64(number) * 90_000)
    let hasEXIF = number % 3 == 0
    var exif: EXIFBlock?
    if hasEXIF {
      // The local time of a place two hours east of UTC.
      let local = Date(timeIntervalSince1970: Double(picture.seconds + 7200))
      let text = local.formatted(Date.ISO8601FormatStyle(timeZone: .gmt)).prefix(19)
      exif = EXIFBlock {
        $0.dateTimeOriginal = text.replacingOccurrences(of: "-", with: ":").replacingOccurrences(of: "T", with: " ")
        $0.offsetTimeOriginal = "+02:00"
      }
    }
    let bytes = ImportedLibrary.picture(number, exif: exif)
    picture.isFavorite = number % 7 == 0
    picture.isHidden = number % 11 == 0
    picture.caption = number % 5 == 0 ? "Caption \(number)\nsecond line" : nil
    picture.latitude = number % 4 == 0 ? 10 + Double(number) / 100 : nil
    picture.people = number % 13 == 0 ? ["Ada \(number % 5)", "Grace"] : []
    let isTrashed = number % 97 == 96
    var json: [String: Any] = [
      "title": "IMG_\(number).jpg", "description": picture.caption ?? "", "imageViews": "\(number)",
      "photoTakenTime": ["timestamp": "\(picture.seconds)", "formatted": "some day"],
      "geoData": ["latitude": picture.latitude ?? 0, "longitude": picture.latitude ?? 0, "altitude": 0],
      "googlePhotosOrigin": ["mobileUpload": ["deviceType": "ANDROID_PHONE"]],
    ]
    if picture.isFavorite { json["favorited"] = true }
    if picture.isHidden { json["archived"] = true }
    if isTrashed { json["trashed"] = true }
    if !picture.people.isEmpty { json["people"] = picture.people.map { ["name": $0] } }
    let year = 2014 + number % 6
    let (file, sidecar) = names(number, &json)
    let folder = "\(Self.root)Photos from \(year)/"
    try library.put(bytes, folder + file)
    try library.put(json, folder + sidecar)
    mediaFiles += 1
    if isTrashed {
      trashed += 1
      return
    }
    if number % 4 == 1 {
      let album = Self.albums[number / 4 % Self.albums.count]
      try library.put(bytes, "\(Self.root)\(album)/\(file)")
      try library.put(json, "\(Self.root)\(album)/\(sidecar)")
      mediaFiles += 1
      picture.albums.insert(album)
    }
    if hasEXIF && number % 2 == 0 {
      // An edited version shares the description.
      let edited = ImportedLibrary.picture(number + 1_000_000, exif: exif)
      try library.put(edited, folder + ExportFileName.stem(file) + "-edited.jpg")
      mediaFiles += 1
      var copy = picture
      copy.albums = []
      pictures[ImportedLibrary.digest(edited)] = copy
    }
    pictures[ImportedLibrary.digest(bytes)] = picture
  }

  /// The names of a picture and its description, in the forms that Google writes.
  private func names(_ number: Int, _ json: inout [String: Any]) -> (String, String) {
    switch number % 5 {
    case 0: return ("IMG_\(number).jpg", "IMG_\(number).jpg.json")
    case 1: return ("IMG_\(number).jpg", "IMG_\(number).jpg.supplemental-metadata.json")
    case 2:
      let title = "PXL_20190101_0\(number)_a_rather_long_name_of_a_picture_\(number).jpg"
      json["title"] = title
      let cut = title.dropLast(4).prefix(47)
      return ("\(cut).jpg", "\(title.prefix(46)).json")
    case 3: return ("IMG_\(number)(1).jpg", "IMG_\(number).jpg.supplemental-metadata(1).json")
    default: return ("IMG_\(number).jpg", "IMG_\(number).jpg.suppl.json")
    }
  }
}
