import PhotoModel
import Testing

@Suite("Sized requests")
struct SizedRequestTests {
  private static let upright = PixelSize(width: 400, height: 300)
  private static let request = ImageRequest(targetSize: .size(PixelSize(width: 100, height: 100)))

  @Test("the sizes are those of the expected picture, or of the actual one if its size differs")
  func actualSize() {
    let sized = SizedRequest(Self.request, upright: Self.upright)
    #expect(sized.sizes == SizeRules(Self.request, upright: Self.upright))
    #expect(sized.sizes(of: Self.upright) == sized.sizes)
    let other = Self.upright.transposed
    #expect(sized.sizes(of: other) == SizeRules(Self.request, upright: other))
  }

  @Test("the final frame has the same sizes and options in every delivery mode", arguments: DeliveryMode.allCases)
  func finalFrame(_ mode: DeliveryMode) {
    var request = Self.request
    request.deliveryMode = mode
    request.allowsSecondaryDegradedImage = true
    let final = SizedRequest(request, upright: Self.upright).forFinalFrame
    #expect(final == SizedRequest(Self.request, upright: Self.upright))
  }
}
