// Writes the descriptions of an asset in the catalogue as XMP (ISO 16684-1), for a sidecar file. Other programs read
// these properties: Dublin Core's title, description and subject, the basic schema's rating and label, the IPTC
// extension's people, and with locations the coordinates and the names of the place. A favourite is a label, because
// XMP has no property for it.

import LibraryCatalogue
import PhotoModel
import Primitives

/// The content of a sidecar file.
struct XMPSidecar {
  /// The name of the program in the packet, by which photod recognises its own sidecars.
  static let toolkit = "photod"
  /// Contained in every packet.
  static let namespace = "adobe:ns:meta/"
  /// The label of favourites.
  static let favoriteLabel = "Favorite"

  private static let namespaces = [
    ("dc", "http://purl.org/dc/elements/1.1/"), ("xmp", "http://ns.adobe.com/xap/1.0/"),
    ("photoshop", "http://ns.adobe.com/photoshop/1.0/"), ("exif", "http://ns.adobe.com/exif/1.0/"),
    ("Iptc4xmpExt", "http://iptc.org/std/Iptc4xmpExt/2008-02-29/"),
  ]

  /// The properties, one element a line.
  private var elements: [String] = []

  /// - Parameters:
  ///   - includesLocation: writes where the picture was taken.
  ///   - calendar: the library's, for a date without an offset.
  init(_ asset: Asset, includesLocation: Bool, calendar: LocalCalendar) {
    let descriptive = asset.descriptive
    add(language: "dc:title", descriptive.title)
    add(language: "dc:description", descriptive.caption)
    add(bag: "dc:subject", descriptive.keywords)
    add("xmp:Rating", descriptive.rating.map { "\($0)" })
    add("xmp:Label", asset.isFavorite ? Self.favoriteLabel : nil)
    add(bag: "Iptc4xmpExt:PersonInImage", descriptive.people)
    if asset.creationDateSource == .user {
      // Write the offset: from a time in UTC, another library could not tell which local time the user entered.
      let utcOffset = asset.utcOffset ?? calendar.utcOffset(at: asset.creationDate)
      let date = Self.dateTime(asset.creationDate, utcOffset: utcOffset)
      add("photoshop:DateCreated", date)
      add("exif:DateTimeOriginal", date)
    }
    guard includesLocation else { return }
    if let location = asset.location {
      add("exif:GPSLatitude", Self.coordinate(location.latitude, positive: "N", negative: "S"))
      add("exif:GPSLongitude", Self.coordinate(location.longitude, positive: "E", negative: "W"))
      if let altitude = location.altitude {
        add("exif:GPSAltitude", "\(Int64((altitude.magnitude * 1000).rounded()))/1000")
        add("exif:GPSAltitudeRef", altitude < 0 ? "1" : "0")
      }
    }
    add("photoshop:City", descriptive.place.city)
    add("photoshop:State", descriptive.place.region)
    add("photoshop:Country", descriptive.place.country)
  }

  /// Whether there is nothing to write.
  var isEmpty: Bool { elements.isEmpty }

  /// The packet in UTF-8.
  var document: String {
    let declarations = Self.namespaces.map { "\n    xmlns:\($0)=\"\($1)\"" }.joined()
    return """
      <?xml version="1.0" encoding="UTF-8"?>
      <x:xmpmeta xmlns:x="\(Self.namespace)" x:xmptk="\(Self.toolkit)">
       <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
        <rdf:Description rdf:about=""\(declarations)>
      \(elements.map { "   \($0)\n" }.joined())  </rdf:Description>
       </rdf:RDF>
      </x:xmpmeta>

      """
  }

  /// Whether a file contains an XMP packet, and whether photod wrote it.
  static func kind(of bytes: some Sequence<UInt8>) -> (isXMP: Bool, isOwn: Bool) {
    let head = String(decoding: Array(bytes), as: UTF8.self)
    return (head.contains(namespace), head.contains("\"\(namespace)\" x:xmptk=\"\(toolkit)\""))
  }

  // MARK: Properties

  private mutating func add(_ name: String, _ text: String?) {
    if let text { elements.append("<\(name)>\(Self.escaped(text))</\(name)>") }
  }

  private mutating func add(language name: String, _ text: String?) {
    guard let text else { return }
    elements.append(
      "<\(name)><rdf:Alt><rdf:li xml:lang=\"x-default\">\(Self.escaped(text))</rdf:li></rdf:Alt></\(name)>")
  }

  private mutating func add(bag name: String, _ texts: [String]) {
    guard !texts.isEmpty else { return }
    let items = texts.map { "<rdf:li>\(Self.escaped($0))</rdf:li>" }.joined()
    elements.append("<\(name)><rdf:Bag>\(items)</rdf:Bag></\(name)>")
  }

  /// Text of an element. Characters that XML 1.0 §2.2 does not allow become U+FFFD.
  private static func escaped(_ text: String) -> String {
    var escaped = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      // XML parsers turn a literal carriage return into a line feed.
      case "\r": escaped += "&#13;"
      case "\t", "\n": escaped.unicodeScalars.append(scalar)
      case "\u{0}"..."\u{1F}", "\u{FFFE}", "\u{FFFF}": escaped += "\u{FFFD}"
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }

  /// The local time with its offset from UTC in minutes.
  private static func dateTime(_ date: Timestamp, utcOffset: Int) -> String {
    let local = Timestamp(milliseconds: date.milliseconds + Int64(utcOffset) * 60_000)
    guard Timestamp.rfc3339Range.contains(local) else { return date.rfc3339 }
    let (hours, minutes) = abs(utcOffset).quotientAndRemainder(dividingBy: 60)
    return "\(local.rfc3339.dropLast())\(utcOffset < 0 ? "-" : "+")\(hours.zeroPadded(2)):\(minutes.zeroPadded(2))"
  }

  /// Degrees and decimal minutes (XMP specification part 2 §1.2.7.4): `52,31.200000N`, exact to two millimetres.
  private static func coordinate(_ degrees: Double, positive: String, negative: String) -> String {
    let millionths = Int64((degrees.magnitude * 60_000_000).rounded())
    let fraction = String(millionths % 1_000_000)
    let padding = String(repeating: "0", count: 6 - fraction.count)
    let minutes = millionths / 1_000_000
    return "\(minutes / 60),\(minutes % 60).\(padding)\(fraction)\(degrees < 0 ? negative : positive)"
  }
}
