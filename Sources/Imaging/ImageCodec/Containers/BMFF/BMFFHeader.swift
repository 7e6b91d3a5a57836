import PhotoModel

/// Reads files of boxes (ISO/IEC 14496-12): HEIF, AVIF, CR3, QuickTime and MP4.
enum BMFFHeader {
  /// The type of the box in which Adobe's programs (XMP specification part 3 §1.2.6) and Canon's cameras store an XMP
  /// packet.
  static let xmp: [UInt8] = [
    0xBE, 0x7A, 0xCF, 0xCB, 0x97, 0xA9, 0x42, 0xE8, 0x9C, 0x71, 0x99, 0x94, 0x91, 0xE3, 0xAF, 0xAC,
  ]

  static func read(
    _ reader: HeaderReader, _ type: FileType, _ selection: TIFFMetadata.Selection
  ) throws(CodecError) -> MediaHeader {
    if type.isAudio { throw .unsupported("an MPEG-4 file with sound only") }
    var boxes = BoxReader(reader)
    let isPicture = type.format.mediaType == .image && !type.format.isRAW
    var movie: Box?
    var xmpPacket: Range<Int64>?
    var position: Int64 = 0
    var trailingBoxes = 0
    // The movie box may come after all its samples. Boxes after it are searched only briefly.
    while trailingBoxes <= ContainerLimits.trailingBoxes, let box = try boxes.next(&position, before: boxes.fileSize) {
      switch box.type {
      case "meta" where isPicture:
        var header = try HEIFHeader.read(&boxes, meta: box, type.format)
        header.facts.isAnimated = type.isSequence
        return header
      case "moov" where movie == nil: movie = box
      case "uuid":
        if xmpPacket == nil { xmpPacket = try boxes.content(of: box, ofType: xmp) }
      // A fragmented movie has one of these boxes for each fragment.
      case "moof" where movie != nil: trailingBoxes = ContainerLimits.trailingBoxes
      default: break
      }
      if movie != nil { trailingBoxes += 1 }
    }
    guard let movie else {
      if boxes.fileEndsInBox { throw .truncated(offset: boxes.fileSize) }
      throw .malformed("\(type.format.noun) without the box that describes it", offset: nil)
    }
    if type.format == .cr3 { return try CR3Header.read(&boxes, movie: movie, xmpPacket, selection) }
    var header = try MovieHeader.read(&boxes, movie: movie, type.format, xmpPacket)
    header.facts.isAnimated = isPicture
    return header
  }
}
