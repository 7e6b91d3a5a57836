/// A photograph followed by previews, as cameras write it (CIPA DC-007).
package struct MultiPictureFile: Sendable {
  /// Complete JPEGs with their MP type codes: 0x010001 is a large thumbnail of VGA class, 0x010002 of full HD.
  package var previews: [(type: Int, bytes: [UInt8])]
  package var isBigEndian = false

  package init(previews: [(type: Int, bytes: [UInt8])]) {
    self.previews = previews
  }

  /// - Parameter photograph: a JPEG; the index is inserted after its APPn segments.
  package func encoded(_ photograph: [UInt8]) -> [UInt8] {
    var position = 2
    while photograph[position] == 0xFF, (0xE0...0xEF).contains(photograph[position + 1]) {
      position += 2 + Int(photograph[position + 2]) << 8 + Int(photograph[position + 3])
    }
    // The segment's head and the signature precede the TIFF header that offsets count from.
    let header = position + 8
    let segmentBytes = 8 + Self.indexBytes(pictures: previews.count + 1)
    let size = photograph.count + segmentBytes
    let index = index(pictureBytes: size, firstOffset: size - header)
    let length = segmentBytes - 2
    var file = Array(photograph[..<position])
    file += [0xFF, 0xE2, UInt8(length >> 8), UInt8(length & 255)] + Array("MPF".utf8) + [0] + index
    file += photograph[position...]
    return previews.reduce(file) { $0 + $1.bytes }
  }

  /// Only the TIFF block, for previews that follow each other directly.
  ///
  /// - Parameters:
  ///   - pictureBytes: the size of the photograph.
  ///   - firstOffset: the start of the first preview, relative to this block.
  package func index(pictureBytes: Int, firstOffset: Int) -> [UInt8] {
    var out = isBigEndian ? Array("MM".utf8) : Array("II".utf8)
    out += number(42, 2) + number(8, 4) + number(3, 2)
    out += number(0xB000, 2) + number(7, 2) + number(4, 4) + Array("0100".utf8)
    out += number(0xB001, 2) + number(4, 2) + number(1, 4) + number(previews.count + 1, 4)
    out += number(0xB002, 2) + number(7, 2) + number(16 * (previews.count + 1), 4) + number(50, 4)
    out += number(0, 4)
    out += number(0x2003_0000, 4) + number(pictureBytes, 4) + number(0, 4) + number(0, 4)
    var offset = firstOffset
    for preview in previews {
      out += number(preview.type, 4) + number(preview.bytes.count, 4) + number(offset, 4) + number(0, 4)
      offset += preview.bytes.count
    }
    return out
  }

  private static func indexBytes(pictures: Int) -> Int { 50 + 16 * pictures }

  private func number(_ value: Int, _ bytes: Int) -> [UInt8] {
    let little = (0..<bytes).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
    return isBigEndian ? little.reversed() : little
  }
}
