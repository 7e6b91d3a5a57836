import MediaMetadata
import PhotoFixtures
import PhotoModel
import Testing

@testable import ImageCodec
@testable import ImageRender

@Suite("Rendering WebP")
struct WebPRenderTests {
  private func webP(_ frame: PixelRect? = nil, hasAlpha: Bool = false, _ canvas: PixelSize) -> ImageHeader {
    var header = ImageHeader(
      format: .webp, storedSize: canvas, colorChannels: 3, hasAlpha: hasAlpha, bitsPerChannel: 8, isProgressive: false,
      isBuffered: false, metadata: EXIFSummary())
    header.coded = .webP(
      WebPPicture(
        picture: ByteRange(offset: 0, length: 1), isLossless: false, hasAlpha: hasAlpha, canvas: canvas, frame: frame))
    return header
  }

  @Test("a WebP is scaled by its decoder, with alpha or without", arguments: [false, true], [8, 40])
  func webPScale(_ hasAlpha: Bool, _ side: Int) throws {
    let size = PixelSize(width: 131, height: 61)
    let header = webP(hasAlpha: hasAlpha, size)
    let plan = RenderPlanner().plan(header, request(side, side))
    #expect(plan.eighths == (side == 8 ? 1 : 4))
    let renderer = try Renderer(
      plan, source: MemoryByteSource([0]), workers: PaintingDecoder(), limits: CodecLimits(), stop: StopFlag())
    let image = try renderer.render()
    let pixels = try #require(Pixels.decoded(image.bytes)).pixels
    let painted = PaintedPicture {
      $0.size = size
      $0.hasAlpha = hasAlpha
    }
    let expected = painted.pixels.averaged(width: pixels.width, height: pixels.height)
    // Colours of pixels with alpha are weighted by it, so only the alpha itself is compared.
    let channels = hasAlpha ? [3] : [0, 1, 2]
    let sum = (0..<pixels.width * pixels.height).reduce(0) { sum, i in
      channels.reduce(sum) { $0 + abs(Int(pixels.bytes[i * 4 + $1]) - Int(expected.bytes[i * expected.channels + $1])) }
    }
    #expect(sum < 6 * channels.count * pixels.width * pixels.height)
  }

  @Test("a frame that is smaller than its canvas is placed on transparent pixels")
  func webPFrame() throws {
    let canvas = PixelSize(width: 90, height: 70)
    let frame = PixelRect(x: 20, y: 30, width: 50, height: 25)
    let header = webP(frame, hasAlpha: true, canvas)
    let plan = RenderPlanner().plan(header, ImageRequest(targetSize: .maximum, format: .png))
    let renderer = try Renderer(
      plan, source: MemoryByteSource([0]), workers: PaintingDecoder(), limits: CodecLimits(), stop: StopFlag())
    let image = try renderer.render()
    let pixels = try #require(Pixels.decoded(image.bytes)).pixels
    let painted = PaintedPicture {
      $0.size = frame.size
      $0.hasAlpha = true
    }
    let part = pixels.cropped(x: frame.x, y: frame.y, width: frame.width, height: frame.height)
    #expect(part.largestDifference(from: painted.pixels) == 0)
    for (x, y) in [(0, 0), (19, 40), (70, 40), (40, 29), (40, 55), (89, 69)] {
      #expect(pixels.bytes[(y * canvas.width + x) * 4 + 3] == 0, "\(x), \(y)")
    }
  }
}
