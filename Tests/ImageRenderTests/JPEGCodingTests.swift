import ImageCodec
import ImageRender
import PhotoFixtures
import PhotoModel
import Testing

@Suite("How JPEGs are coded")
struct JPEGCodingTests {
  private static let scene = Scene(seed: 9, grain: 4).pixels(width: 640, height: 640)
  private static let jpeg = JPEGFile { $0.quality = 95 }.encoded(scene)
  private static let png = PNGFile(.rgb(depth: 8)).encoded(scene)

  private func rendered(_ file: [UInt8], _ side: Int, _ delivery: DeliveryMode, quality: Int? = nil) throws -> (
    bytes: [UInt8], psnr: Double
  ) {
    let request = ImageRequest(
      targetSize: .size(PixelSize(width: side, height: side)), deliveryMode: delivery, format: .jpeg, quality: quality)
    let (image, pixels, _) = try render(file, request)
    return (image.bytes, try #require(pixels.channels(3).psnr(against: Self.scene.averaged(width: side, height: side))))
  }

  @Test(
    "final frames from 4 megapixels on are progressive; smaller ones, quick ones and those of a fast size are baseline")
  func scans() throws {
    #expect(JPEGCoding.minimumProgressivePixels == 2000 * 2000)
    let strip = Scene(seed: 9, grain: 4).pixels(width: 2100, height: 100)
    let large = Pixels(
      width: 2100, height: 2100, channels: 3, bytes: Array(repeatElement(strip.bytes, count: 21).joined()))
    let file = JPEGFile { $0.quality = 95 }.encoded(large)
    // Colours stay in planes; gray comes as rows.
    for (side, delivery, resizeMode, tone, isProgressive) in [
      (1999, DeliveryMode.highQualityFormat, ResizeMode.exact, Tone.color, false),
      (2000, .highQualityFormat, .exact, .color, true), (2000, .highQualityFormat, .exact, .gray, true),
      (2000, .fastFormat, .exact, .color, false), (2000, .highQualityFormat, .fast, .color, false),
    ] {
      var request = ImageRequest(
        targetSize: .size(PixelSize(width: side, height: side)), resizeMode: resizeMode, deliveryMode: delivery,
        format: .jpeg)
      request.tone = tone
      let facts = try #require(
        JPEGFacts(try render(file, request).image.bytes, maximumPixels: large.width * large.height))
      #expect(facts.isProgressive == isProgressive, "\(side) \(delivery) \(resizeMode) \(tone)")
      #expect(facts.warningCount == 0 && facts.width >= side && facts.components == (tone == .color ? 3 : 1))
    }
  }

  @Test("a frame of the same quality takes fewer bytes than with the tables of T.81", arguments: [30, 60, 82, 90])
  func bytes(_ quality: Int) throws {
    for side in [200, 400] {
      let quick = try rendered(Self.png, side, .fastFormat, quality: quality)
      let final = try rendered(Self.png, side, .highQualityFormat, quality: quality)
      #expect(final.bytes.count < quick.bytes.count, "\(side)")
      #expect(final.psnr > quick.psnr - 0.6, "\(side)")
    }
  }

  @Test("final frames have the first coefficients of Robidoux's table up to quality 90, and quick ones those of T.81")
  func tables() throws {
    func table(_ file: [UInt8]) throws -> [UInt8] {
      let start = try #require(file.firstRange(of: [0xFF, 0xDB])).upperBound + 3
      return Array(file[start..<start + 6])
    }
    // At quality 50 the scale is 1 with T.81's tables; in zigzag order.
    #expect(try table(rendered(Self.png, 100, .fastFormat, quality: 50).bytes) == [16, 11, 12, 14, 12, 10])
    let tuned = try table(rendered(Self.png, 100, .highQualityFormat, quality: 50).bytes)
    #expect(Set(tuned).count <= 3 && tuned[0] == tuned[1] && tuned[0] == tuned[2])
    // With full colour resolution both have those of T.81, at the same scale.
    let full = try table(rendered(Self.png, 100, .highQualityFormat, quality: 91).bytes)
    #expect(try table(rendered(Self.png, 100, .fastFormat, quality: 91).bytes) == full)
    #expect(try table(rendered(Self.png, 100, .highQualityFormat, quality: 90).bytes) != full)
  }

  @Test("derivatives are as quick to decode as a JPEG can be")
  func derivatives() throws {
    let ladder = DerivativeLadder.standard
    let size = PixelSize(width: 4000, height: 3000)
    for rung in ladder.rungs(of: size) {
      #expect(ladder.request(for: rung, of: size, hasAlpha: false).deliveryMode == .fastFormat)
    }
  }
}
