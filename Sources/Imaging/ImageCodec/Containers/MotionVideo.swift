// Finds the video inside of a motion photo: by XMP, by the `mpvd` box of a HEIF, or in Samsung's trailer. Reads some
// hundred bytes at the positions that the file states, and returns only a range that begins like a movie.

import MediaMetadata
import PhotoModel

package enum MotionVideo {
  /// Maximum bytes of the directory of Samsung's trailer.
  private static let maximumDirectoryBytes: Int64 = 1 << 16
  /// Maximum blocks of that directory that are examined.
  private static let maximumBlocks = 256
  /// Maximum boxes before the video's in a HEIF.
  private static let maximumBoxes = 64

  /// The position of the video in a picture; `nil` if there is none.
  ///
  /// Reads nothing unless the header says that the picture is live, or that Samsung made it.
  package static func range(in source: any ByteSource, _ header: MediaHeader) throws(CodecError) -> ByteRange? {
    guard header.format.mediaType == .image else { return nil }
    let isLive = header.facts.subtypes.contains(.photoLive)
    let isSamsungs = header.exif.make?.lowercased().hasPrefix("samsung") == true
    guard isLive || isSamsungs else { return nil }
    var reader = HeaderReader(source: source)
    reader.windowBytes = 64
    // Samsung's XMP counts up to the end of the file, so its length includes the end of the trailer.
    if let range = try trailer(source, &reader) { return range }
    guard isLive else { return nil }
    for block in header.blocks where block.kind == .xmp {
      let packet = try source.codecBytes(
        at: block.range.offset, count: min(block.range.length, XMPPacket.maximumBytes))
      for position in MotionPhotoXMP(packet[...]).positions where position.distance <= source.size {
        let start = source.size - Int64(position.distance)
        if let range = try video(at: start, length: Int64(position.length), &reader) { return range }
      }
    }
    return header.format == .jpeg ? nil : try box(&reader)
  }

  /// The range, if a movie begins there (ISO 14496-12 §4.3: `ftyp` comes first).
  private static func video(
    at start: Int64, length: Int64, _ reader: inout HeaderReader
  ) throws(CodecError) -> ByteRange? {
    guard start > 0, length >= 16, length <= reader.size - start else { return nil }
    let head = try reader.bytes(at: start, count: 8)
    guard head.count == 8, head.dropFirst(4).elementsEqual("ftyp".utf8) else { return nil }
    return ByteRange(offset: start, length: Int(length))
  }

  /// The content of a HEIF's top-level box `mpvd` (Motion Photo format 1.0).
  private static func box(_ reader: inout HeaderReader) throws(CodecError) -> ByteRange? {
    var position: Int64 = 0
    for _ in 0..<maximumBoxes {
      let head = try reader.bytes(at: position, count: 16)
      guard head.count == 16 else { return nil }
      let isLong = head.bigEndian(at: 0, bytes: 4) == 1
      // The highest bit of a 64-bit size would make it negative.
      guard !isLong || head[head.startIndex + 8] < 0x80 else { return nil }
      let headBytes: Int64 = isLong ? 16 : 8
      var size = Int64(isLong ? head.bigEndian(at: 8, bytes: 8) : head.bigEndian(at: 0, bytes: 4))
      // To the end of the file.
      if size == 0 { size = reader.size - position }
      guard size >= headBytes, size <= reader.size - position else { return nil }
      if head.dropFirst(4).prefix(4).elementsEqual("mpvd".utf8) {
        return try video(at: position + headBytes, length: size - headBytes, &reader)
      }
      position += size
    }
    return nil
  }

  /// The block `MotionPhoto_Data` of Samsung's trailer: blocks with their names, a directory with the distance of each
  /// from itself, its length, `SEFT`.
  private static func trailer(
    _ source: any ByteSource, _ reader: inout HeaderReader
  ) throws(CodecError) -> ByteRange? {
    let end = source.size - 8
    guard end > 0 else { return nil }
    let tail = try reader.bytes(at: end, count: 8)
    guard tail.count == 8, tail.dropFirst(4).elementsEqual("SEFT".utf8) else { return nil }
    let length = Int64(tail.littleEndian(at: 0, bytes: 4))
    guard length >= 12, length <= min(end, maximumDirectoryBytes) else { return nil }
    let directory = end - length
    let entries = Array(try reader.bytes(at: directory, count: Int(length)))
    guard entries.count == Int(length), entries.starts(with: Array("SEFH".utf8)) else { return nil }
    let count = entries[...].littleEndian(at: 8, bytes: 4)
    guard count <= (entries.count - 12) / 12 else { return nil }
    let name = Array("MotionPhoto_Data".utf8)
    for i in 0..<min(count, maximumBlocks) {
      let start = directory - Int64(entries[...].littleEndian(at: 16 + 12 * i, bytes: 4))
      let size = Int64(entries[...].littleEndian(at: 20 + 12 * i, bytes: 4))
      let head = Int64(8 + name.count)
      guard start > 0, size > head, size <= directory - start else { continue }
      let block = try reader.bytes(at: start, count: Int(head))
      guard block.count == Int(head), block.littleEndian(at: 4, bytes: 4) == name.count,
        block.dropFirst(8).elementsEqual(name)
      else { continue }
      return try video(at: start + head, length: size - head, &reader)
    }
    return nil
  }
}
