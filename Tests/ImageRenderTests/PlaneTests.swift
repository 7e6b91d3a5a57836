import ImageCodec
import ImageRender
import PhotoFixtures
import PhotoModel
import Testing

/// JPEG to JPEG: compares pictures that stay YCbCr with the same pictures rendered in RGB.
@Suite("Rendering in planes")
struct PlaneTests {
  struct Kind: CustomTestStringConvertible {
    let testDescription: String
    let file: JPEGFile

    init(_ name: String, _ change: (inout JPEGFile) -> Void) {
      testDescription = name
      file = JPEGFile {
        $0.quality = 96
        change(&$0)
      }
    }
  }

  static let kinds = [
    Kind("4:2:0") { _ in }, Kind("4:4:4") { $0.sampling = (1, 1) }, Kind("4:2:2") { $0.sampling = (2, 1) },
    Kind("4:4:0") { $0.sampling = (1, 2) }, Kind("4:1:1") { $0.sampling = (4, 1) },
    Kind("2x4 luma") { $0.sampling = (2, 4) }, Kind("1x4 luma") { $0.sampling = (1, 4) },
    Kind("progressive") { $0.isProgressive = true },
  ]

  private static func plan(_ file: [UInt8], _ request: ImageRequest) throws -> RenderPlan {
    RenderPlanner().plan(try ImageHeader.read(from: MemoryByteSource(file), limits: CodecLimits()), request)
  }

  private static func jpeg(
    _ width: Int, _ height: Int, quality: Int, _ mode: ContentMode = .aspectFit
  ) -> ImageRequest {
    ImageRequest(
      targetSize: .size(PixelSize(width: width, height: height)), contentMode: mode, format: .jpeg, quality: quality)
  }

  @Test("every sampling is rendered at every DCT scale, in even and odd sizes", arguments: kinds, [90, 96])
  func samplings(_ kind: Kind, _ quality: Int) throws {
    let scene = Scene(seed: 9, grain: 1).pixels(width: 643, height: 427)
    let file = kind.file.encoded(scene)
    for width in [41, 66, 131, 264, 397, 643] {
      let request = Self.jpeg(width, 1000, quality: quality)
      #expect(try !Self.plan(file, request).planes.isEmpty)
      let (_, planar, _) = try render(file, request)
      let reference = scene.averaged(width: planar.width, height: planar.height)
      let difference = try #require(planar.channels(3).meanDifference(from: reference))
      #expect(difference < 5, "at \(width)")
    }
  }

  @Test(
    "planes are turned upright like RGB, in even and odd sizes",
    arguments: 1...8, [(64, 48), (63, 47), (57, 43)])
  func orientations(_ number: Int, _ target: (Int, Int)) throws {
    // Coloured stripes a few pixels wide: a chroma plane that is half a pixel off is visible.
    var upright = Pixels(width: target.0 * 4, height: target.1 * 4, channels: 3)
    for y in 0..<upright.height {
      for x in 0..<upright.width {
        let color: [UInt8] = x < y ? [200, 40, 40] : x / 12 % 2 == 0 ? [40, 60, 200] : [60, 180, 60]
        upright.bytes.replaceSubrange((y * upright.width + x) * 3..<(y * upright.width + x) * 3 + 3, with: color)
      }
    }
    let file = JPEGFile {
      $0.sampling = (1, 1)
      $0.quality = 98
      $0.exif = EXIFBlock { $0.orientation = number }
    }.encoded(upright.stored(orientation: number))
    let (_, byRGB, _) = try render(file, request(target.0, target.1))
    for quality in [90, 98] {
      let jpeg = Self.jpeg(target.0, target.1, quality: quality)
      #expect(try !Self.plan(file, jpeg).planes.isEmpty)
      let (_, planar, _) = try render(file, jpeg)
      #expect((planar.width, planar.height) == (byRGB.width, byRGB.height))
      // libjpeg's own encoding of the RGB picture at the same quality and sampling differs as much.
      let encoded = JPEGFile {
        $0.sampling = quality > 90 ? (1, 1) : (2, 2)
        $0.quality = quality
      }.encoded(byRGB.channels(3))
      let lost = try #require(Pixels.decoded(encoded)?.pixels.channels(3).meanDifference(from: byRGB.channels(3)))
      let difference = try #require(planar.channels(3).meanDifference(from: byRGB.channels(3)))
      #expect(difference < lost + 0.7, "quality \(quality)")
    }
  }

  @Test("planes are filled and cropped at the centre")
  func fill() throws {
    let scene = Scene(seed: 31, grain: 1).pixels(width: 800, height: 600)
    let file = JPEGFile { $0.quality = 95 }.encoded(scene)
    let request = Self.jpeg(150, 151, quality: 95, .aspectFill)
    #expect(try !Self.plan(file, request).planes.isEmpty)
    let (_, planar, _) = try render(file, request)
    let (_, byRGB, _) = try render(
      file, ImageRequest(targetSize: request.targetSize, contentMode: .aspectFill, format: .png))
    #expect(try #require(planar.channels(3).meanDifference(from: byRGB.channels(3))) < 2)
  }

  @Test("rendering at the original size loses only what the encoder rounds")
  func identity() throws {
    let scene = Scene(seed: 3, grain: 1).pixels(width: 331, height: 217)
    let file = JPEGFile { $0.quality = 90 }.encoded(scene)
    let whole = try #require(Pixels.decoded(file)).pixels
    // With the file's own tables: those of final frames round other coefficients.
    let (_, same, _) = try render(file, ImageRequest(deliveryMode: .fastFormat, format: .jpeg, quality: 90))
    #expect(try #require(same.meanDifference(from: whole)) < 0.1)
  }

  @Test("a source that delivers few bytes at a time gives the same picture", arguments: [false, true])
  func waiting(_ isProgressive: Bool) throws {
    let file = JPEGFile { $0.isProgressive = isProgressive }.encoded(Scene(seed: 4).pixels(width: 300, height: 200))
    let request = Self.jpeg(77, 77, quality: 82)
    let whole = try render(file, request).image.bytes
    let trickled = try render(file, request) { TrickleSource($0, headerBytes: 1024) }.image.bytes
    #expect(whole == trickled)
  }

  @Test("small crops, enlarged pictures and sources other than YCbCr are rendered in RGB")
  func byRows() throws {
    let scene = Scene(seed: 3).pixels(width: 320, height: 200)
    let file = JPEGFile { _ in }.encoded(scene)
    var little = Self.jpeg(50, 50, quality: 82)
    little.normalizedCropRect = UnitRect(x: 0.4, y: 0.4, width: 0.2, height: 0.2)
    #expect(try Self.plan(file, little).planes.isEmpty)
    #expect(try Self.plan(file, request(50, 50)).planes.isEmpty)
    let rgb = JPEGFile { $0.color = .rgb }.encoded(scene)
    #expect(try Self.plan(rgb, Self.jpeg(50, 50, quality: 82)).planes.isEmpty)
  }
}
