import CZlib
import PhotoModel

// The frames of an APNG (PNG third edition §4.9, §11.3.6).

extension Animation {
  /// Chunks of pixels of all frames, which are many in some files.
  private static let maximumChunks = 1 << 20

  static func png(_ reader: inout HeaderReader, _ limits: CodecLimits) throws(CodecError) -> Animation? {
    let start = try reader.wholeBytes(at: 16, count: 8)
    let canvas = PixelSize(width: start.bigEndian(at: 0, bytes: 4), height: start.bigEndian(at: 4, bytes: 4))
    try limits.check(canvas)
    var head = Array(try reader.wholeBytes(at: 0, count: 33))
    var frames: [Frame] = []
    var plays: Int?
    var control: Control?
    var pixels: [ByteRange] = []
    // When the next frame begins, in milliseconds.
    var time = 0.0
    var position: Int64 = 33
    func end(_ frames: inout [Frame]) throws(CodecError) {
      guard let finished = control, !pixels.isEmpty else { return }
      try check(frames.count, limits)
      frames.append(finished.frame(pixels, at: time))
      time += finished.delay
    }
    // A file that ends between two frames, or in the fcTL of a frame, has the frames before its end. One that ends in
    // the pixels of a frame has that frame too, which fails later, when it is read.
    for _ in 0..<maximumChunks {
      let chunk = try reader.bytes(at: position, count: 8)
      guard chunk.count == 8 else { break }
      let length = chunk.bigEndian(at: 0, bytes: 4)
      let content = position + 8
      position = content + Int64(length) + 4
      switch String(decoding: chunk.dropFirst(4), as: UTF8.self) {
      case "acTL" where length == 8:
        plays = try reader.wholeBytes(at: content, count: 8).bigEndian(at: 4, bytes: 4)
      case "PLTE", "tRNS":
        // The limit leaves room for one of each.
        guard length <= 768, head.count < 1 << 11 else { break }
        head += try reader.wholeBytes(at: content - 8, count: length + 12)
      case "fcTL" where length == 26:
        guard plays != nil, position <= reader.size else { break }
        try end(&frames)
        pixels = []
        control = try Control(try reader.wholeBytes(at: content, count: 26), in: canvas, at: content)
      // A picture before the first fcTL is not part of the animation: it is for readers that don't support APNG.
      case "IDAT" where control != nil: pixels.append(ByteRange(offset: content, length: length))
      case "fdAT" where length >= 4:
        guard control != nil else { break }
        pixels.append(ByteRange(offset: content + 4, length: length - 4))
      case "IEND":
        position = .max
      default: break
      }
      if position > reader.size { break }
    }
    try end(&frames)
    guard let plays, !frames.isEmpty else { return nil }
    var animation = Animation(canvas: canvas, frames: frames, plays: min(plays, 65_535))
    animation.pngHead = head
    animation.mayEndEarly = position != .max
    return animation
  }

  /// §11.3.6.2.
  private struct Control {
    let rect: PixelRect
    /// Milliseconds, often not a whole number: a sixtieth of a second is 16 2/3 ms.
    let delay: Double
    let disposal: Disposal
    let isBlended: Bool

    init(_ bytes: ArraySlice<UInt8>, in canvas: PixelSize, at position: Int64) throws(CodecError) {
      func number(_ at: Int, _ count: Int = 4) -> Int { bytes.bigEndian(at: at, bytes: count) }
      rect = PixelRect(x: number(12), y: number(16), width: number(4), height: number(8))
      guard rect.width > 0, rect.height > 0, rect.x + rect.width <= canvas.width,
        rect.y + rect.height <= canvas.height
      else { throw .malformed("a frame beyond its canvas", offset: position) }
      let denominator = number(22, 2)
      delay = Double(number(20, 2) * 1000) / Double(denominator == 0 ? 100 : denominator)
      switch number(24, 1) {
      case 1: disposal = .clear
      case 2: disposal = .restore
      default: disposal = .keep
      }
      isBlended = number(25, 1) == 1
    }

    /// - Parameter time: when the frame begins, in milliseconds.
    func frame(_ pixels: [ByteRange], at time: Double) -> Frame {
      // Rounds the start times of frames and not the delays, whose rounding errors would add up.
      let milliseconds = Int((time + delay).rounded()) - Int(time.rounded())
      return Frame(
        rect: rect, coded: .png(pixels), milliseconds: min(max(1, milliseconds), 0xFF_FFFF), disposal: disposal,
        isBlended: isBlended)
    }
  }

  static func pngFile(
    head: [UInt8], size: PixelSize, _ ranges: [ByteRange], _ reader: inout HeaderReader
  ) throws(CodecError) -> [UInt8] {
    // More than any encoder makes, even of RGBA with 16 bits a channel.
    let limit = size.pixelCount * 8 + size.height + size.pixelCount / 8 + (64 << 10)
    let total = ranges.reduce(0) { $0 + $1.length + 12 }
    guard total <= limit else { throw .limitExceeded("the size of a frame's data", limit: limit, found: total) }
    // Signature and IHDR with the frame's own size, then the colours.
    var file: [UInt8] = []
    file.reserveCapacity(total + head.count + 64)
    file += Array(head.prefix(16)) + number(size.width) + number(size.height) + head[24..<29]
    file += number(checksum(file[12..<29])) + head[33...]
    for range in ranges {
      let start = file.count
      file += number(range.length) + Array("IDAT".utf8)
      file += try reader.wholeBytes(at: range.offset, count: range.length)
      file += number(checksum(file[(start + 4)...]))
    }
    return file + number(0) + Array("IEND".utf8) + [0xAE, 0x42, 0x60, 0x82]
  }

  private static func number(_ value: Int) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) }
  }

  private static func checksum(_ bytes: ArraySlice<UInt8>) -> Int {
    bytes.withUnsafeBufferPointer { Int(crc32_z(0, $0.baseAddress, $0.count)) }
  }
}
