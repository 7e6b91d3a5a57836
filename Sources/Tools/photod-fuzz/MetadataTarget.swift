import ImageCodec
import MediaMetadata
import PhotoModel

/// Metadata blocks in a JPEG's segments: the input is the block, and the file around it is valid.
enum MetadataTarget {
  static func exif(_ bytes: [UInt8]) {
    check(segment(0xE1, Array("Exif".utf8) + [0, 0] + bytes))
    dictionary(.exif, bytes)
  }

  static func xmp(_ bytes: [UInt8]) {
    check(segment(0xE1, XMPPacket.signature + bytes))
    dictionary(.xmp, bytes)
  }

  static func iptc(_ bytes: [UInt8]) {
    check(segment(0xED, ImageResources.signature + bytes))
    dictionary(.iptc, bytes)
    dictionary(.rawProfile, bytes)
  }

  static func multiPicture(_ bytes: [UInt8]) { check(segment(0xE2, Array("MPF".utf8) + [0] + bytes)) }

  /// The metadata of a gain map. What is read can be written and read again.
  static func gainMap(_ bytes: [UInt8]) {
    _ = AppleGainMap.headroom(exif: bytes[...])
    _ = AppleGainMap.headroom(xmp: bytes[...])
    for metadata in [GainMapMetadata(iso: bytes), GainMapMetadata(xmp: bytes[...])].compactMap(\.self) {
      guard metadata.usesBaseColorSpace, !metadata.baseIsHDR else { continue }
      precondition(GainMapMetadata(xmp: Array(metadata.xmpPacket.utf8)[...]) == metadata, "another XMP")
      precondition(metadata.isoBlock.count <= GainMapMetadata.maximumBytes)
    }
  }

  /// Metadata without locations must be a subset of all metadata, and a rating must be in range.
  private static func dictionary(_ kind: MetadataBlock.Kind, _ bytes: [UInt8]) {
    let block = MetadataDictionary.Block(kind, bytes[...])
    let all = MetadataDictionary([block], includesLocations: true)
    let rest = MetadataDictionary([block], includesLocations: false)
    precondition(rest.sections["GPS"] == nil)
    for (name, section) in rest.sections {
      precondition(
        section.keys.allSatisfy { all.sections[name]?[$0] != nil }, "an entry is not in the complete metadata")
    }
    let facts = MediaFacts(exifBlock: kind == .exif ? bytes[...] : nil, xmpPacket: kind == .xmp ? bytes[...] : nil)
    precondition(facts.rating.map { (-1...5).contains($0) } ?? true)
    check(facts.descriptive)
    if kind == .iptc, let descriptive = DescriptiveMetadata(iptc: bytes[...]) { check(descriptive) }
  }

  /// Texts of the catalogue are short, and hold neither control characters nor coordinates.
  private static func check(_ descriptive: DescriptiveMetadata) {
    precondition(descriptive.keywords.count <= DescriptiveLimits.keywords, "too many keywords")
    precondition(Set(descriptive.keywords).count == descriptive.keywords.count, "a keyword twice")
    precondition(descriptive.people.count <= DescriptiveLimits.people, "too many people")
    let names = [descriptive.title, descriptive.lensModel, descriptive.place.city, descriptive.place.region]
    let texts = names.compactMap(\.self) + descriptive.keywords + descriptive.people
    for text in texts + [descriptive.place.country].compactMap(\.self) {
      precondition((1...DescriptiveLimits.nameBytes).contains(text.utf8.count) && !text.hasPrefix("geo:"), text)
      precondition(!text.unicodeScalars.contains { $0.properties.generalCategory == .control }, text)
    }
    precondition(descriptive.caption.map { (1...DescriptiveLimits.captionBytes).contains($0.utf8.count) } ?? true)
  }

  private static func segment(_ marker: UInt8, _ content: [UInt8]) -> [UInt8] {
    let content = content.prefix(65_533)
    return [0xFF, marker, UInt8((content.count + 2) >> 8), UInt8((content.count + 2) & 255)] + content
  }

  private static func check(_ segment: [UInt8]) {
    let file = Seeds.picture.prefix(2) + segment + Seeds.picture.dropFirst(2) + Seeds.thumbnail
    let source = MemoryByteSource(Array(file))
    guard let header = try? ImageHeader.read(from: source, limits: PictureTarget.limits) else {
      preconditionFailure("metadata made a sound file unreadable")
    }
    for request in [
      ImageRequest(targetSize: .size(PixelSize(width: 400, height: 400)), format: .jpeg),
      ImageRequest(targetSize: .size(PixelSize(width: 30, height: 30)), contentMode: .aspectFill, format: .png),
    ] {
      PictureTarget.thumbnails(header, source, request)
    }
  }
}
