import PhotoModel

// The frames of a GIF (GIF89a §18-26).

extension Animation {
  /// Maximum number of bytes that are read and skipped: blocks between pictures, and the pictures.
  private static let maximumBytes: Int64 = 1 << 30

  static func gif(_ reader: inout HeaderReader, _ limits: CodecLimits) throws(CodecError) -> Animation? {
    let screen = try reader.wholeBytes(at: 6, count: 7)
    let canvas = PixelSize(
      width: screen.littleEndian(at: 0, bytes: 2), height: screen.littleEndian(at: 2, bytes: 2))
    try limits.check(canvas)
    let table = GIFHeader.colorTable(flags: screen.bigEndian(at: 4, bytes: 1), at: 13)
    var position = 13 + Int64(table?.length ?? 0)
    var frames: [Frame] = []
    var plays = 1
    var control = GraphicControl()
    // A file that ends between two frames, or in the head of a frame, has the frames before its end. One that ends in
    // the pixels of a frame has that frame too, which fails later, when it is decoded.
    loop: while position < min(reader.size, maximumBytes) {
      let block = try reader.bytes(at: position, count: 19)
      switch block.first {
      case 0x21:
        if block.count >= 8, block.bigEndian(at: 1, bytes: 1) == 0xF9 { control = GraphicControl(block) }
        if block.count >= 18, GIFHeader.isRepetition(block) {
          // The number of repetitions after the first play; 0: forever.
          let repeats = block.littleEndian(at: 16, bytes: 2)
          plays = repeats == 0 ? 0 : min(repeats + 1, 65_535)
        }
        position = try skipSubBlocks(&reader, position + 2)
      case 0: position += 1
      case 0x2C:
        try check(frames.count, limits)
        let picture: GIFPicture
        do throws(CodecError) {
          picture = try GIFPicture.picture(
            &reader, position, canvas, globalTable: table, transparentIndex: control.transparentIndex, limits)
        } catch {
          if case .truncated = error, !frames.isEmpty { break loop }
          throw error
        }
        guard !picture.frame.isEmpty else { throw .malformed("a picture without pixels", offset: position) }
        frames.append(
          Frame(
            rect: picture.frame, coded: .gif(picture.onItsOwnCanvas), milliseconds: control.milliseconds,
            disposal: control.disposal, isBlended: true))
        control = GraphicControl()
        position = try skipSubBlocks(&reader, picture.data)
      default: break loop
      }
    }
    guard !frames.isEmpty else { return nil }
    return Animation(canvas: canvas, frames: frames, plays: plays, mayEndEarly: position >= reader.size)
  }

  /// §23.
  private struct GraphicControl {
    var transparentIndex: UInt8?
    /// Without a delay, browsers show a frame for a tenth of a second.
    var milliseconds = 100
    var disposal = Disposal.keep

    init() {}

    init(_ block: ArraySlice<UInt8>) {
      let flags = block.bigEndian(at: 3, bytes: 1)
      transparentIndex = flags & 1 != 0 ? UInt8(block.bigEndian(at: 6, bytes: 1)) : nil
      let hundredths = block.littleEndian(at: 4, bytes: 2)
      if hundredths > 1 { milliseconds = hundredths * 10 }
      switch flags >> 2 & 7 {
      case 2: disposal = .clear
      case 3: disposal = .restore
      default: break
      }
    }
  }

  /// §15. At the end of the file, its position.
  private static func skipSubBlocks(_ reader: inout HeaderReader, _ start: Int64) throws(CodecError) -> Int64 {
    var position = start
    while let length = try reader.bytes(at: position, count: 1).first {
      position += 1 + Int64(length)
      if length == 0 { break }
    }
    return min(position, reader.size)
  }
}
