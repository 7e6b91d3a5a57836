import PhotoModel

/// The index of a multi-picture file (CIPA DC-007 §5): which further JPEGs lie behind the first, and what they are.
package enum MultiPictureIndex {
  /// What stands before the TIFF header in an APP2 (§5.1).
  package static let signature: [UInt8] = Array("MPF".utf8) + [0]

  /// The index comes early or is not looked for: nothing is worth reading more of a file than this.
  package static let searchedBytes: Int64 = 65_536

  /// A file has one preview or two; more than so many are not looked at.
  private static let maximumPreviews = 4

  /// The previews that the index tells of, in its order.
  ///
  /// - Parameters:
  ///   - block: the APP2's content behind the signature.
  ///   - start: where that lies in the file; offsets count from there (§5.2.3.3).
  ///   - fileSize: what lies beyond is not there.
  package static func previews(_ block: ArraySlice<UInt8>, at start: Int64, fileSize: Int64) -> [ByteRange] {
    // §5.2.3: MPEntry, 16 bytes for each picture: attribute, size, offset, and two more.
    guard let tiff = TIFFBlock(block), let index = tiff.firstDirectory,
      let entry = index.entries.first(where: { $0.tag == 0xB002 }),
      let table = tiff.number(at: entry.valuePosition, bytes: 4)
    else { return [] }
    var previews: [ByteRange] = []
    for i in 0..<entry.count / 16 where previews.count < maximumPreviews {
      guard let attribute = tiff.number(at: table + i * 16, bytes: 4),
        let size = tiff.number(at: table + i * 16 + 4, bytes: 4),
        let offset = tiff.number(at: table + i * 16 + 8, bytes: 4)
      else { break }
      // §5.2.3.3.1: a large thumbnail of any class, stored as a JPEG. The first picture's offset is 0.
      let isPreview = attribute & 0xFF_0000 == 0x01_0000 && attribute >> 24 & 7 == 0
      guard isPreview, offset > 0, size >= 4, start + Int64(offset) + Int64(size) <= fileSize else { continue }
      previews.append(ByteRange(offset: start + Int64(offset), length: size))
    }
    return previews
  }
}
