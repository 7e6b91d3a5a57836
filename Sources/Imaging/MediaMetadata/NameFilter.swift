// Removes the names of the people in a picture, for libraries that hide them from callers without the scope `people`.
// Programs that recognise faces write names to XMP. The creator of a picture is not a person in it, and free text is
// kept (titles, captions, keywords), because a program can't tell what a sentence reveals.

enum NameFilter {
  /// XMP properties without names, also inside structures.
  static func withoutNames(xmp properties: [String: MetadataValue]) -> [String: MetadataValue] {
    var kept: [String: MetadataValue] = [:]
    for (key, value) in properties where !isNameKey(key) { kept[key] = withoutNames(value) }
    return kept
  }

  private static func withoutNames(_ value: MetadataValue) -> MetadataValue {
    switch value {
    case .array(let items): .array(items.map(withoutNames))
    case .object(let fields): .object(withoutNames(xmp: fields))
    default: value
    }
  }

  static func isNameKey(_ key: String) -> Bool { keys.contains(key) }

  /// Metadata Working Group, "Guidelines for Handling Image Metadata" 2.0 §5.9; Microsoft's People Tagging; IPTC Photo
  /// Metadata Standard, "Person Shown", "Person Shown with Details" and "Image Region"; ACDSee's regions; Media Pro and
  /// Expression Media; PRISM Basic; Getty Images.
  private static let keys: Set<String> = [
    "mwg-rs:Name", "MPReg:PersonDisplayName", "MPReg:PersonEmailDigest", "MPReg:PersonLiveIdCID",
    "MPReg:PersonSourceID", "Iptc4xmpExt:PersonInImage", "Iptc4xmpExt:PersonInImageWDetails",
    "Iptc4xmpExt:PersonName", "Iptc4xmpExt:Name", "acdsee-rs:Name", "mediapro:People", "expressionmedia:People",
    "prism:person", "GettyImagesGIFT:Personality",
  ]
}
