import PhotoModel

/// The index of a multi-picture file (CIPA DC-007 §5): which further JPEGs lie behind the first, and what they are.
package enum MultiPictureIndex {
  /// What stands before the TIFF header in an APP2 (§5.1).
  package static let signature: [UInt8] = Array("MPF".utf8) + [0]

  /// The index comes early or is not looked for: nothing is worth reading more of a file than this.
  package static let searchedBytes: Int64 = 65_536

  /// A file has a preview or two, and a gain map; more than so many are not looked at.
  private static let maximumPictures = 8

  /// Of previews a renderer looks at so many.
  package static let maximumPreviews = 4

  /// A picture that the index tells of, behind the first.
  package struct Picture: Sendable, Hashable {
    /// What it is for (§5.2.3.3.1): the attribute's low 24 bits.
    package let type: Int
    /// A whole JPEG.
    package let range: ByteRange

    /// A large thumbnail of any class.
    package var isPreview: Bool { type & 0xFF_0000 == 0x01_0000 }
    /// A gain map (DC-007 of 2024).
    package var isGainMap: Bool { type == 0x05_0000 }
    /// It does not say: what it is stands in its own metadata.
    package var isUndefined: Bool { type == 0 }
  }

  /// The pictures behind the first, in the index's order, as far as they lie in the file.
  ///
  /// - Parameters:
  ///   - block: the APP2's content behind the signature.
  ///   - start: where that lies in the file; offsets count from there (§5.2.3.3).
  ///   - fileSize: what lies beyond is not there.
  package static func pictures(_ block: ArraySlice<UInt8>, at start: Int64, fileSize: Int64) -> [Picture] {
    // §5.2.3: MPEntry, 16 bytes for each picture: attribute, size, offset, and two more.
    guard let tiff = TIFFBlock(block), let index = tiff.firstDirectory,
      let entry = index.entries.first(where: { $0.tag == 0xB002 }),
      let table = tiff.number(at: entry.valuePosition, bytes: 4)
    else { return [] }
    var pictures: [Picture] = []
    for i in 0..<entry.count / 16 where pictures.count < maximumPictures {
      guard let attribute = tiff.number(at: table + i * 16, bytes: 4),
        let size = tiff.number(at: table + i * 16 + 4, bytes: 4),
        let offset = tiff.number(at: table + i * 16 + 8, bytes: 4)
      else { break }
      // Stored as a JPEG. The first picture's offset is 0.
      guard attribute >> 24 & 7 == 0, offset > 0, size >= 4, start + Int64(offset) + Int64(size) <= fileSize else {
        continue
      }
      pictures.append(
        Picture(type: attribute & 0xFF_FFFF, range: ByteRange(offset: start + Int64(offset), length: size)))
    }
    return pictures
  }
}
