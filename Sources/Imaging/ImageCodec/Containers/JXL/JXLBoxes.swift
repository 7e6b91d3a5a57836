// Finds the codestream and the metadata of a JPEG XL file: a codestream as such, or boxes (ISO/IEC 18181-2).

import MediaMetadata
import PhotoModel

struct JXLBoxes {
  /// The first box (§6.2).
  static let signature: [UInt8] = [0, 0, 0, 0x0C, 0x4A, 0x58, 0x4C, 0x20, 0x0D, 0x0A, 0x87, 0x0A]

  /// The ranges that are the codestream, in order.
  private(set) var codestream: [Range<Int64>] = []
  /// The metadata blocks: EXIF after the distance to its TIFF header, and XMP.
  private(set) var exif: Range<Int64>?
  private(set) var xmp: Range<Int64>?
  /// The same, compressed with Brotli (§9.6), as cjxl writes the metadata of JPEGs.
  private(set) var compressedEXIF: Range<Int64>?
  private(set) var compressedXMP: Range<Int64>?
  /// Whether the picture was a JPEG, whose blocks the codestream has.
  private(set) var isJPEG = false

  /// - Throws: `malformed` without a codestream or with parts in another order, and errors of boxes.
  init(_ reader: HeaderReader) throws(CodecError) {
    var boxes = BoxReader(reader)
    guard try boxes.reader.bytes(at: 0, count: Self.signature.count).elementsEqual(Self.signature) else {
      codestream = [0..<reader.size]
      return
    }
    var position: Int64 = 0
    var isComplete = false
    while let box = try boxes.next(&position, before: boxes.fileSize) {
      switch box.type {
      case "jxlc":
        guard codestream.isEmpty else { throw Self.severalCodestreams(box) }
        codestream = [box.content]
        isComplete = true
      case "jxlp":
        if isComplete { throw Self.severalCodestreams(box) }
        isComplete = try addPart(box, &boxes)
      case "jbrd": isJPEG = true
      case "Exif": exif = exif ?? box.content
      case "xml ": xmp = xmp ?? box.content
      case "brob":
        var fields = try boxes.fields(of: box, atMost: 4)
        let type = try fields.type()
        let content = box.content.lowerBound + 4..<box.content.upperBound
        switch type {
        case "Exif": compressedEXIF = compressedEXIF ?? content
        case "xml ": compressedXMP = compressedXMP ?? content
        default: break
        }
      default: break
      }
    }
    if codestream.isEmpty { throw .malformed("a JPEG XL file without a codestream", offset: boxes.fileSize) }
  }

  /// §9.9: the number of the part, with the highest bit set in the last one. Returns whether it is the last one.
  private mutating func addPart(_ box: Box, _ boxes: inout BoxReader) throws(CodecError) -> Bool {
    var fields = try boxes.fields(of: box, atMost: 4)
    let number = try fields.number(4)
    guard number & 0x7FFF_FFFF == codestream.count else {
      throw .malformed("parts of a JPEG XL codestream in another order", offset: box.content.lowerBound)
    }
    guard codestream.count < ContainerLimits.codestreamParts else {
      throw .limitExceeded(
        "the number of parts of the codestream", limit: ContainerLimits.codestreamParts, found: codestream.count + 1)
    }
    codestream.append(box.content.lowerBound + 4..<box.content.upperBound)
    return number & 0x8000_0000 != 0
  }

  private static func severalCodestreams(_ box: Box) -> CodecError {
    .malformed("a JPEG XL file with several codestreams", offset: box.content.lowerBound)
  }

  /// The codestream's header.
  func header(_ reader: inout HeaderReader) throws(CodecError) -> JXLCodestream {
    var bytes: [UInt8] = []
    for part in codestream where bytes.count < ContainerLimits.codestreamHeaderBytes {
      let wanted = min(Int64(ContainerLimits.codestreamHeaderBytes - bytes.count), part.upperBound - part.lowerBound)
      bytes += try reader.bytes(at: part.lowerBound, count: Int(wanted))
    }
    return try JXLCodestream(bytes[...], at: codestream.first?.lowerBound ?? 0)
  }
}

/// Reads JPEG XL headers for the catalogue.
///
/// Only the codestream's orientation counts: a decoder applies it, and not EXIF's (ISO/IEC 18181-2 §9.5).
enum JXLHeader {
  static func read(_ reader: inout HeaderReader) throws(CodecError) -> MediaHeader {
    let boxes = try JXLBoxes(reader)
    let codestream = try boxes.header(&reader)
    var header = MediaHeader(format: .jxl, storedSize: codestream.size)
    header.orientation = codestream.orientation
    header.hasAlpha = codestream.hasAlpha
    header.facts.isAnimated = codestream.isAnimated
    if let exif = boxes.exif { try parseEXIF(exif, &header, &reader) }
    if let xmp = boxes.xmp { try header.parse(xmp: xmp, &reader) }
    if boxes.exif == nil, let exif = boxes.compressedEXIF {
      parseEXIF(try expanded(exif, EXIFSummary.maximumBytes, &reader)[...], at: nil, length: 0, &header)
    }
    if boxes.xmp == nil, let xmp = boxes.compressedXMP {
      let packet = try expanded(xmp, XMPPacket.maximumBytes, &reader)
      header.facts.read(xmp: packet[...])
      header.facts.readDescription(xmp: packet[...], besides: header.exif)
    }
    return header
  }

  /// The first bytes of a compressed block: at most `limit`, from as many bytes of the file.
  private static func expanded(
    _ range: Range<Int64>, _ limit: Int, _ reader: inout HeaderReader
  ) throws(CodecError) -> [UInt8] {
    let count = Int(min(Int64(limit), range.upperBound - range.lowerBound))
    return BrotliBlock.prefix(of: try reader.bytes(at: range.lowerBound, count: count), limit: limit)
  }

  /// §9.5: the distance from these four bytes to the TIFF header, then the block.
  private static func parseEXIF(
    _ exif: Range<Int64>, _ header: inout MediaHeader, _ reader: inout HeaderReader
  ) throws(CodecError) {
    let wanted = min(Int64(EXIFSummary.maximumBytes), exif.upperBound - exif.lowerBound)
    parseEXIF(
      try reader.bytes(at: exif.lowerBound, count: Int(wanted)), at: exif.lowerBound,
      length: Int(clamping: exif.upperBound - exif.lowerBound), &header)
  }

  /// - Parameters:
  ///   - bytes: the first ones of the box.
  ///   - offset: the box's position in the file; `nil` if the file has it in another form.
  private static func parseEXIF(
    _ bytes: ArraySlice<UInt8>, at offset: Int64?, length: Int, _ header: inout MediaHeader
  ) {
    guard bytes.count > 12 else { return }
    let start = 4 + bytes.bigEndian(at: 0, bytes: 4)
    guard start < bytes.count, TIFFBlock(bytes.dropFirst(start)) != nil else { return }
    header.parse(exif: bytes.dropFirst(start), at: offset.map { $0 + Int64(start) }, length: length - start)
    // A thumbnail has the orientation of its EXIF block, which can differ from the codestream's.
    if header.exif.orientation != header.orientation { header.thumbnail = nil }
  }
}
