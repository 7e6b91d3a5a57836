// Whether the sensor data are in the file. LibRaw makes black or random rows of what is missing, often without an
// error, so a file that was cut off is refused before a worker gets it. Only positions are compared with the length of
// the file.

import PhotoModel

extension SensorPicture {
  /// Files whose stated length is not exact are common: so much of the data must be there.
  private static let neededShare = (part: Int64(63), whole: Int64(64))

  /// - Throws: `truncated` if the file ends before its sensor data do; other ``CodecError``s if its structure is
  ///   damaged.
  package func checkSamples(in source: any ByteSource) throws(CodecError) {
    var reader = HeaderReader(source: source)
    let start = try reader.bytes(at: 0, count: FileType.bytes)
    reader.windowBytes = ContainerLimits.windowBytes
    if start.starts(with: RAFHeader.signature) {
      // The offset and the length of the sensor data (ExifTool, "FujiFilm RAF Header Tags").
      let fields = try reader.wholeBytes(at: 100, count: 8)
      try check(fields.bigEndian(at: 0, bytes: 4), fields.bigEndian(at: 4, bytes: 4), source.size)
    } else if TIFFFile.order(start) != nil || TIFFFile.variant(start) != nil {
      let file = try TIFFFile(&reader, in: 0..<reader.size)
      let size = source.size
      try RAWPreviews.walk(file, &reader) { directory, reader throws(CodecError) in
        try check(directory[.stripOffsets], directory[.stripByteCounts], of: file, &reader, size)
        try check(directory[.tileOffsets], directory[.tileByteCounts], of: file, &reader, size)
        try check(directory[PanasonicTag.dataOffset], directory[.stripByteCounts], of: file, &reader, size)
      }
    }
  }

  private func check(
    _ offsets: TIFFFile.Entry?, _ lengths: TIFFFile.Entry?, of file: TIFFFile, _ reader: inout HeaderReader,
    _ size: Int64
  ) throws(CodecError) {
    let offsets = try file.numbers(of: offsets, atMost: ContainerLimits.sensorParts, &reader)
    let lengths = try file.numbers(of: lengths, atMost: ContainerLimits.sensorParts, &reader)
    for (offset, length) in zip(offsets, lengths) {
      // Panasonic's other tag has no offset.
      if offset != Int(UInt32.max) { try check(offset, length, size) }
    }
  }

  private func check(_ offset: Int, _ length: Int, _ size: Int64) throws(CodecError) {
    let needed = Int64(length) / Self.neededShare.whole * Self.neededShare.part
    if Int64(offset) > size - needed { throw .truncated(offset: size) }
  }
}
