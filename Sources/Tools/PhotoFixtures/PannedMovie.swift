/// A video that every browser plays: a camera that moves over one picture, as AVC (ITU-T H.264) in an MP4.
///
/// No encoder is needed. The key frame holds the samples themselves (I_PCM, §7.3.5); every other frame moves the whole
/// key frame by one vector. Players show the top left part of each frame; the movement brings the rest into it.
package struct PannedMovie: Sendable {
  /// The margin that the picture has at its right and bottom beyond the movie's size.
  private static let border = (x: 160, y: 112)
  private static let framesPerSecond = 25
  /// The number of frames after a key frame; their order is a number of 12 bits.
  private static let framesPerKeyFrame = 100

  private let picture: Pixels
  private let width: Int
  private let height: Int
  private let seconds: Int
  private let created: Int

  /// The size of the picture that a movie of this size needs. Both sides of the movie must be multiples of 16.
  package static func pictureSize(width: Int, height: Int) -> (width: Int, height: Int) {
    (width + border.x, height + border.y)
  }

  /// - Parameters:
  ///   - picture: RGB, of ``pictureSize(width:height:)``.
  ///   - created: seconds since 1904.
  package init(_ picture: Pixels, seconds: Int, created: Int) {
    self.picture = picture
    (width, height) = (picture.width - Self.border.x, picture.height - Self.border.y)
    precondition(width > 0 && height > 0 && picture.width % 16 == 0 && picture.height % 16 == 0)
    self.seconds = seconds
    self.created = created
  }

  package var bytes: [UInt8] {
    let key = keyFrame
    let frames = (0..<seconds * Self.framesPerSecond).map { number in
      let order = number % Self.framesPerKeyFrame
      return order == 0
        ? CodedMovieFile.Frame(key)
        : CodedMovieFile.Frame(movedFrame(order: order, by: vector(number))) { $0.isKey = false }
    }
    let entry = CodedMovieFile.entry("avc1", width, height, CodedMovieFile.avcC(sequenceParameters, pictureParameters))
    return CodedMovieFile(
      entry,
      frames.map { frame in
        var frame = frame
        frame.duration = 1
        return frame
      }
    ) {
      ($0.timescale, $0.width, $0.height, $0.created) = (Self.framesPerSecond, width, height, created)
      $0.hasTrackDuration = true
    }.bytes
  }

  /// The movement of a frame from the key frame, in whole pixels: there and back in four seconds.
  private func vector(_ number: Int) -> (x: Int, y: Int) {
    let period = Self.framesPerKeyFrame
    // A parabola: zero at the key frames, one in the middle.
    func share(of border: Int, _ step: Int) -> Int {
      let position = step % period
      return border * 4 * position * (period - position) / (period * period)
    }
    return (share(of: Self.border.x, number), share(of: Self.border.y, number * 2))
  }

  // §7.3.2.1.1, §E.1.1

  private var sequenceParameters: [UInt8] {
    var bits = AVCBits()
    bits.append(100, 8)
    bits.append(0, 8)
    bits.append(31, 8)
    // Identifier, 4:2:0, eight bits for luma and chroma.
    for value in [0, 1, 0, 0] { bits.appendUnsigned(value) }
    bits.append(0, 2)
    // Frame numbers of 4 bits, orders of 12 bits, one reference frame.
    for value in [0, 0, 8, 1] { bits.appendUnsigned(value) }
    bits.append(0, 1)
    bits.appendUnsigned(picture.width / 16 - 1)
    bits.appendUnsigned(picture.height / 16 - 1)
    bits.append(0b111, 3)
    // Left, right, top, bottom.
    for side in [0, Self.border.x, 0, Self.border.y] { bits.appendUnsigned(side / 2) }
    // Only the restriction that frames are shown in the order in which they are stored.
    bits.append(0b1_0000_0000_1, 10)
    bits.append(1, 1)
    for value in [0, 0, 10, 10, 0, 1] { bits.appendUnsigned(value) }
    return [0x67] + Self.escaped(bits.terminated)
  }

  // §7.3.2.2

  private var pictureParameters: [UInt8] {
    var bits = AVCBits()
    for value in [0, 0] { bits.appendUnsigned(value) }
    bits.append(0, 2)
    for value in [0, 0, 0] { bits.appendUnsigned(value) }
    bits.append(0, 3)
    for _ in 0..<3 { bits.appendUnsigned(0) }
    // Slices say how they are deblocked.
    bits.append(0b100, 3)
    return [0x68] + Self.escaped(bits.terminated)
  }

  /// A slice of samples (§7.3.3, §7.3.5).
  private var keyFrame: [UInt8] {
    var bits = AVCBits()
    for value in [0, 7, 0] { bits.appendUnsigned(value) }
    bits.append(0, 4)
    bits.appendUnsigned(0)
    bits.append(0, 12)
    bits.append(0, 2)
    for value in [0, 1] { bits.appendUnsigned(value) }
    for row in stride(from: 0, to: picture.height, by: 16) {
      for column in stride(from: 0, to: picture.width, by: 16) {
        bits.appendUnsigned(25)
        bits.align()
        bits.append(samples(column, row))
      }
    }
    return unit(0x65, bits.terminated)
  }

  /// A slice that moves the key frame and is not a reference for other frames.
  private func movedFrame(order: Int, by vector: (x: Int, y: Int)) -> [UInt8] {
    var bits = AVCBits()
    for value in [0, 5, 0] { bits.appendUnsigned(value) }
    bits.append(1, 4)
    bits.append(order * 2, 12)
    bits.append(0, 2)
    for value in [0, 1] { bits.appendUnsigned(value) }
    let (columns, rows) = (picture.width / 16, picture.height / 16)
    var skipped = 0
    for block in 0..<columns * rows {
      // Where a neighbour is missing, a skipped block would not move (§8.4.1.1); elsewhere it moves with its
      // neighbours.
      guard vector != (0, 0), block < columns || block % columns == 0 else {
        skipped += 1
        continue
      }
      bits.appendUnsigned(skipped)
      skipped = 0
      bits.appendUnsigned(0)
      // The difference from the neighbours' vector, in quarters of a pixel.
      bits.appendSigned(block == 0 ? vector.x * 4 : 0)
      bits.appendSigned(block == 0 ? vector.y * 4 : 0)
      bits.appendUnsigned(0)
    }
    if skipped > 0 { bits.appendUnsigned(skipped) }
    return unit(0x01, bits.terminated)
  }

  /// The samples of a block: 256 of luma, 64 of each chroma, by BT.601 with limited range.
  private func samples(_ x: Int, _ y: Int) -> [UInt8] {
    func rgb(_ x: Int, _ y: Int) -> (r: Int, g: Int, b: Int) {
      let i = (y * picture.width + x) * 3
      return (Int(picture.bytes[i]), Int(picture.bytes[i + 1]), Int(picture.bytes[i + 2]))
    }
    var luma: [UInt8] = []
    var (blue, red): ([UInt8], [UInt8]) = ([], [])
    for row in 0..<16 {
      for column in 0..<16 {
        let (r, g, b) = rgb(x + column, y + row)
        luma.append(UInt8(16 + (66 * r + 129 * g + 25 * b + 128) >> 8))
        guard row % 2 == 0, column % 2 == 0 else { continue }
        blue.append(UInt8(128 + (-38 * r - 74 * g + 112 * b + 128) >> 8))
        red.append(UInt8(128 + (112 * r - 94 * g - 18 * b + 128) >> 8))
      }
    }
    return luma + blue + red
  }

  /// A NAL unit after its length in four bytes.
  private func unit(_ header: UInt8, _ content: [UInt8]) -> [UInt8] {
    let escaped = Self.escaped(content)
    return Boxes.number(escaped.count + 1, 4) + [header] + escaped
  }

  /// With a 3 between two zeros and a byte below 4 (§7.4.1).
  private static func escaped(_ content: [UInt8]) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(content.count)
    var zeros = 0
    for byte in content {
      if zeros == 2, byte < 4 {
        result.append(3)
        zeros = 0
      }
      result.append(byte)
      zeros = byte == 0 ? zeros + 1 : 0
    }
    return result
  }
}

/// Writes bits, the most significant one first, and Exp-Golomb codes (ITU-T H.264 §9.1).
private struct AVCBits {
  private(set) var bytes: [UInt8] = []
  private var used = 8

  mutating func append(_ value: Int, _ count: Int) {
    for bit in (0..<count).reversed() {
      if used == 8 {
        bytes.append(0)
        used = 0
      }
      bytes[bytes.count - 1] |= UInt8(value >> bit & 1) << (7 - used)
      used += 1
    }
  }

  mutating func appendUnsigned(_ value: Int) {
    let length = (value + 1).bitWidth - (value + 1).leadingZeroBitCount
    append(0, length - 1)
    append(value + 1, length)
  }

  mutating func appendSigned(_ value: Int) { appendUnsigned(value > 0 ? 2 * value - 1 : -2 * value) }

  mutating func align() { used = 8 }

  /// Only after ``align()``.
  mutating func append(_ more: [UInt8]) { bytes += more }

  /// With the stop bit.
  var terminated: [UInt8] {
    var copy = self
    copy.append(1, 1)
    return copy.bytes
  }
}
