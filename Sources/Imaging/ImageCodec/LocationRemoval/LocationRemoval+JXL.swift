// JPEG XL (ISO/IEC 18181-2): boxes as in other files of boxes. The codestream has no metadata; data that make the
// original JPEG of it are removed, because they may hold everything that came with that file.

import MediaMetadata

extension LocationRemoval {
  /// - Parameter range: the whole file. A codestream without boxes has no locations.
  static func jxl(
    _ range: Range<Int64>, _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) {
    let start = try context.head(of: range, count: ContainerLimits.codestreamHeaderBytes)
    if start.starts(with: JXLBoxes.signature) { return try boxFile(range, &context) }
    do throws(CodecError) {
      _ = try JXLCodestream(start, at: range.lowerBound)
    } catch {
      throw LocationRemovalError(error)
    }
  }

  /// §9.5: the distance from the first four bytes to the TIFF header, then the block. A block that is not EXIF becomes
  /// zeros.
  static func exifBox(_ box: PlacedBox, _ context: inout LocationRemovalContext) throws(LocationRemovalError) {
    let head = try context.head(of: box.content, count: 4)
    guard head.count == 4 else { return try context.zero(box.content) }
    let start = box.content.lowerBound + 4 + Int64(head.bigEndian(at: 0, bytes: 4))
    guard start < box.content.upperBound else { return try context.zero(box.content) }
    // Bytes between the distance and the header have no meaning.
    try context.zero(box.content.lowerBound + 4..<start)
    try exifOfAnyStart(start..<box.content.upperBound, &context)
  }
}
