// Descriptive properties of XMP: Dublin Core, photoshop, IPTC Extension, the Metadata Working Group's and Microsoft's
// regions, and the lens. Packets that contain none of the names are not parsed.

import PhotoModel
import Primitives

#if canImport(Glibc)
  import Glibc
#endif

extension DescriptiveMetadata {
  /// Names of properties; a packet must contain one of them after a colon to be worth parsing.
  private static let searchTerms: [[UInt8]] = [
    "title", "description", "subject", "PersonInImage", "RegionList", "PersonDisplayName", "Lens", "City", "State",
    "Country", "LocationCreated", "LocationShown",
    "RegionInfo", "rights", "license", "WebStatement",
  ].map { Array($0.utf8) }

  /// `nil` if the packet has none of the properties. Of a damaged or truncated packet, the properties before the damage
  /// count.
  package init?(xmp packet: ArraySlice<UInt8>) {
    let packet = packet.prefix(XMPPacket.maximumBytes)
    guard Self.mayDescribe(packet) else { return nil }
    self.init(xmp: XMPDictionary(packet).properties)
  }

  init?(xmp properties: [String: MetadataValue]) {
    self.init()
    title = DescriptiveText.name(properties["dc:title"]?.defaultText)
    caption = DescriptiveText.caption(properties["dc:description"]?.defaultText)
    keywords = DescriptiveText.words(properties["dc:subject"]?.texts ?? [], atMost: DescriptiveLimits.keywords)
    people = DescriptiveText.words(Self.people(properties), atMost: DescriptiveLimits.people)
    lensModel = DescriptiveText.name(
      properties["exifEX:LensModel"]?.defaultText ?? properties["aux:Lens"]?.defaultText)
    place = Self.place(properties)
    rights = DescriptiveText.name(properties["dc:rights"]?.defaultText)
    license =
      ["cc:license", "xmpRights:WebStatement"].lazy
      .compactMap { properties[$0]?.defaultText.flatMap(DescriptiveText.license) }.first
    if self == DescriptiveMetadata() { return nil }
  }

  /// Whether a packet may have such properties: a search of a few microseconds.
  static func mayDescribe(_ packet: ArraySlice<UInt8>) -> Bool {
    packet.withUnsafeBytes { bytes in
      guard let start = bytes.baseAddress else { return false }
      var position = 0
      while position < bytes.count,
        let found = memchr(start + position, Int32(UInt8(ascii: ":")), bytes.count - position)
      {
        position = UnsafeRawPointer(found) - start + 1
        for term in searchTerms where position + term.count <= bytes.count && bytes[position] == term[0] {
          if memcmp(start + position, term, term.count) == 0 { return true }
        }
      }
      return false
    }
  }

  /// The names of faces in regions, then those of people without a region.
  private static func people(_ properties: [String: MetadataValue]) -> [String] {
    var names: [String] = []
    for region in properties["mwg-rs:Regions"]?.fields["mwg-rs:RegionList"]?.structures ?? [] {
      // Other types are pets, focus points and bar codes.
      guard ["Face", nil].contains(region["mwg-rs:Type"]?.firstText) else { continue }
      if let name = region["mwg-rs:Name"]?.defaultText { names.append(name) }
    }
    for region in properties["MP:RegionInfo"]?.fields["MPRI:Regions"]?.structures ?? [] {
      if let name = region["MPReg:PersonDisplayName"]?.defaultText { names.append(name) }
    }
    names += properties["Iptc4xmpExt:PersonInImage"]?.texts ?? []
    for person in properties["Iptc4xmpExt:PersonInImageWDetails"]?.structures ?? [] {
      if let name = person["Iptc4xmpExt:PersonName"]?.defaultText { names.append(name) }
    }
    return names
  }

  /// Where the picture was taken, or else the place that it shows.
  private static func place(_ properties: [String: MetadataValue]) -> PlaceNames {
    func location(_ key: String) -> PlaceNames {
      let fields = properties[key]?.structures.first ?? [:]
      return PlaceNames(
        city: DescriptiveText.name(fields["Iptc4xmpExt:City"]?.defaultText),
        region: DescriptiveText.name(fields["Iptc4xmpExt:ProvinceState"]?.defaultText),
        country: DescriptiveText.name(fields["Iptc4xmpExt:CountryName"]?.defaultText))
    }
    let places = [
      location("Iptc4xmpExt:LocationCreated"),
      PlaceNames(
        city: DescriptiveText.name(properties["photoshop:City"]?.defaultText),
        region: DescriptiveText.name(properties["photoshop:State"]?.defaultText),
        country: DescriptiveText.name(properties["photoshop:Country"]?.defaultText)),
      location("Iptc4xmpExt:LocationShown"),
    ]
    return places.first { !$0.isEmpty } ?? PlaceNames()
  }
}

extension MetadataValue {
  /// A text; the default of a language alternative, or else its first language by name.
  var defaultText: String? {
    guard case .object(let languages) = self, languages["rdf:value"] == nil else { return firstText }
    return languages[XMPDictionary.defaultLanguage]?.firstText
      ?? languages.sortedByKey.lazy.compactMap(\.value.firstText).first
  }

  var fields: [String: MetadataValue] { if case .object(let fields) = self { fields } else { [:] } }

  /// The structures of an array, or the only structure.
  var structures: [[String: MetadataValue]] {
    switch self {
    case .array(let items): items.flatMap(\.structures)
    case .object(let fields): [fields]
    default: []
    }
  }
}
