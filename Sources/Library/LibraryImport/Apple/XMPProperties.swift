// Maps the properties of an XMP sidecar (ISO 16684-1) to those of assets.

import Foundation
import MediaMetadata
import PhotoModel
import Primitives

struct XMPProperties {
  /// The value of `xmp:Label` for favourites, by which photod and other programs mark them.
  private static let favoriteLabel = "Favorite"
  /// Properties that say nothing about the picture, or repeat what its file says.
  private static let ignored: Set<String> = [
    "x:xmptk", "xmp:CreatorTool", "xmp:MetadataDate", "xmp:ModifyDate", "xmp:CreateDate", "tiff:Orientation",
    "exif:GPSMapDatum", "exif:GPSVersionID", "exif:GPSTimeStamp",
  ]

  private var properties: [String: MetadataValue]
  private let descriptive: DescriptiveMetadata

  /// `nil` if the packet has no properties.
  init?(_ packet: [UInt8]) {
    let dictionary = MetadataDictionary([MetadataDictionary.Block(.xmp, packet[...])], includesLocations: true)
    guard let properties = dictionary.sections["XMP"] else { return nil }
    self.properties = properties
    descriptive = DescriptiveMetadata(xmp: packet[...]) ?? DescriptiveMetadata()
  }

  /// - Parameter zone: the zone of dates without an offset.
  func metadata(in zone: TimeZone, _ report: ImportReport) -> ImportedMetadata {
    var rest = properties
    func text(_ names: String...) -> String? {
      var found: String?
      for name in names {
        guard case .text(let text)? = rest.removeValue(forKey: name) else { continue }
        found = found ?? text
      }
      return found
    }
    var metadata = ImportedMetadata()
    metadata.title = descriptive.title
    metadata.caption = descriptive.caption
    metadata.keywords = ImportedText.words(descriptive.keywords + descriptive.people, report)
    for name in ["dc:title", "dc:description", "dc:subject", "Iptc4xmpExt:PersonInImage"] { rest[name] = nil }
    metadata.rating = text("xmp:Rating").flatMap { Int($0) }
      .flatMap { DescriptiveMetadata.ratings.contains($0) ? $0 : nil }
    if rest["xmp:Label"] == .text(Self.favoriteLabel) {
      metadata.isFavorite = true
      rest["xmp:Label"] = nil
    }
    if let date = text("photoshop:DateCreated", "exif:DateTimeOriginal") {
      metadata.date = ImportedDate(xmp: date, in: zone)
      if metadata.date == nil { report.noteUnmapped("XMP date that can't be read") }
    }
    // Apple Photos writes numbers without a sign, and the direction beside them.
    let (northOrSouth, eastOrWest) = (text("exif:GPSLatitudeRef"), text("exif:GPSLongitudeRef"))
    let altitudeReference = text("exif:GPSAltitudeRef")
    let altitude = text("exif:GPSAltitude").flatMap { XMPCoordinates.altitude($0, altitudeReference) }
    metadata.location = Location(
      exported: text("exif:GPSLatitude").flatMap { XMPCoordinates.degrees($0, northOrSouth) },
      text("exif:GPSLongitude").flatMap { XMPCoordinates.degrees($0, eastOrWest) }, altitude: altitude)
    for name in rest.keys where !Self.ignored.contains(name) { report.noteUnmapped("XMP \(name)") }
    return metadata
  }
}
