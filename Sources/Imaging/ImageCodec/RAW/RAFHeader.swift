import PhotoModel

/// Reads Fujifilm's RAF: a header of fixed fields, which refers to a JPEG with all metadata and to a directory of
/// Fujifilm's own (ExifTool, "FujiFilm RAF Header Tags").
enum RAFHeader {
  /// The start of the file, before a version, the camera's number and its name.
  static let signature = Array("FUJIFILMCCD-RAW ".utf8)
  /// The position of the directory's offset in the header.
  private static let directoryPointer: Int64 = 92
  /// The tag of the picture's size without the sensor's borders: height and width, 16 bits each.
  private static let croppedSize = 0x111

  static func read(
    _ reader: inout HeaderReader, _ source: any ByteSource, limits: CodecLimits
  ) throws(CodecError) -> MediaHeader {
    let stored = try size(&reader)
    let jpeg = try RAWPreviews.find(in: source, limits: limits.headerOnly).last
    // Some sensors are turned by 45 degrees, and their rows are not those of the picture.
    let developed = stored.flatMap { size in jpeg?.hasAspect(of: size) ?? true ? size : nil }
    guard let size = developed ?? jpeg?.header.storedSize else {
      throw .malformed("a RAF file whose picture has no size", offset: nil)
    }
    var header = MediaHeader(format: .raf, storedSize: size)
    if let jpeg { try header.parse(metadataOf: jpeg.range, in: source, limits: limits) }
    return header
  }

  /// The size in the directory: a count, then for each entry its tag, the length of its value, and the value.
  private static func size(_ reader: inout HeaderReader) throws(CodecError) -> PixelSize? {
    let start = Int64(try reader.wholeBytes(at: directoryPointer, count: 4).bigEndian(at: 0, bytes: 4))
    let head = try reader.bytes(at: start, count: 4)
    guard start > 0, head.count == 4 else { return nil }
    let count = head.bigEndian(at: 0, bytes: 4)
    if count > ContainerLimits.entries {
      throw .limitExceeded("the number of a directory's entries", limit: ContainerLimits.entries, found: count)
    }
    var position = start + 4
    for _ in 0..<count {
      let entry = try reader.bytes(at: position, count: 8)
      guard entry.count == 8 else { return nil }
      let length = entry.bigEndian(at: 2, bytes: 2)
      if entry.bigEndian(at: 0, bytes: 2) == croppedSize, length == 4 {
        let size = PixelSize(width: entry.bigEndian(at: 6, bytes: 2), height: entry.bigEndian(at: 4, bytes: 2))
        return size.width > 0 && size.height > 0 ? size : nil
      }
      position += 4 + Int64(length)
    }
    return nil
  }
}
