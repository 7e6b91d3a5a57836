import ImageCodec
import ImageRender
import PhotoFixtures
import PhotoModel
import Testing

@Suite("Pictures of a fast size")
struct FastSizeTests {
  /// Sides that are multiples of 8, and sides that are rounded down and up at 1/8, 1/4 and 1/2.
  static let sizes = [
    PixelSize(width: 320, height: 240), PixelSize(width: 321, height: 237), PixelSize(width: 324, height: 239),
  ]

  @Test("each pixel is one of the decoder's, and is in its place", arguments: sizes, Array(1...8))
  func pixels(_ size: PixelSize, _ orientation: Int) throws {
    let scene = Scene(seed: 12).pixels(width: size.width, height: size.height)
    let file = JPEGFile {
      ($0.quality, $0.sampling) = (98, (1, 1))
      $0.exif = EXIFBlock { $0.orientation = orientation }
    }.encoded(scene)
    let header = try ImageHeader.read(from: MemoryByteSource(file), limits: CodecLimits())
    for eighths in [1, 2, 4, 8] {
      let stored = PixelSize(width: (2 * size.width * eighths + 8) / 16, height: (2 * size.height * eighths + 8) / 16)
      for format in [OutputFormat.png, .jpeg] {
        let upright = orientation > 4 ? PixelSize(width: stored.height, height: stored.width) : stored
        let request = ImageRequest(
          targetSize: .size(upright), resizeMode: .fast, format: format, quality: format == .jpeg ? 98 : nil)
        let plan = RenderPlanner().plan(header, request)
        #expect(plan.eighths == eighths)
        let axes =
          plan.planes.isEmpty
          ? [plan.horizontal, plan.vertical] : plan.planes.flatMap { [$0.horizontal, $0.vertical] }
        let isResampled = axes.contains { !$0.isIdentity }
        #expect(!isResampled, "\(eighths) of 8, \(format)")
        // What the decoder's pixels cover: the last ones may extend beyond the picture, whose edge is repeated there.
        let side = 8 / eighths
        let expected = scene.mapped(width: stored.width * side, height: stored.height * side) {
          (min($0, size.width - 1), min($1, size.height - 1))
        }.averaged(width: stored.width, height: stored.height)
        let inverse = [6: 8, 8: 6][orientation] ?? orientation
        let picture = try render(file, request).pixels.channels(3)
        let psnr = try #require(picture.psnr(against: expected.stored(orientation: inverse)))
        #expect(psnr > 34, "\(eighths) of 8, \(format): \(psnr)")
      }
    }
  }

  @Test("a shared decode at the same scale gives the same bytes")
  func shared() throws {
    let file = JPEGFile { _ in }.encoded(Scene(seed: 13).pixels(width: 321, height: 237))
    let source = MemoryByteSource(file)
    let header = try ImageHeader.read(from: source, limits: CodecLimits())
    let sides = [(160, ResizeMode.fast), (100, .exact)]
    let wanted = sides.map { side, mode in
      header.sized(ImageRequest(targetSize: .size(PixelSize(width: side, height: side)), resizeMode: mode))
    }
    let plan = try #require(RenderPlanner().sharedPlan(header, wanted).members.first { $0.requestIndex == 0 }).plan
    #expect(plan == RenderPlanner().plan(header, wanted[0]))
  }

  /// A preview of half the developed size, and frames of half the size at which the video is shown: a fast size of the
  /// picture is the whole size of what is decoded.
  static let previewFiles = [
    CR3File {
      ($0.width, $0.height) = (1800, 1200)
      $0.sample = JPEGFile { _ in }.encoded(Scene(seed: 14).pixels(width: 900, height: 600))
    }.bytes,
    CodedMovieSamples.avc { ($0.width, $0.height) = (80, 48) }.bytes,
  ]

  @Test("a fast size of what a preview or a frame stands in for shows all of it", arguments: previewFiles)
  func previewed(_ file: [UInt8]) throws {
    let header = try ImageHeader.read(from: MemoryByteSource(file), limits: CodecLimits())
    let size = header.uprightSize
    #expect(header.requestedSize == PixelSize(width: 2 * size.width, height: 2 * size.height))
    let plan = RenderPlanner().plan(header, ImageRequest(targetSize: .size(size), resizeMode: .fast, format: .png))
    let exact = RenderPlanner().plan(header, ImageRequest(targetSize: .size(size), format: .png))
    #expect(plan == exact && plan.outputSize == size)
  }
}
