import ImageCodec
import ImageRender
import PhotoFixtures
import PhotoModel
import Testing

@Suite("Small JPEGs")
struct SmallJPEGTests {
  /// Brighter from left to right and from top to bottom, so that each pixel that counts too much changes the mean.
  private static func ramp(_ side: Int) -> Pixels {
    var pixels = Pixels(width: side, height: side, channels: 3)
    for i in 0..<side * side {
      let gray = UInt8(20 + 105 * (i % side) / (side - 1) + 105 * (i / side) / (side - 1))
      for c in 0..<3 { pixels.bytes[i * 3 + c] = gray }
    }
    return pixels
  }

  @Test(
    "one pixel has the mean of all, also if the sides end within a block", arguments: [9, 12, 16, 17, 25, 33, 41, 65])
  func mean(_ side: Int) throws {
    let ramp = Self.ramp(side)
    for isProgressive in [false, true] {
      let file = JPEGFile {
        $0.quality = 100
        $0.isProgressive = isProgressive
      }.encoded(ramp)
      for format in [OutputFormat.png, .jpeg] {
        let made = try render(file, request(1, 1, .aspectFit, format)).pixels.average[0]
        #expect(abs(made - ramp.average[0]) < 2.5, "\(made) instead of \(ramp.average[0]), \(format)")
      }
    }
  }

  @Test(
    "one that is decoded at its full size has no degraded frame, which would not be quicker",
    arguments: [(120, true), (121, false), (129, true)])
  func degraded(_ side: Int, _ hasDegradedFrame: Bool) throws {
    let file = JPEGFile { $0.isProgressive = true }.encoded(Self.ramp(side))
    let header = try ImageHeader.read(from: MemoryByteSource(file), limits: CodecLimits())
    let plan = RenderPlanner().degradedPlan(header, header.sized(ImageRequest()))
    #expect((plan != nil) == hasDegradedFrame)
  }
}
