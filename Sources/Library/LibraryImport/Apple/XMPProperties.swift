// The properties of an XMP sidecar (ISO 16684-1) that assets of photod have.

import Foundation
import MediaMetadata
import PhotoModel
import Primitives

struct XMPProperties {
  /// Has the value of favourites: photod's own export, and other programs.
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
    let isBelowSea = text("exif:GPSAltitudeRef") == "1"
    let altitude = text("exif:GPSAltitude").flatMap(Self.rational).map { isBelowSea ? -abs($0) : $0 }
    metadata.location = Location(
      exported: text("exif:GPSLatitude").flatMap { Self.degrees($0, northOrSouth) },
      text("exif:GPSLongitude").flatMap { Self.degrees($0, eastOrWest) }, altitude: altitude)
    for name in rest.keys where !Self.ignored.contains(name) { report.noteUnmapped("XMP \(name)") }
    return metadata
  }

  /// `52,31.2N`, `52,31,12N` (XMP specification part 2 §1.2.7.4), or decimal degrees, which Apple Photos writes.
  ///
  /// - Parameter direction: N, S, E or W, for a number without a sign.
  static func degrees(_ text: String, _ direction: String? = nil) -> Double? {
    if let number = Double(text) {
      let isNegative = ["S", "W"].contains(direction?.prefix(1).uppercased())
      return isNegative ? -abs(number) : number
    }
    guard let last = text.last, let sign = ["N": 1.0, "E": 1, "S": -1, "W": -1][String(last).uppercased()] else {
      return nil
    }
    let parts = text.dropLast().split(separator: ",", omittingEmptySubsequences: false).map { Double($0) }
    guard (1...3).contains(parts.count), !parts.contains(nil) else { return nil }
    let numbers = parts.compactMap(\.self)
    guard numbers.allSatisfy({ $0.isFinite && $0 >= 0 }) else { return nil }
    let degrees = zip(numbers, [1.0, 60, 3600]).reduce(0) { $0 + $1.0 / $1.1 }
    return sign * degrees
  }

  private static func rational(_ text: String) -> Double? {
    let parts = text.split(separator: "/").map { Double($0) }
    guard let number = parts.first ?? nil else { return nil }
    guard parts.count == 2 else { return parts.count == 1 ? number : nil }
    guard let divisor = parts[1], divisor != 0 else { return nil }
    return number / divisor
  }
}
