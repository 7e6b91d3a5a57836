// Writes a JPEG with a gain map in both forms that readers know: Ultra HDR Image Format 1.1 (XMP, Google's directory
// and a multi-picture index), and ISO 21496-1.
//
//     SOI, APP0 of the picture
//     APP1  XMP: the directory of the two JPEGs
//     APP2  ISO 21496-1: the versions only
//     APP2  multi-picture index (CIPA DC-007 §5): where the map is
//     the rest of the picture, up to its EOI
//     SOI, APP0 of the map
//     APP1  XMP: the numbers
//     APP2  ISO 21496-1: the numbers
//     the rest of the map

import MediaMetadata
import PhotoModel

package enum GainMapFile {
  /// Bytes that are added to the two JPEGs, an upper estimate.
  package static let addedBytes = 4096

  /// - Parameters:
  ///   - picture: a complete JPEG without XMP.
  ///   - map: a complete JPEG without XMP: gray, or RGB with the numbers for red, green and blue.
  package static func joined(_ picture: [UInt8], map: [UInt8], _ metadata: GainMapMetadata) -> [UInt8] {
    let mapHead =
      segment(0xE1, XMPPacket.signature + Array(metadata.xmpPacket.utf8))
      + segment(0xE2, GainMapMetadata.signature + metadata.isoBlock)
    let mapBytes = map.count + mapHead.count
    let directory = segment(
      0xE1, XMPPacket.signature + Array(GainMapMetadata.directoryPacket(mapBytes: mapBytes).utf8))
    let versions = segment(0xE2, GainMapMetadata.signature + GainMapMetadata.versionBlock)
    let (start, mapStart) = (endOfFirstSegment(picture), endOfFirstSegment(map))
    let indexBytes = 4 + MultiPictureIndex.signature.count + indexLength
    let pictureBytes = picture.count + directory.count + versions.count + indexBytes
    // Offsets count from the index's TIFF header.
    let header = start + directory.count + versions.count + 4 + MultiPictureIndex.signature.count
    let index = segment(
      0xE2,
      MultiPictureIndex.signature
        + index(pictureBytes: pictureBytes, mapBytes: mapBytes, mapOffset: pictureBytes - header))

    var file: [UInt8] = []
    file.reserveCapacity(pictureBytes + mapBytes)
    file += picture[..<start]
    file += directory
    file += versions
    file += index
    file += picture[start...]
    file += map[..<mapStart]
    file += mapHead
    file += map[mapStart...]
    return file
  }

  /// Whether a frame is a file that ``joined(_:map:_:)`` made. Looks at its first segments only.
  package static func isOne(_ bytes: [UInt8]) -> Bool {
    var position = 2
    for _ in 0..<3 {
      guard position + 4 <= bytes.count, bytes[position] == 0xFF, (0xE0...0xE2).contains(bytes[position + 1]) else {
        return false
      }
      let isVersion = bytes[position + 1] == 0xE2
      if isVersion, bytes[(position + 4)...].starts(with: GainMapMetadata.signature) { return true }
      position += 2 + Int(bytes[position + 2]) << 8 + Int(bytes[position + 3])
    }
    return false
  }

  /// The position after SOI and, if it follows, APP0: JFIF wants it first.
  private static func endOfFirstSegment(_ jpeg: [UInt8]) -> Int {
    precondition(jpeg.count > 6 && jpeg[0] == 0xFF && jpeg[1] == 0xD8, "no JPEG")
    guard jpeg[2] == 0xFF, jpeg[3] == 0xE0 else { return 2 }
    return 4 + Int(jpeg[4]) << 8 + Int(jpeg[5])
  }

  private static func segment(_ marker: UInt8, _ content: [UInt8]) -> [UInt8] {
    precondition(content.count <= 65_533, "a segment that is too long")
    return [0xFF, marker] + number(content.count + 2, 2) + content
  }

  private static let indexLength = 8 + 2 + 3 * 12 + 4 + 2 * 16

  /// CIPA DC-007 §5.2.3 with two pictures; big-endian.
  private static func index(pictureBytes: Int, mapBytes: Int, mapOffset: Int) -> [UInt8] {
    let undefined = 7
    let long = 4
    func entry(_ tag: Int, _ type: Int, _ count: Int, _ value: [UInt8]) -> [UInt8] {
      number(tag, 2) + number(type, 2) + number(count, 4) + value
    }
    // The first is the baseline primary picture, the second a JPEG of undefined type.
    let pictures =
      number(0x03_0000, 4) + number(pictureBytes, 4) + number(0, 8) + number(0, 4) + number(mapBytes, 4)
      + number(mapOffset, 4) + number(0, 4)
    let head = Array("MM".utf8) + number(42, 2) + number(8, 4) + number(3, 2)
    let entries =
      entry(0xB000, undefined, 4, Array("0100".utf8)) + entry(0xB001, long, 1, number(2, 4))
      + entry(0xB002, undefined, pictures.count, number(indexLength - pictures.count, 4))
    return head + entries + number(0, 4) + pictures
  }

  private static func number(_ value: Int, _ bytes: Int) -> [UInt8] {
    (0..<bytes).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
  }
}
