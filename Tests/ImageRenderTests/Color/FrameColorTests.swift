import Foundation
import ImageCodec
import ImageRender
import PhotoFixtures
import PhotoModel
import Testing

/// Degraded frames, and cached transforms.
extension ColorTests {
  @Test("a degraded frame has the colours of the final frame", arguments: [false, true])
  func degraded(_ isProgressive: Bool) throws {
    let colors = Self.colors.map { color in (0..<8).map { _ in color } }.flatMap { $0 }
    let file = JPEGFile {
      $0.quality = 100
      $0.sampling = (1, 1)
      $0.isProgressive = isProgressive
      $0.profile = ICCFile.displayP3
    }.encoded(Self.patches(colors))
    let source = MemoryByteSource(file)
    let header = try ImageHeader.read(from: source, limits: CodecLimits())
    for colorSpace in ColorSpace.allCases {
      let plan = try #require(RenderPlanner().degradedPlan(header, header.sized(Self.asked(2560, colorSpace))))
      let image = try Renderer(plan, source: source, limits: CodecLimits(), stop: StopFlag()).render()
      let pixels = try #require(Pixels.decoded(image.bytes)).pixels
      #expect(ICCFile.embedded(in: image.bytes) == (colorSpace == .preserve ? ICCFile.displayP3 : nil))
      let expected = colorSpace == .preserve ? Self.colors : Self.colors.map(Self.p3)
      let middles = (0..<Self.colors.count).map {
        Array(pixels[pixels.width * (2 * $0 + 1) / (2 * Self.colors.count), pixels.height / 2].prefix(3))
      }
      #expect(Self.isClose(middles, expected, 6), "\(middles)")
    }
  }

  struct Thumbnail: CustomTestStringConvertible {
    let testDescription: String
    let pictureProfile: [UInt8]?
    let thumbnailProfile: [UInt8]?
    let colorSpace: ColorSpace
    /// The profile that is inserted into the thumbnail's unchanged bytes; `nil` if the frame is encoded again.
    let sentWith: [[UInt8]]?
    var isConverted = false
  }

  static let thumbnails = [
    Thumbnail(
      testDescription: "no profile", pictureProfile: nil, thumbnailProfile: nil, colorSpace: .preserve, sentWith: []),
    Thumbnail(
      testDescription: "no profile, sRGB requested", pictureProfile: nil, thumbnailProfile: nil, colorSpace: .srgb,
      sentWith: []),
    Thumbnail(
      testDescription: "the picture's profile is inserted", pictureProfile: ICCFile.displayP3, thumbnailProfile: nil,
      colorSpace: .preserve, sentWith: [ICCFile.displayP3]),
    Thumbnail(
      testDescription: "other colours than requested are converted", pictureProfile: ICCFile.displayP3,
      thumbnailProfile: nil,
      colorSpace: .srgb, sentWith: nil, isConverted: true),
    Thumbnail(
      testDescription: "the picture's profile is sRGB", pictureProfile: ICCFile.sRGB, thumbnailProfile: nil,
      colorSpace: .srgb,
      sentWith: []),
    Thumbnail(
      testDescription: "the thumbnail's own profile is kept", pictureProfile: ICCFile.adobeRGB,
      thumbnailProfile: ICCFile.displayP3,
      colorSpace: .preserve, sentWith: [ICCFile.displayP3]),
    Thumbnail(
      testDescription: "the thumbnail's own profile is used for the conversion", pictureProfile: ICCFile.adobeRGB,
      thumbnailProfile: ICCFile.displayP3,
      colorSpace: .srgb, sentWith: nil, isConverted: true),
    Thumbnail(
      testDescription: "the thumbnail's own sRGB profile is removed", pictureProfile: nil,
      thumbnailProfile: ICCFile.sRGB,
      colorSpace: .srgb, sentWith: nil),
  ]

  @Test("a thumbnail is sent unchanged only if it has the requested colours", arguments: thumbnails)
  func thumbnail(_ thumbnail: Thumbnail) throws {
    // Not the primaries: clipped to sRGB they would keep their values.
    let colors = Array(Self.colors.suffix(5))
    // Of another quality than a new encoding, to tell the two apart.
    func patches(_ profile: [UInt8]?, _ exif: EXIFBlock?) -> [UInt8] {
      JPEGFile {
        $0.quality = 93
        $0.sampling = (1, 1)
        $0.profile = profile
        $0.exif = exif
      }.encoded(Self.patches(colors))
    }
    let small = patches(thumbnail.thumbnailProfile, nil)
    let file = patches(thumbnail.pictureProfile, EXIFBlock { $0.thumbnail = small })
    let source = MemoryByteSource(file)
    let limits = CodecLimits()
    let header = try ImageHeader.read(from: source, limits: limits)
    let request = header.sized(
      ImageRequest(
        targetSize: .size(PixelSize(width: 160, height: 160)), quality: 100, colorSpace: thumbnail.colorSpace))
    let embedded = try #require(EmbeddedThumbnail.best(for: request, of: header, in: source, limits: limits))
    let image = try #require(
      try embedded.render(for: request, of: header, in: source, limits: limits, stop: StopFlag()))
    let scan = try #require(small.firstRange(of: [0xFF, 0xDB]))
    let isSent = image.bytes.suffix(small.count - scan.lowerBound) == small[scan.lowerBound...]
    #expect(isSent == (thumbnail.sentWith != nil))
    #expect(ICCFile.embedded(in: image.bytes) == thumbnail.sentWith?.first)
    let expected = thumbnail.isConverted ? colors.map(Self.p3) : colors
    let pixels = try #require(Pixels.decoded(image.bytes)).pixels
    #expect(Self.isClose(Self.middles(pixels, 5), expected, 6))
  }

  @Test("a cached transform gives the same picture; one over the capacity is not cached")
  func kept() throws {
    let file = Self.jpeg(Self.colors, ICCFile.displayP3)
    let source = MemoryByteSource(file)
    let header = try ImageHeader.read(from: source, limits: CodecLimits())
    let plan = RenderPlanner().plan(header, Self.asked(160, .srgb, .jpeg))
    let other = PNGFile(.rgb(depth: 8)) { $0.profile = ICCFile.adobeRGB }.encoded(Self.patches(Self.colors))
    for capacity in [0, 200_000, 1 << 20] {
      let transforms = ColorTransforms(capacityBytes: capacity)
      func bytes() throws -> [UInt8] {
        try Renderer(plan, source: source, transforms: transforms, limits: CodecLimits(), stop: StopFlag()).render()
          .bytes
      }
      let first = try bytes()
      #expect(try bytes() == first)
      let otherHeader = try ImageHeader.read(from: MemoryByteSource(other), limits: CodecLimits())
      _ = try Renderer(
        RenderPlanner().plan(otherHeader, Self.asked(160, .srgb, .jpeg)), source: MemoryByteSource(other),
        transforms: transforms, limits: CodecLimits(), stop: StopFlag()
      ).render()
      #expect(try bytes() == first)
      #expect(transforms.bytesInUse <= capacity)
    }
  }
}

extension RenderedImage {
  /// Why an embedded profile was ignored.
  var profileWarning: String? { warnings.first { $0.library == "lcms2" }?.first }
}
