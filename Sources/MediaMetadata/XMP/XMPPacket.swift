/// How files carry XMP (ISO 16684-1; XMP specification part 3 for where it lies in each format).
package enum XMPPacket {
  /// What stands before the packet in a JPEG's APP1 (part 3 §1.1.3).
  package static let signature: [UInt8] = Array("http://ns.adobe.com/xap/1.0/".utf8) + [0]

  /// What stands before a part of the extended packet in a JPEG's APP1 (part 3 §1.1.3.1).
  package static let extensionSignature: [UInt8] = Array("http://ns.adobe.com/xmp/extension/".utf8) + [0]

  /// The keyword of a PNG's iTXt that holds a packet (part 3 §1.1.5).
  package static let keyword = "XML:com.adobe.xmp"

  /// What of a packet is looked at.
  package static let maximumBytes = 1 << 20
}
