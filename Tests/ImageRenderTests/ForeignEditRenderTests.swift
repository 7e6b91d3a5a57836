import Foundation
import ImageCodec
import ImageRender
import MediaMetadata
import PhotoFixtures
import PhotoModel
import Testing

/// The edit of an iPhone with iOS 6, from its XMP to pixels: a picture whose value is known at every point shows, at each
/// size, the values at the points that Core Image's definitions of CIAffineTransform and CICrop name.
@Suite("Rendering edits of other programs")
struct ForeignEditRenderTests {
  private static let size = PixelSize(width: 1632, height: 1224)

  private static func value(_ x: Double, _ y: Double) -> Double { 128 + 60 * sin(x / 97) + 50 * cos(y / 71) }

  private static let file: [UInt8] = {
    var picture = Pixels(width: size.width, height: size.height, channels: 3)
    for y in 0..<size.height {
      for x in 0..<size.width {
        let level = UInt8(value(Double(x) + 0.5, Double(y) + 0.5).rounded())
        for c in 0..<3 { picture.bytes[(y * size.width + x) * 3 + c] = level }
      }
    }
    return JPEGFile {
      $0.quality = 98
      $0.sampling = (1, 1)
    }.encoded(picture)
  }()

  // Straightened by 4.2 degrees about the centre, and cropped: numbers of the form that iOS writes.
  private static let affine = [0.997314, 0.073238, -0.073238, 0.997314, 47.009, -58.118]
  private static let rect = [136.0, 121.0, 1360, 1020]

  private static let packet = """
    <x:xmpmeta xmlns:x="adobe:ns:meta/" x:xmptk="XMP Core 5.1.2">
       <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
          <rdf:Description rdf:about="" xmlns:aas="http://ns.apple.com/adjustment-settings/1.0/">
             \(zip("ABCDXY", affine).map { "<aas:Affine\($0)>\($1)</aas:Affine\($0)>" }.joined(separator: "\n"))
             \(zip("XYWH", rect).map { "<aas:Crop\($0)>\($1)</aas:Crop\($0)>" }.joined(separator: "\n"))
          </rdf:Description>
       </rdf:RDF>
    </x:xmpmeta>
    """

  @Test(
    "the affine map and the crop of iOS 6 show the same at thumbnail and full size",
    arguments: [(nil, 3.0), (300, 4.0), (90, 8.0)] as [(Int?, Double)])
  func affineCrop(_ side: Int?, _ tolerance: Double) throws {
    let edit = try #require(ForeignEdit(xmp: Array(Self.packet.utf8)[...], isSidecar: false))
    let rendering = edit.rendering(of: Self.size, .topLeft, includesTones: false)
    try #require(rendering.unrendered.isEmpty)
    let asked = side.map { request($0, $0) } ?? ImageRequest(format: .png)
    let source = MemoryByteSource(Self.file)
    let header = try ImageHeader.read(from: source, limits: CodecLimits())
    let plan = RenderPlanner().plan(header, header.sized(asked, rendering.operations))
    let renderer = try Renderer(plan, source: source, limits: CodecLimits(), stop: StopFlag())
    let image = try renderer.render()
    let pixels = try #require(Pixels.decoded(image.bytes)).pixels
    #expect(image.size == (side == nil ? PixelSize(width: 1360, height: 1020) : plan.outputSize))
    #expect(abs(Double(pixels.width) / Double(pixels.height) - 4.0 / 3) < 0.02)

    let (a, b, c, d) = (Self.affine[0], Self.affine[1], Self.affine[2], Self.affine[3])
    let determinant = a * d - b * c
    var worst = 0.0
    for y in 0..<pixels.height {
      for x in 0..<pixels.width {
        // A point of the mapped picture, from the bottom left; then of the picture, by the inverse map.
        let px = Self.rect[0] + (Double(x) + 0.5) / Double(pixels.width) * Self.rect[2] - Self.affine[4]
        let py = Self.rect[1] + (1 - (Double(y) + 0.5) / Double(pixels.height)) * Self.rect[3] - Self.affine[5]
        let (fromX, fromY) = ((d * px - c * py) / determinant, (a * py - b * px) / determinant)
        let expected = Self.value(fromX, Double(Self.size.height) - fromY)
        worst = max(worst, abs(expected - Double(pixels.bytes[(y * pixels.width + x) * pixels.channels])))
      }
    }
    #expect(worst < tolerance, "\(worst) levels")
  }
}
