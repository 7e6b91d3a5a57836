import ImageService
import PhotoFixtures
import PhotoModel
import Testing

@Suite("RAW originals")
struct RAWOriginalTests {
  private static func jpeg(_ width: Int, _ height: Int) -> [UInt8] {
    JPEGFile { _ in }.encoded(Scene(seed: 2).pixels(width: width, height: height))
  }

  private static let file = CR3File {
    ($0.width, $0.height, $0.details.orientation) = (1200, 800, 1)
    ($0.thumbnail, $0.preview, $0.sample) = (jpeg(150, 100), jpeg(600, 400), jpeg(1200, 800))
  }.bytes

  private func frames(_ side: Int, _ mode: DeliveryMode) async -> [(
    size: PixelSize, source: ImageResult.Source, isFinal: Bool
  )] {
    let harness = ImageManagerHarness()
    var request = ImageRequest(targetSize: .size(PixelSize(width: side, height: side)), format: .jpeg)
    request.deliveryMode = mode
    return await harness.deliveries(harness.originals.add(Self.file), request).compactMap { delivery in
      switch delivery {
      case .degraded(let frame): (frame.result.size, frame.result.source, false)
      case .final(let frame): (frame.result.size, frame.result.source, true)
      default: nil
      }
    }
  }

  @Test("a smaller preview is the degraded frame, then a larger one is the final frame")
  func opportunistic() async {
    let frames = await frames(500, .opportunistic)
    #expect(frames.map(\.isFinal) == [false, true] && frames.map(\.source) == [.embedded, .preview])
    #expect(frames.map(\.size.width) == [150, 500])
  }

  @Test("a frame for which the smallest preview serves has no degraded frame before it")
  func small() async {
    let frames = await frames(120, .opportunistic)
    #expect(frames.map(\.isFinal) == [true] && frames.map(\.source) == [.preview])
  }

  @Test("the largest preview serves the largest size")
  func largest() async {
    let frames = await frames(5000, .highQualityFormat)
    #expect(frames.map(\.size) == [PixelSize(width: 1200, height: 800)] && frames.map(\.source) == [.preview])
  }
}
