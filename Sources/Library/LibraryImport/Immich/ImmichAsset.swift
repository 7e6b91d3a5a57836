import Foundation
import PhotoModel
import Primitives

/// The facts that Immich's API gives about an asset (`AssetResponseDto`).
struct ImmichAsset {
  var identifier: String
  /// On the server; its last components are also the path in a copy of Immich's folder.
  var originalPath: String
  var name: String
  /// SHA-1 of the file; `nil` if the export does not state it.
  var checksum: [UInt8]?
  var metadata = ImportedMetadata()
  var isTrashed: Bool
  /// The asset is a live photo, and this asset is its video.
  var videoIdentifier: String?
  var isVideo: Bool

  /// `nil` without an identifier or a path.
  init?(_ json: JSONFields, _ report: ImportReport) {
    var json = json
    guard let identifier = json.text("id"), let path = json.text("originalPath") else { return nil }
    self.identifier = identifier
    originalPath = path
    name = json.text("originalFileName") ?? String(path.split(separator: "/").last ?? "file")
    checksum = json.text("checksum").flatMap { Data(base64Encoded: $0) }.map { [UInt8]($0) }
    metadata.isFavorite = json.flag("isFavorite")
    let isArchived = json.flag("isArchived")
    let visibility = json.text("visibility")
    metadata.isHidden = isArchived || visibility == "archive" || visibility == "locked"
    isTrashed = json.flag("isTrashed")
    videoIdentifier = json.text("livePhotoVideoId")
    isVideo = json.text("type") == "VIDEO"

    let created = Self.date(json.text("fileCreatedAt"))
    let local = Self.date(json.text("localDateTime"))
    var exif = json.object("exifInfo")
    let taken = Self.date(exif?.text("dateTimeOriginal"))
    let hasZone = exif?.text("timeZone") != nil
    if let moment = taken ?? created {
      var utcOffset: Int?
      // Immich writes the local time as if it were in UTC. Without a zone, a difference of 0 is no offset.
      if let local, (local - moment) % 60_000 == 0, abs(local - moment) <= 14 * 3_600_000, hasZone || local != moment {
        utcOffset = Int((local - moment) / 60_000)
      }
      metadata.date = ImportedDate(exported: moment, utcOffset: utcOffset)
    }
    metadata.location = Location(exported: exif?.number("latitude"), exif?.number("longitude"))
    metadata.caption = ImportedText.caption(exif?.text("description"), report)
    metadata.rating = exif?.number("rating").flatMap { Int(exactly: $0) }.flatMap {
      DescriptiveMetadata.ratings.contains($0) ? $0 : nil
    }
    let tags = Self.names(json.list("tags"), "value", "name")
    let people = Self.names(json.list("people"), "name")
    metadata.keywords = ImportedText.words(tags + people, report)

    // Facts that Immich reads from the file, as photod does, and its own bookkeeping.
    exif?.ignore(
      "make", "model", "exifImageWidth", "exifImageHeight", "fileSizeInByte", "orientation", "modifyDate",
      "lensModel", "fNumber", "focalLength", "iso", "exposureTime", "city", "state", "country", "projectionType")
    json.ignore(
      "ownerId", "deviceId", "deviceAssetId", "libraryId", "originalMimeType", "thumbhash", "fileModifiedAt",
      "updatedAt", "createdAt", "hasMetadata", "isOffline", "duration", "resized", "width", "height")
    exif?.reportRest(to: report)
    json.reportRest(to: report)
  }

  private static func date(_ text: String?) -> Int64? { text.flatMap { try? RFC3339.milliseconds($0) } }

  /// One text of each object: the value of the first of these keys that it has.
  private static func names(_ list: [JSONValue]?, _ keys: String...) -> [String] {
    (list ?? []).compactMap { value in
      guard case .object(let members) = value else { return nil }
      // Not with a lazy sequence, which might read a field twice: reading removes it.
      var fields = JSONFields(members)
      for key in keys {
        if let text = fields.text(key) { return text }
      }
      return nil
    }
  }
}
