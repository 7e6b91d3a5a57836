import ImageCodec
import ImageRender
import PhotoFixtures
import PhotoModel
import Testing

extension PaintingDecoder {
  /// Renders a file whose pictures this decoder paints.
  func rendered(_ file: [UInt8], _ request: ImageRequest) throws -> Pixels {
    let source = MemoryByteSource(file)
    let plan = RenderPlanner().plan(try ImageHeader.read(from: source, limits: CodecLimits()), request)
    let renderer = try Renderer(plan, source: source, workers: self, limits: CodecLimits(), stop: StopFlag())
    let image = try renderer.render()
    return try #require(Pixels.decoded(image.bytes)).pixels
  }
}

extension PaintedPicture {
  func rendered(_ request: ImageRequest) throws -> Pixels { try PaintingDecoder(self).rendered(file, request) }
}

extension Pixels {
  /// The largest difference of two samples; `.max` if the shapes differ.
  func largestDifference(from other: Pixels) -> Int {
    guard width == other.width, height == other.height, channels == other.channels else { return .max }
    return zip(bytes, other.bytes).reduce(0) { max($0, abs(Int($1.0) - Int($1.1))) }
  }
}
