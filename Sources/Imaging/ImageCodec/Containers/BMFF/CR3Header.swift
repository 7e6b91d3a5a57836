import MediaMetadata
import PhotoModel

/// Reads Canon's CR3: a movie of pictures, with a Canon box in which each EXIF directory is a separate TIFF.
enum CR3Header {
  /// The type of the box with Canon's directories.
  static let canon: [UInt8] = [
    0x85, 0xC0, 0xB6, 0x87, 0x82, 0x0F, 0x11, 0xE0, 0x81, 0x11, 0xF4, 0xCE, 0x46, 0x2B, 0x6A, 0x48,
  ]

  static func read(
    _ boxes: inout BoxReader, movie: Box, _ xmpPacket: Range<Int64>?, _ selection: TIFFMetadata.Selection
  ) throws(CodecError) -> MediaHeader {
    let (directories, track) = try contents(of: movie, &boxes)
    guard let first = directories["CMT1"] else {
      throw .malformed("a CR3 file without Canon's directories", offset: movie.content.lowerBound)
    }
    let (metadata, sizes) = try metadata(first, directories, selection, &boxes)
    let known = (sizes + [track?.size]).compactMap(\.self)
    guard let size = known.first(where: { $0.width > 0 && $0.height > 0 }) else {
      throw .malformed("a CR3 file whose picture has no size", offset: movie.content.lowerBound)
    }

    var header = MediaHeader(format: .cr3, storedSize: size)
    header.add(metadata)
    if let box = directories["THMB"] { header.thumbnail = try thumbnail(&boxes, box) }
    if let xmpPacket { try header.parse(xmp: xmpPacket, &boxes.reader) }
    return header
  }

  /// Canon's directories by their types, and the first track, which is the full picture.
  private static func contents(
    of movie: Box, _ boxes: inout BoxReader
  ) throws(CodecError) -> (directories: [FourCC: Box], track: MovieTrack?) {
    var directories: [FourCC: Box] = [:]
    var track: MovieTrack?
    var position = movie.content.lowerBound
    while let box = try boxes.next(&position, before: movie.content.upperBound) {
      switch box.type {
      case "uuid":
        guard let own = try boxes.content(of: box, ofType: canon) else { break }
        var position = own.lowerBound
        while let box = try boxes.next(&position, before: own.upperBound) {
          directories[box.type] = directories[box.type] ?? box
        }
      case "trak" where track == nil: track = try MovieTrack(&boxes, track: box)
      default: break
      }
    }
    return (directories, track)
  }

  /// Reads the first directory, and those of EXIF and of GPS. Also returns the sizes that they state.
  private static func metadata(
    _ first: Box, _ directories: [FourCC: Box], _ selection: TIFFMetadata.Selection, _ boxes: inout BoxReader
  ) throws(CodecError) -> (metadata: TIFFMetadata, sizes: [PixelSize?]) {
    let file = try TIFFFile(&boxes.reader, in: first.content)
    var metadata = TIFFMetadata(isBigEndian: file.isBigEndian, selection)
    var sizes: [PixelSize?] = []
    if let directory = try file.directory(at: file.firstOffset, &boxes.reader) {
      try metadata.takeFirst(directory, of: file, &boxes.reader)
      sizes.append(try size(directory, .imageWidth, .imageLength, in: file, &boxes))
    }
    if let box = directories["CMT2"] {
      let file = try TIFFFile(&boxes.reader, in: box.content)
      if let directory = try file.directory(at: file.firstOffset, &boxes.reader) {
        try metadata.takeEXIF(directory, of: file, &boxes.reader)
        sizes.append(try size(directory, .pixelXDimension, .pixelYDimension, in: file, &boxes))
      }
    }
    if let box = directories["CMT4"] {
      let file = try TIFFFile(&boxes.reader, in: box.content)
      if let directory = try file.directory(at: file.firstOffset, &boxes.reader) {
        try metadata.takeGPS(directory, of: file, &boxes.reader)
      }
    }
    return (metadata, sizes)
  }

  private static func size(
    _ directory: TIFFFile.Directory, _ width: TIFFTag, _ height: TIFFTag, in file: TIFFFile, _ boxes: inout BoxReader
  ) throws(CodecError) -> PixelSize? {
    guard let width = try file.number(of: directory[width], &boxes.reader),
      let height = try file.number(of: directory[height], &boxes.reader)
    else { return nil }
    return PixelSize(width: width, height: height)
  }

  /// Reads the thumbnail box: version and flags, width and height, the JPEG's length, two more numbers, the JPEG.
  private static func thumbnail(_ boxes: inout BoxReader, _ box: Box) throws(CodecError) -> ByteRange? {
    var fields = try boxes.fields(of: box, atMost: 18)
    guard box.content.count >= 18 else { return nil }
    _ = try fields.take(8)
    let length = try fields.number(4)
    _ = try fields.take(4)
    guard length >= 4, length <= box.content.count - 16, try fields.number(2) == 0xFFD8 else { return nil }
    return ByteRange(offset: box.content.lowerBound + 16, length: length)
  }
}
