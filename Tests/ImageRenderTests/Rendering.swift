import ImageCodec
import ImageRender
import PhotoFixtures
import PhotoModel
import Testing

/// Renders a file in memory as the image manager does, and reads the result back with libjpeg and libpng directly.
func render(
  _ file: [UInt8], _ request: ImageRequest, limits: CodecLimits = CodecLimits(),
  source: ((any ByteSource) -> any ByteSource)? = nil
) throws -> (image: RenderedImage, pixels: Pixels, channels: Int) {
  let source = source.map { $0(MemoryByteSource(file)) } ?? MemoryByteSource(file)
  let header = try ImageHeader.read(from: MemoryByteSource(file), limits: limits)
  let plan = RenderPlanner().plan(header, request)
  let renderer = try Renderer(plan, source: source, limits: limits, stop: StopFlag())
  var image: RenderedImage?
  while image == nil { image = try renderer.resume() }
  let rendered = try #require(image)
  let decoded = try #require(Pixels.decoded(rendered.bytes))
  #expect(rendered.size == PixelSize(width: decoded.pixels.width, height: decoded.pixels.height))
  return (rendered, decoded.pixels, decoded.fileChannels)
}

func request(
  _ width: Int, _ height: Int, _ contentMode: ContentMode = .aspectFit, _ format: OutputFormat = .png,
  crop: UnitRect? = nil
) -> ImageRequest {
  ImageRequest(
    targetSize: .size(PixelSize(width: width, height: height)), contentMode: contentMode, normalizedCropRect: crop,
    format: format)
}
