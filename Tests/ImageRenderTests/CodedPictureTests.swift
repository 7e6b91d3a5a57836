import PhotoFixtures
import PhotoModel
import Testing

@testable import ImageCodec
@testable import ImageRender

@Suite("Pictures that workers decode")
struct CodedPictureTests {
  private let whole = ImageRequest(targetSize: .maximum, format: .png)

  static let conversions: [(Int, YCbCrConversion.Matrix)] = [
    (6, .weights(red: 0.299, blue: 0.114)), (1, .weights(red: 0.2126, blue: 0.0722)),
    (9, .weights(red: 0.2627, blue: 0.0593)), (0, .identity), (8, .yCgCo),
  ]

  @Test(
    "samples become the RGB of H.273, for each subsampling, depth, range and matrix",
    arguments: [ChromaSampling.none, .half, .halfWidth, .full], conversions.indices)
  func colors(_ chroma: ChromaSampling, _ matrix: Int) throws {
    for (depth, isFullRange) in [(8, true), (8, false), (10, true), (10, false)] {
      let picture = PaintedPicture {
        ($0.chroma, $0.bitDepth, $0.matrix) = (chroma, depth, Self.conversions[matrix].0)
        $0.conversion = YCbCrConversion(matrix: Self.conversions[matrix].1, isFullRange: isFullRange)
      }
      let pixels = try picture.rendered(whole)
      #expect(
        pixels.channels(3).largestDifference(from: picture.pixels) <= 1,
        "\(depth) bits, \(isFullRange ? "full" : "limited")")
    }
  }

  static let turns: [(Int, Int?, Orientation)] = [
    (0, nil, .topLeft), (0, 0, .bottomLeft), (0, 1, .topRight), (1, nil, .leftBottom), (1, 0, .leftTop),
    (1, 1, .rightBottom), (2, nil, .bottomRight), (3, nil, .rightTop),
  ]

  @Test("rotation, mirroring and crop of the container give the upright picture", arguments: turns)
  func upright(_ turns: Int, _ axis: Int?, _ orientation: Orientation) throws {
    for isCropped in [false, true] { try compare(turns, axis, orientation, isCropped) }
  }

  private func compare(_ turns: Int, _ axis: Int?, _ orientation: Orientation, _ isCropped: Bool) throws {
    let crop = isCropped ? PixelRect(x: 17, y: 6, width: 101, height: 43) : nil
    let picture = PaintedPicture {
      // The centre of the crop is 2 to the right of the picture's, and 3 above it.
      if isCropped { $0.properties.append(CodedHEIFFile.clap([101, 1, 43, 1, 2, 1, -3, 1])) }
      if turns > 0 { $0.properties.append(CodedHEIFFile.irot(turns)) }
      if let axis { $0.properties.append(CodedHEIFFile.imir(axis)) }
    }
    let expected = picture.upright(orientation, crop: crop)
    #expect(try picture.rendered(whole).channels(3).largestDifference(from: expected) <= 1)
    // Smaller, and the right half.
    let part = try picture.rendered(
      request(expected.width / 3, expected.height / 3, crop: UnitRect(x: 0.5, y: 0, width: 0.5, height: 1)))
    let (x, width) = (expected.width / 2, expected.width - expected.width / 2)
    let half = expected.cropped(x: x, y: 0, width: width, height: expected.height)
      .averaged(width: part.width, height: part.height)
    #expect(try #require(part.channels(3).meanDifference(from: half)) < 6)
  }

  @Test("alpha is kept in a PNG and blended over white in a JPEG")
  func alpha() throws {
    let picture = PaintedPicture { $0.hasAlpha = true }
    let decoder = PaintingDecoder(picture)
    let png = try decoder.rendered(picture.file, whole)
    #expect(decoder.requests.count == 2)
    #expect(png.largestDifference(from: picture.pixels) <= 1)
    let jpeg = try picture.rendered(ImageRequest(targetSize: .maximum, format: .jpeg, quality: 100)).channels(3)
    let painted = picture.pixels
    var blended = painted.channels(3)
    for i in 0..<blended.bytes.count {
      let alpha = Int(painted.bytes[i / 3 * 4 + 3])
      blended.bytes[i] = UInt8((Int(blended.bytes[i]) * alpha + 255 * (255 - alpha)) / 255)
    }
    #expect(try #require(jpeg.psnr(against: blended)) > 28)
  }

  @Test("colours that are multiplied by alpha are divided by it", arguments: [8, 10])
  func premultiplied(_ depth: Int) throws {
    let picture = PaintedPicture { ($0.hasAlpha, $0.isPremultiplied, $0.bitDepth) = (true, true, depth) }
    let rendered = try picture.rendered(whole)
    let painted = picture.pixels
    try #require(rendered.bytes.count == painted.bytes.count && rendered.channels == 4)
    // Multiplied again, colours are the painted ones, but never greater than alpha.
    var largest = 0.0
    var isBlackWhereTransparent = true
    for i in rendered.bytes.indices {
      let alpha = Double(painted.bytes[i / 4 * 4 + 3])
      let (value, expected) = (Double(rendered.bytes[i]), Double(painted.bytes[i]))
      if i % 4 < 3 && alpha == 0 { isBlackWhereTransparent = isBlackWhereTransparent && value == 0 }
      largest = max(largest, i % 4 == 3 ? abs(value - alpha) : abs(value * alpha / 255 - min(expected, alpha)))
    }
    #expect(largest <= 1.5 && isBlackWhereTransparent)
  }

  @Test("one decode makes a frame and all derivatives, whatever scale they need")
  func sharing() throws {
    let picture = PaintedPicture {
      ($0.columns, $0.rows, $0.tile) = (3, 3, PixelSize(width: 64, height: 64))
      $0.size = PixelSize(width: 192, height: 192)
    }
    let header = try picture.header
    let requests = [12, 60, 96].map { header.sized(request($0, $0)) }
    let plan = RenderPlanner().sharedPlan(header, [requests[0]], extras: Array(requests.dropFirst()))
    #expect(plan.members.count == 3 && plan.eighths == 8)
    let decoder = PaintingDecoder(picture)
    let renderer = try SharedRenderer(
      plan, source: MemoryByteSource(picture.file), workers: decoder, limits: CodecLimits(),
      stops: plan.members.map { _ in StopFlag() })
    var sizes: [Int: PixelSize] = [:]
    #expect(renderer.resume { sizes[$0] = try? $1.get().size })
    #expect(sizes.values.map(\.width).sorted() == [12, 60, 96])
    #expect(decoder.requests.count == 1)
  }

  @Test("a decoder that leaves out rows gives an error, and so does one that is missing")
  func failures() throws {
    let picture = PaintedPicture()
    #expect(throws: CodecError.malformed("a decoder that left out rows", offset: nil)) {
      try PaintingDecoder(picture, lastBand: 20).rendered(picture.file, whole)
    }
    let plan = RenderPlanner().plan(try picture.header, whole)
    #expect(throws: CodecError.decoderUnavailable(.heic)) {
      try Renderer(plan, source: MemoryByteSource(picture.file), limits: CodecLimits(), stop: StopFlag())
    }
  }
}
