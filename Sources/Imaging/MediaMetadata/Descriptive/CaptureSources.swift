// When and where a picture was taken, by the blocks that state it where EXIF does not:
//
//     date     XMP's exif:DateTimeOriginal, photoshop:DateCreated, xmp:CreateDate, then IPTC-IIM 2:55 and 2:60
//     place    XMP's exif:GPSLatitude and exif:GPSLongitude, with exif:GPSAltitude
//
// EXIF comes first, because cameras write it. A packet is searched only for what EXIF lacks, so the packets of most
// photographs are not parsed for this.

import PhotoModel

/// Dates and the place of a picture by their source, apart from EXIF.
package struct CaptureSources: Sendable, Hashable {
  /// The dates of one XMP packet, in order of precedence.
  var xmpDates: [EXIFDate] = []
  var iptcDate: EXIFDate?
  /// From XMP.
  package var location: Location?

  package init() {}

  /// In order of precedence. Whether one is usable may depend on the library's time zone, as in ``EXIFSummary/dates``.
  package var dates: [EXIFDate] { xmpDates + [iptcDate].compactMap(\.self) }

  /// The first of ``dates``.
  package var date: EXIFDate? { dates.first }

  /// Adds values of another block where none is known yet.
  mutating package func add(_ other: CaptureSources) {
    if xmpDates.isEmpty { xmpDates = other.xmpDates }
    iptcDate = iptcDate ?? other.iptcDate
    location = location ?? other.location
  }

  // MARK: XMP

  /// In order of precedence.
  private static let dateKeys = ["exif:DateTimeOriginal", "photoshop:DateCreated", "xmp:CreateDate"]
  /// Names of properties; a packet must contain one of them to be worth parsing.
  private static let dateTerms: [[UInt8]] = ["DateTimeOriginal", "DateCreated", "CreateDate"].map { Array($0.utf8) }
  private static let placeTerm: [UInt8] = Array("GPSLatitude".utf8)

  /// Whether a packet may state a date or a place that EXIF lacks: a search of a few microseconds.
  static func mayAdd(_ packet: ArraySlice<UInt8>, to exif: EXIFSummary) -> Bool {
    if !exif.hasCertainDate, dateTerms.contains(where: { XMPPacket.contains($0, in: packet) }) { return true }
    return exif.location == nil && XMPPacket.contains(placeTerm, in: packet)
  }

  /// Reads from a packet's properties what EXIF lacks and no earlier packet has stated.
  mutating func read(xmp properties: [String: MetadataValue], besides exif: EXIFSummary) {
    if !exif.hasCertainDate, xmpDates.isEmpty {
      xmpDates = Self.dateKeys.compactMap { properties[$0]?.firstText }.compactMap { XMPDate($0)?.date }
    }
    if exif.location == nil, location == nil { location = Location(xmp: properties) }
  }
}
