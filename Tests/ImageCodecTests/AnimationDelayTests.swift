import ImageCodec
import PhotoFixtures
import PhotoModel
import Testing

@Suite("Delays of APNGs")
struct AnimationDelayTests {
  /// The milliseconds of each frame of an APNG.
  ///
  /// - Parameter delay: of every frame: seconds as a fraction.
  private func milliseconds(_ count: Int, delay: (numerator: Int, denominator: Int)) throws -> [Int] {
    // Signature and IHDR.
    let head = PNGFile(.rgb(depth: 8)).encoded(Pixels(width: 2, height: 2, channels: 3)).prefix(33)
    var file = Array(head) + PNGChunks.chunk("acTL", Boxes.number(count, 4) + Boxes.number(0, 4))
    for frame in 0..<count {
      let place = [0, 2, 2, 0, 0].flatMap { Boxes.number($0, 4) }
      let time = Boxes.number(delay.numerator, 2) + Boxes.number(delay.denominator, 2)
      file += PNGChunks.chunk("fcTL", place + time + [0, 0])
      // Only the decoder reads the pixels.
      file += frame == 0 ? PNGChunks.chunk("IDAT", [1]) : PNGChunks.chunk("fdAT", [0, 0, 0, 1, 1])
    }
    let source = MemoryByteSource(file + PNGChunks.chunk("IEND", []))
    let header = try ImageHeader.read(from: source, limits: CodecLimits())
    let animation = try #require(try Animation.read(from: source, header: header, limits: CodecLimits()))
    return animation.frames.map(\.milliseconds)
  }

  @Test("fractions of milliseconds add up, so an animation takes the time that its delays have together")
  func sums() throws {
    for (count, delay, total) in [
      (60, (1, 60), 1000), (24, (1001, 24_000), 1001), (600, (1, 600), 1000), (75, (1, 30), 2500), (5, (1, 10), 500),
    ] {
      let found = try milliseconds(count, delay: delay)
      #expect(found.count == count && found.reduce(0, +) == total, "\(delay): \(found.reduce(0, +))")
      let exact = Double(total) / Double(count)
      #expect(found.allSatisfy { abs(Double($0) - exact) < 1 }, "\(delay): \(found)")
    }
    #expect(try milliseconds(4, delay: (1, 16)) == [63, 62, 63, 62])
  }

  @Test("each frame is shown for a millisecond at least, and for as long as a WebP can state at most")
  func bounds() throws {
    #expect(try milliseconds(3, delay: (0, 0)) == [1, 1, 1])
    #expect(try milliseconds(3, delay: (1, 10_000)) == [1, 1, 1])
    // A denominator of 0 counts as 100.
    #expect(try milliseconds(2, delay: (7, 0)) == [70, 70])
    #expect(try milliseconds(2, delay: (65_535, 1)) == [0xFF_FFFF, 0xFF_FFFF])
  }
}
