import ImageCodec
import PhotoFixtures
import PhotoModel
import Testing

@testable import ImageRender

@Suite("Shared resampling weights")
struct ResampleAxesTests {
  /// Requests that differ in one parameter of their axes each.
  private static let requests = [
    ImageRequest(targetSize: .size(PixelSize(width: 100, height: 100))),
    ImageRequest(targetSize: .size(PixelSize(width: 101, height: 101))),
    ImageRequest(targetSize: .size(PixelSize(width: 100, height: 100)), contentMode: .aspectFill),
  ]

  @Test("plans that share axes equal plans that don't, the second time too")
  func equalPlans() throws {
    let file = JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 320, height: 240))
    let header = try ImageHeader.read(from: MemoryByteSource(file), limits: CodecLimits())
    let planner = RenderPlanner(axes: ResampleAxes(capacityBytes: 4 << 20))
    for _ in 0..<2 {
      for request in Self.requests {
        #expect(planner.plan(header, request) == RenderPlanner().plan(header, request))
      }
    }
  }

  @Test("outputs begin in the order of their inputs, and every input with a weight is read")
  func order() {
    // Also outputs whose centre is that of a sample, and which need this sample only.
    for position in stride(from: 0.0, through: 42.125, by: 2.125) {
      for length in stride(from: 0.75, through: 8, by: 0.25) {
        for outputLength in 1...Int(length.rounded(.up)) {
          let axis = ResampleAxis(inputLength: 51, position: position, length: length, outputLength: outputLength)
          let read = axis.inputRange
          let isInOrder = zip(axis.starts, axis.starts.dropFirst()).allSatisfy { $0 <= $1 }
          let isRead = axis.weights.indices.allSatisfy { index in
            axis.weights[index] == 0 || read.contains(Int(axis.starts[index / axis.taps]) + index % axis.taps)
          }
          #expect(isInOrder && isRead, "\(length) at \(position) to \(outputLength)")
        }
      }
    }
  }

  @Test(
    "axes that differ in one parameter are not taken for each other",
    arguments: [
      (240, nil, 10.0, 200.0, 50), (241, nil, 10, 200, 50), (240, 20..<200, 10, 200, 50), (240, nil, 10.5, 200, 50),
      (240, nil, 10, 201, 50), (240, nil, 10, 200, 51),
    ] as [(Int, Range<Int>?, Double, Double, Int)])
  func distinctAxes(inputLength: Int, bounds: Range<Int>?, position: Double, length: Double, outputLength: Int) {
    let shared = ResampleAxes(capacityBytes: 1 << 20)
    _ = shared.axis(inputLength: 240, position: 10, length: 200, outputLength: 50)
    for _ in 0..<2 {
      let axis = shared.axis(
        inputLength: inputLength, bounds: bounds, position: position, length: length, outputLength: outputLength)
      let fresh = ResampleAxis(
        inputLength: inputLength, bounds: bounds, position: position, length: length, outputLength: outputLength)
      #expect(axis == fresh && axis.starts == fresh.starts && axis.weights == fresh.weights)
      // The forms for the kernels are kept with the axis.
      #expect(axis.fixedPointWeights() == fresh.fixedPointWeights())
      #expect(axis.fixedPointWeights(tapsInMultiplesOf: 8) == fresh.fixedPointWeights(tapsInMultiplesOf: 8))
      #expect(axis.pairedWeights == fresh.pairedWeights)
    }
  }

  @Test("kept axes stay within their limit")
  func limit() {
    let shared = ResampleAxes(capacityBytes: 100_000)
    for outputLength in 1...300 {
      _ = shared.axis(inputLength: 1000, position: 0, length: 1000, outputLength: outputLength)
      #expect(shared.bytesInUse <= 100_000)
    }
    #expect(shared.bytesInUse > 50_000)
  }
}
