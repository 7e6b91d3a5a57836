// Removes metadata that callers without the scope `location` may not see: everything that says where a picture was
// taken, which place it shows, or where the people in it live. When in doubt it removes: an entry without a known name
// may be a location.
//
// Free text is kept (titles, captions, keywords), because a program can't decide what a sentence reveals. Keywords that
// are coordinates ("geo:lat=…") are removed.

import PhotoModel

enum LocationFilter {
  /// EXIF sections without GPS, without GDAL's metadata, and without entries whose meaning is unknown.
  static func withoutLocations(exif sections: [String: [String: MetadataValue]]) -> [String: [String: MetadataValue]] {
    var sections = sections
    sections[EXIFDictionary.gpsSection] = nil
    return sections.mapValues { section in
      section.filter { !EXIFNames.isHexadecimal($0.key) && !isLocationKey($0.key) && $0.key != "GDALMetadata" }
    }
  }

  /// IPTC datasets without those that name a place and those without a name.
  static func withoutLocations(iptc datasets: [String: MetadataValue]) -> [String: MetadataValue] {
    filtered(datasets.filter { !iptcPlaces.contains($0.key) && !$0.key.contains(":") })
  }

  /// XMP properties without those whose name contains a word for a place, also inside structures.
  static func withoutLocations(xmp properties: [String: MetadataValue]) -> [String: MetadataValue] {
    filtered(properties)
  }

  private static let iptcPlaces: Set<String> = [
    "City", "Sub-location", "Province-State", "Country-PrimaryLocationCode", "Country-PrimaryLocationName",
    "ContentLocationCode", "ContentLocationName",
  ]

  private static func filtered(_ fields: [String: MetadataValue]) -> [String: MetadataValue] {
    var kept: [String: MetadataValue] = [:]
    for (key, value) in fields where !isLocationKey(key) {
      if let value = filtered(value) { kept[key] = value }
    }
    return kept
  }

  /// `nil` if the value is a coordinate.
  private static func filtered(_ value: MetadataValue) -> MetadataValue? {
    switch value {
    case .text(let text): return isLocation(text: text) ? nil : value
    case .array(let items): return .array(items.compactMap(filtered))
    case .object(let fields): return .object(filtered(fields))
    default: return value
    }
  }

  /// Whether a word of a key, without its prefix, means a place.
  static func isLocationKey(_ key: String) -> Bool {
    guard let prefixEnd = key.firstIndex(of: ":") else { return isLocationKey(local: Substring(key)) }
    // If a file uses one prefix for two namespaces, XMPNamespaces adds a number to one of them.
    var prefix = key[..<prefixEnd]
    while prefix.last?.isNumber == true { prefix.removeLast() }
    if settings.contains(String(key[..<prefixEnd])) || otherKeys.contains(key) { return false }
    return prefixes.contains(String(prefix)) || keys.contains(key)
      || isLocationKey(local: key[key.index(after: prefixEnd)...])
  }

  private static func isLocationKey(local name: Substring) -> Bool {
    // Addresses, in the abbreviations of IPTC and PLUS.
    if name.hasPrefix("CiAdr") { return true }
    let whole = name.lowercased()
    if fragments.contains(where: whole.contains) { return true }
    return self.words(of: name).contains { words.contains($0) }
  }

  /// Splits at capitals: `shotLocation` into shot and Location, `GPSLatitude` into GPS and Latitude.
  private static func words(of name: Substring) -> [String] {
    var words: [String] = []
    var word = ""
    let letters = Array(name)
    for (i, letter) in letters.enumerated() {
      let beginsWord =
        letter.isUppercase && i > 0
        && (letters[i - 1].isLowercase || (i + 1 < letters.count && letters[i + 1].isLowercase))
      if beginsWord || !letter.isLetter {
        if !word.isEmpty { words.append(word.lowercased()) }
        word = ""
      }
      if letter.isLetter { word.append(letter) }
    }
    if !word.isEmpty { words.append(word.lowercased()) }
    return words
  }

  /// Whether a text is a coordinate.
  static func isLocation(text: some StringProtocol) -> Bool { DescriptiveMetadata.isCoordinates(text) }

  /// IPTC datasets of places: their record and number.
  static func isLocation(dataset number: Int, of record: Int) -> Bool {
    iptcPlaces.contains(IPTCDataset(record: record, number: number).name)
  }

  /// Namespaces that contain only places, the one for cells of telephone networks, and those of drones, whose pose and
  /// path are places too.
  private static let prefixes: Set<String> = ["geo", "georss", "dwc", "dwciri", "cell", "drone-dji", "drone-parrot"]

  /// Namespaces of Camera Raw's settings, in which "state" means another thing.
  private static let settings: Set<String> = ["crs", "crss", "crd"]

  /// Properties whose name has a word for a place: a position in the picture, and margins of a sensitivity.
  private static let otherKeys: Set<String> = [
    "exif:SubjectLocation", "exifEX:ISOSpeedLatitudeyyy", "exifEX:ISOSpeedLatitudezzz",
  ]

  /// Properties whose name has no word for a place. A panorama's heading is a compass direction.
  private static let keys: Set<String> = ["GPano:PoseHeadingDegrees"]

  private static let fragments = [
    "gps", "latitude", "longitude", "altitude", "location", "geotag", "geocode", "geohash",
  ]

  private static let words: Set<String> = [
    "geo", "lat", "lon", "lng", "city", "cities", "town", "village", "province", "state", "country", "countries",
    "county", "municipality", "district", "locality", "place", "places", "venue", "landmark", "address", "adr",
    "coordinate", "coordinates", "compass", "bearing", "yaw", "world", "continent", "island", "street", "postcode",
    "postal", "zip",
  ]
}
