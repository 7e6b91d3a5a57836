import ImageCodec
import ImageRender
import PhotoFixtures
import PhotoModel
import Testing

/// Renders an adjusted picture, and reads the result back.
func renderAdjusted(
  _ file: [UInt8], _ request: ImageRequest, _ operations: [AdjustmentOperation], keepsAlpha: Bool = false
) throws -> (image: RenderedImage, pixels: Pixels) {
  let source = MemoryByteSource(file)
  let header = try ImageHeader.read(from: source, limits: CodecLimits())
  let plan = RenderPlanner().plan(header, header.sized(request, Adjustments(operations)))
  let renderer = try Renderer(plan, source: source, limits: CodecLimits(), stop: StopFlag())
  let image = try renderer.render()
  let decoded = try #require(Pixels.decoded(image.bytes))
  #expect(image.size == PixelSize(width: decoded.pixels.width, height: decoded.pixels.height))
  #expect(image.size == plan.outputSize)
  return (image, keepsAlpha ? decoded.pixels : decoded.pixels.channels(3))
}
