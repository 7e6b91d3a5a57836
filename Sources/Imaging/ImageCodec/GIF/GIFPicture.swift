// Reads where the first picture of a GIF is in its file (GIF89a §18-22). Used by renders only; scans use GIFHeader.

import PhotoModel

/// How a GIF's first picture is coded.
package struct GIFPicture: Sendable, Hashable {
  /// The logical screen.
  let canvas: PixelSize
  /// The picture's place, which may reach beyond the canvas. The rest of the canvas is transparent.
  let frame: PixelRect
  let isInterlaced: Bool
  let transparentIndex: UInt8?
  /// The colours, three bytes each; `nil` if the file has no table.
  let colorTable: ByteRange?
  /// The bits of an index, 1...8; the first codes have one more.
  let indexBits: Int
  /// The position of the first sub-block.
  let data: Int64

  /// The part of the canvas that the picture covers; it may be empty.
  var shown: PixelRect {
    let x = min(frame.x, canvas.width)
    let y = min(frame.y, canvas.height)
    return PixelRect(
      x: x, y: y, width: min(frame.x + frame.width, canvas.width) - x,
      height: min(frame.y + frame.height, canvas.height) - y)
  }

  /// The same picture on a canvas of its own size.
  var onItsOwnCanvas: GIFPicture {
    GIFPicture(
      canvas: frame.size, frame: PixelRect(frame.size), isInterlaced: isInterlaced, transparentIndex: transparentIndex,
      colorTable: colorTable, indexBits: indexBits, data: data)
  }

  var hasAlpha: Bool { transparentIndex != nil || shown != PixelRect(canvas) }

  /// Memory of its decoder: input, codes and colours, a row, and an interlaced picture's indexes.
  var decoderBytes: Int {
    DecoderInput.capacity + LZWStrings.byteCount + LZWStrings.maximumCodes + 16 * 1024 + frame.width
      + (isInterlaced ? shown.width * shown.height : 0)
  }

  static func read(_ reader: inout HeaderReader, limits: CodecLimits) throws(CodecError) -> GIFPicture {
    // §18: the size of the logical screen, and the global colour table after it.
    let screen = try reader.wholeBytes(at: 6, count: 7)
    let canvas = PixelSize(
      width: screen.littleEndian(at: 0, bytes: 2), height: screen.littleEndian(at: 2, bytes: 2))
    let globalTable = GIFHeader.colorTable(flags: screen.bigEndian(at: 4, bytes: 1), at: 13)
    let start = 13 + Int64(globalTable?.length ?? 0)
    var position = start
    var transparentIndex: UInt8?
    while position - start < ContainerLimits.extensionBytes {
      switch try reader.wholeBytes(at: position, count: 1).first {
      case 0x21:
        let label = try reader.wholeBytes(at: position, count: 2).bigEndian(at: 1, bytes: 1)
        // §23: it applies to the next picture or text.
        if label == 0xF9 {
          let block = try reader.wholeBytes(at: position, count: 8)
          guard block.bigEndian(at: 2, bytes: 1) >= 4 else {
            throw .malformed("a graphic control that is too short", offset: position)
          }
          let isTransparent = block.bigEndian(at: 3, bytes: 1) & 1 != 0
          transparentIndex = isTransparent ? UInt8(block.bigEndian(at: 6, bytes: 1)) : nil
        } else if label == 0x01 {
          transparentIndex = nil
        }
        position = try GIFHeader.skipSubBlocks(&reader, position + 2, limit: start)
      // XMP's trailer ends with two terminators; its sub-blocks may have ended at the first.
      case 0: position += 1
      case 0x2C:
        return try picture(
          &reader, position, canvas, globalTable: globalTable, transparentIndex: transparentIndex, limits)
      default: throw .malformed("a GIF without a picture", offset: position)
      }
    }
    throw .limitExceeded(
      "the bytes before the first picture", limit: ContainerLimits.extensionBytes, found: Int(position - start))
  }

  /// §20: place, flags, perhaps a colour table, and the size of the codes.
  static func picture(
    _ reader: inout HeaderReader, _ position: Int64, _ canvas: PixelSize, globalTable: ByteRange?,
    transparentIndex: UInt8?, _ limits: CodecLimits
  ) throws(CodecError) -> GIFPicture {
    let block = try reader.wholeBytes(at: position, count: 10)
    func field(_ at: Int) -> Int { block.littleEndian(at: at, bytes: 2) }
    let frame = PixelRect(x: field(1), y: field(3), width: field(5), height: field(7))
    try limits.check(PixelSize(width: frame.width, height: frame.height))
    let flags = block.bigEndian(at: 9, bytes: 1)
    let table = GIFHeader.colorTable(flags: flags, at: position + 10)
    let codes = position + 10 + Int64(table?.length ?? 0)
    let indexBits = try reader.wholeBytes(at: codes, count: 1).bigEndian(at: 0, bytes: 1)
    // Appendix F: the bits of an index, which is a byte.
    guard 1...8 ~= indexBits else { throw .malformed("an impossible size of codes", offset: codes) }
    return GIFPicture(
      canvas: canvas, frame: frame, isInterlaced: flags & 0x40 != 0, transparentIndex: transparentIndex,
      colorTable: table ?? globalTable, indexBits: indexBits, data: codes + 1)
  }
}

extension PixelRect {
  /// The pixels of both; without pixels if there are none.
  func clamped(to other: PixelRect) -> PixelRect {
    let columns = (x..<x + width).clamped(to: other.x..<other.x + other.width)
    let rows = (y..<y + height).clamped(to: other.y..<other.y + other.height)
    return PixelRect(x: columns.lowerBound, y: rows.lowerBound, width: columns.count, height: rows.count)
  }

  var isEmpty: Bool { width == 0 || height == 0 }
}
