/// Removes the locations in Photoshop's image resources (Photoshop file formats, "Image Resources Section"): IPTC, EXIF
/// and XMP inside of them. The digest of the IPTC datasets follows them, if it was right before.
enum ImageResourceLocations {
  private struct Resource {
    let identifier: Int
    let content: Range<Int>
  }

  /// The signatures that readers accept.
  private static let signatures = ["8BIM", "PHUT", "DCSR", "AgHg", "MeSa"].map { Array($0.utf8) }

  /// - Parameter block: the resources, after the signature of a JPEG's segment, all segments joined.
  static func find(
    in block: ArraySlice<UInt8>, removing facts: PrivateFacts
  ) throws(LocationRemovalError) -> LocationBlocks.Directories {
    let bytes = Array(block)
    var found = LocationBlocks.Directories()
    let (resources, end) = resources(of: bytes)
    for resource in resources {
      let content = bytes[resource.content]
      switch resource.identifier {
      case 0x0404:
        let patches = IPTCLocations.patches(content)
        add(patches, at: resource.content.lowerBound, to: &found)
        if !patches.isEmpty { updateDigest(bytes, resource, patches, resources, &found) }
      case 0x0424: add(XMPLocations.patches(content, removing: facts), at: resource.content.lowerBound, to: &found)
      case 0x0422, 0x0423:
        guard content.count >= 8 else { break }
        let inner = try LocationBlocks.exif(
          content.starts(with: EXIFSummary.signature) ? content.dropFirst(6) : content, removing: facts)
        let start =
          resource.content.lowerBound + (content.starts(with: EXIFSummary.signature) ? EXIFSummary.signature.count : 0)
        add(inner.patches, at: start, to: &found)
        found.pictures += inner.pictures.map { $0.lowerBound + start..<$0.upperBound + start }
      default: break
      }
    }
    // Bytes that are not understood could contain datasets that another reader finds.
    let rest = bytes[end...]
    if rest.contains(0x1C) || rest.contains(UInt8(ascii: "<")) {
      add(
        BlockPatch.differences(from: rest, to: [UInt8](repeating: 0, count: rest.count)), at: end, to: &found)
    }
    return found
  }

  private static func add(_ patches: [BlockPatch], at start: Int, to found: inout LocationBlocks.Directories) {
    found.patches += patches.map { BlockPatch(offset: $0.offset + start, bytes: $0.bytes) }
  }

  /// The resources, and the end of the bytes that were understood.
  private static func resources(of bytes: [UInt8]) -> ([Resource], end: Int) {
    var resources: [Resource] = []
    var position = 0
    while position + 12 <= bytes.count, signatures.contains(where: { bytes[position...].starts(with: $0) }) {
      // After the identifier comes a Pascal string, padded to an even length.
      let name = (Int(bytes[position + 6]) + 2) & ~1
      let content = position + 6 + name + 4
      guard content <= bytes.count else { break }
      let length = bytes[content - 4..<content].reduce(0) { $0 << 8 | Int($1) }
      guard length <= bytes.count - content else { break }
      resources.append(
        Resource(
          identifier: Int(bytes[position + 4]) << 8 | Int(bytes[position + 5]), content: content..<content + length))
      position = min(content + length + length % 2, bytes.count)
    }
    return (resources, position)
  }

  /// Resource 0x0425 is the MD5 of the IPTC datasets when their XMP equivalent was written.
  private static func updateDigest(
    _ bytes: [UInt8], _ datasets: Resource, _ patches: [BlockPatch], _ resources: [Resource],
    _ found: inout LocationBlocks.Directories
  ) {
    for digest in resources where digest.identifier == 0x0425 && digest.content.count == 16 {
      guard bytes[digest.content].elementsEqual(MD5.digest(bytes[datasets.content])) else { continue }
      var edited = Array(bytes[datasets.content])
      for patch in patches {
        edited.replaceSubrange(patch.offset..<patch.offset + patch.bytes.count, with: patch.bytes)
      }
      add(
        BlockPatch.differences(from: bytes[digest.content], to: MD5.digest(edited)), at: digest.content.lowerBound,
        to: &found)
    }
  }
}
