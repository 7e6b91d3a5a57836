/// Signed manifests of C2PA: boxes of JUMBF (ISO 19566-5) with statements as JSON or CBOR, and thumbnails.
package enum ManifestLocations {
  /// Words in small letters that announce a location, metadata of a thumbnail, or boxes that are compressed and can't
  /// be examined (`brob`). Statements may be EXIF as JSON or CBOR.
  private static let words = [
    "latitude", "longitude", "location", "city", "country", "exif", "xmpmeta", "rdf:rdf", "com.adobe.xmp",
    "ns.adobe.com/xap", "8bim", "brob",
  ]
  .map { Array($0.utf8) }

  /// The changes of a manifest. One that may hold a location becomes zeros as a whole: it is signed, so no part of it
  /// can be edited, and removing other locations of the file invalidates its signature anyway. `brob` also appears by
  /// chance in about one of some hundred manifests of a megabyte, which is then removed too.
  ///
  /// - Parameter manifest: the boxes. Letters are compared without case.
  package static func patches(_ manifest: ArraySlice<UInt8>) -> [BlockPatch] {
    let capitals = UInt8(ascii: "A")...UInt8(ascii: "Z")
    let lowercased: [UInt8] = manifest.map { capitals.contains($0) ? $0 + 32 : $0 }
    guard words.contains(where: { XMPPacket.contains($0, in: lowercased[...]) }) else { return [] }
    return BlockPatch.differences(from: manifest, to: [UInt8](repeating: 0, count: manifest.count))
  }
}
