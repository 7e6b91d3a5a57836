/// How files contain XMP (ISO 16684-1; XMP specification part 3 for its place in each format).
package enum XMPPacket {
  /// The bytes before the packet in a JPEG's APP1 (part 3 §1.1.3).
  package static let signature: [UInt8] = Array("http://ns.adobe.com/xap/1.0/".utf8) + [0]

  /// The bytes before a part of the extended packet in a JPEG's APP1 (part 3 §1.1.3.1).
  package static let extensionSignature: [UInt8] = Array("http://ns.adobe.com/xmp/extension/".utf8) + [0]

  /// The keyword of a PNG's iTXt chunk that contains a packet (part 3 §1.1.5).
  package static let keyword = "XML:com.adobe.xmp"

  /// The length of a packet that is read for the catalogue.
  package static let maximumBytes = 1 << 18

  /// The property that names the extension, by its GUID (part 3 §1.1.3.1).
  static let extensionKey = "xmpNote:HasExtendedXMP"

  /// Joins the parts of the extended packet with that GUID, which may come in any order; `nil` unless it is complete.
  ///
  /// - Parameter parts: each from its GUID: 32 digits, the length of the whole packet, the position of this part in it,
  ///   and the part's bytes.
  static func joined(_ parts: [ArraySlice<UInt8>], guid: String) -> ArraySlice<UInt8>? {
    let name = Array(guid.utf8)
    guard name.count == 32 else { return nil }
    let own = parts.filter { $0.count > 40 && $0.starts(with: name) }.map { part in
      (
        length: number(part, at: 32), offset: number(part, at: 36), bytes: part.dropFirst(40)
      )
    }.sorted { $0.offset < $1.offset }
    guard let length = own.first?.length, length <= MetadataLimits.packetBytes else { return nil }
    var packet: [UInt8] = []
    packet.reserveCapacity(length)
    for part in own {
      // The file contains the part twice.
      if part.offset < packet.count { continue }
      guard part.offset == packet.count, part.length == length, packet.count + part.bytes.count <= length else {
        return nil
      }
      packet += part.bytes
    }
    return packet.count == length ? packet[...] : nil
  }

  private static func number(_ part: ArraySlice<UInt8>, at position: Int) -> Int {
    part.dropFirst(position).prefix(4).reduce(0) { $0 << 8 | Int($1) }
  }
}
