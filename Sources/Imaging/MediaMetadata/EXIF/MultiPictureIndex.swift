import PhotoModel

/// The index of a multi-picture file (CIPA DC-007 §5): the JPEGs that follow the first one, and their types.
package enum MultiPictureIndex {
  /// The bytes before the TIFF header in an APP2 (§5.1).
  package static let signature: [UInt8] = Array("MPF".utf8) + [0]

  /// The index entries that are read; a file usually has one or two previews and a gain map.
  private static let maximumPictures = 8

  /// The previews that a renderer considers.
  package static let maximumPreviews = 4

  /// A further picture in the file.
  package struct Picture: Sendable, Hashable {
    /// Its use (§5.2.3.3.1): the attribute's low 24 bits.
    let type: Int
    /// The range of a complete JPEG in the file.
    package let range: ByteRange

    /// A large thumbnail of any class.
    package var isPreview: Bool { type & 0xFF_0000 == 0x01_0000 }
    /// A gain map (DC-007 of 2024).
    package var isGainMap: Bool { type == 0x05_0000 }
    /// The index does not state its use; the picture's own metadata may.
    package var isUndefined: Bool { type == 0 }
  }

  /// The pictures after the first, in the index's order, if they lie within the file.
  ///
  /// - Parameters:
  ///   - block: the APP2's content after the signature.
  ///   - start: the position of `block` in the file; offsets count from there (§5.2.3.3).
  ///   - fileSize: pictures that extend beyond it are omitted.
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
      // Only pictures stored as JPEG. The first picture's offset is 0.
      guard attribute >> 24 & 7 == 0, offset > 0, size >= 4, start + Int64(offset) + Int64(size) <= fileSize else {
        continue
      }
      pictures.append(
        Picture(type: attribute & 0xFF_FFFF, range: ByteRange(offset: start + Int64(offset), length: size)))
    }
    return pictures
  }
}
