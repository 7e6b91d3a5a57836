import ImageCodec
import ImageRender
import PhotoFixtures
import PhotoModel

/// A complete file, from its header to a small picture.
enum PictureTarget {
  /// Small limits, so that an input that takes long is a finding.
  static let limits = CodecLimits(
    sourcePixels: 1 << 18, sourceSide: 2048, jpegScans: 40, profileBytes: 1 << 16, headerSegments: 64,
    animationFrames: 16, animationPixels: 1 << 20)

  private static let pixelSide = 100
  private static let transforms = ColorTransforms(capacityBytes: 0)

  static func jpeg(_ bytes: [UInt8]) { check(bytes) }

  /// Random bytes almost never pass PNG's checksums, so they are corrected first.
  static func png(_ bytes: [UInt8]) { check(PNGChunks.withRightChecksums(bytes)) }

  static func check(_ bytes: [UInt8]) {
    let source = MemoryByteSource(bytes)
    guard let header = try? ImageHeader.read(from: source, limits: limits) else { return }
    let request = request(for: bytes)
    let planner = RenderPlanner()
    let plan = planner.plan(header, request)
    let whole = render(plan, source)
    if let degraded = planner.degradedPlan(header, header.sized(request)) { _ = render(degraded, source) }
    // With a source that waits, libjpeg can't skip rows and takes another path; the other decoders get few bytes at a
    // time. The pictures must be equal if both renders give one and nothing was skipped.
    let halting = render(plan, HaltingSource(source, canReturnNotYet: plan.header.format == .jpeg))
    if let whole, let halting, request.normalizedCropRect == nil, request.contentMode == .aspectFit,
      whole.warnings.isEmpty, halting.warnings.isEmpty, !hasFillBytes(bytes)
    {
      precondition(
        whole.bytes == halting.bytes && whole.isIncomplete == halting.isIncomplete,
        "the picture differs if the source halts; ended early: \(whole.isIncomplete), \(halting.isIncomplete)")
    }
    thumbnails(header, source, request)
    pixels(header, source)
    gainMap(header, source)
    animation(header, source, request)
  }

  /// Renders a picture with its gain map.
  private static func gainMap(_ header: ImageHeader, _ source: any ByteSource) {
    guard let map = header.gainMap else { return }
    let size = map.header.storedSize
    precondition(size.width > 0 && size.height > 0 && map.ratio > 0 && map.ratio <= 1)
    if let range = map.range { precondition(range.offset >= 0 && range.offset + Int64(range.length) <= source.size) }
    var request = ImageRequest(format: .jpeg)
    request.dynamicRange = .preserve
    let plan = RenderPlanner().plan(header, request)
    guard plan.gainMap != nil, let image = render(plan, source), image.hasGainMap else { return }
    let own = try? ImageHeader.read(from: MemoryByteSource(image.bytes), limits: CodecLimits())
    precondition(own?.gainMap != nil && GainMapFile.isOne(image.bytes), "a map that its own reader does not find")
  }

  /// Renders all frames of an animation, with an encoder that encodes nothing.
  private static func animation(_ header: ImageHeader, _ source: any ByteSource, _ request: ImageRequest) {
    struct Encoder: CodedPictureDecoder {
      func decode(
        _ request: CodedPictureRequest, from source: any ByteSource, isOptional: Bool, stop: StopFlag,
        rows: (DecodedBand, UnsafeRawBufferPointer) -> Bool
      ) throws(CodecError) { throw .decoderUnavailable(.webp) }

      func encode(
        _ encoding: WorkerEncoding, profile: [UInt8], rows: UnsafeRawBufferPointer, stop: StopFlag
      ) throws(CodecError) -> [[UInt8]] {
        precondition(rows.count == encoding.size.pixelCount * encoding.channels, "the rows of the part")
        return [Array("RIFF\u{0C}\0\0\0WEBPVP8 \0\0\0\0".utf8)]
      }
    }
    guard let animation = try? Animation.read(from: source, header: header, limits: limits) else { return }
    precondition(animation.frames.count <= limits.animationFrames && animation.paintedPixels <= limits.animationPixels)
    let plan = AnimationPlan(animation, header, header.sized(request))
    let renderer = try? AnimationRenderer(
      plan, source: source, workers: Encoder(), transforms: transforms, limits: limits, stop: StopFlag())
    _ = try? renderer?.render()
  }

  /// libjpeg-turbo's two Huffman decoders, for full and for nearly empty buffers, treat a fill byte (T.81 §B.1.1.2)
  /// within a scan's data differently, without a warning. Fill bytes are not allowed there.
  private static func hasFillBytes(_ bytes: [UInt8]) -> Bool {
    zip(bytes, bytes.dropFirst()).contains { $0 == 0xFF && $1 == 0xFF }
  }

  /// Renders frames from embedded thumbnails and previews.
  static func thumbnails(_ header: ImageHeader, _ source: any ByteSource, _ request: ImageRequest) {
    let ranges = [header.embeddedThumbnail].compactMap(\.self) + header.previews
    precondition(ranges.allSatisfy { $0.offset >= 0 && $0.length >= 0 && $0.offset + Int64($0.length) <= source.size })
    let wanted = header.sized(request)
    let thumbnail = EmbeddedThumbnail.best(for: wanted, of: header, in: source, limits: limits)
    let image = try? thumbnail?.render(for: wanted, of: header, in: source, limits: limits, stop: StopFlag())
    if let image { check(image) }
    let small = try? thumbnail?.pixels(
      side: pixelSide, of: header, in: source, transforms: transforms, limits: limits, stop: StopFlag())
    if let small { check(small) }
  }

  /// Renders the picture itself, at a small size.
  private static func pixels(_ header: ImageHeader, _ source: any ByteSource) {
    let plan = RenderPlanner().pixelPlan(header, side: pixelSide)
    let pixels = try? Renderer.pixels(plan, source: source, transforms: transforms, limits: limits, stop: StopFlag())
    if let pixels { check(pixels) }
  }

  private static func check(_ pixels: RenderedPixels) {
    precondition((1...pixelSide).contains(pixels.size.width) && (1...pixelSide).contains(pixels.size.height))
    precondition(pixels.rgba.count == pixels.size.pixelCount * 4, "the planned number of pixels")
  }

  /// One of a few requests, chosen by the bytes, so that an input always gets the same one.
  static func request(for bytes: [UInt8]) -> ImageRequest {
    let hash = bytes.reduce(UInt32(2_166_136_261)) { ($0 ^ UInt32($1)) &* 16_777_619 }
    let small = TargetSize.size(PixelSize(width: 24, height: 16))
    switch hash >> 8 & 3 {
    case 0: return ImageRequest(targetSize: small, contentMode: .aspectFit, format: .jpeg)
    case 1: return ImageRequest(targetSize: small, contentMode: .aspectFill, format: .png)
    case 2: return ImageRequest(format: .jpeg)
    default:
      return ImageRequest(
        targetSize: small, contentMode: .aspectFit,
        normalizedCropRect: UnitRect(x: 0.25, y: 0.5, width: 0.25, height: 0.375), format: .png)
    }
  }

  private static func render(_ plan: RenderPlan, _ source: any ByteSource) -> RenderedImage? {
    guard let renderer = try? SharedRenderer(SharedPlan(plan), source: source, limits: limits, stops: [StopFlag()])
    else { return nil }
    var result: Result<RenderedImage, CodecError>?
    while !renderer.resume({ result = $1 }) {}
    guard case .success(let image)? = result else { return nil }
    precondition(image.size == plan.outputSize)
    check(image)
    return image
  }

  /// The result must decode to a picture of the planned size.
  private static func check(_ image: RenderedImage) {
    let header = try? ImageHeader.read(from: MemoryByteSource(image.bytes), limits: CodecLimits())
    precondition(header?.uprightSize == image.size, "an output that its own reader refuses")
  }
}

/// A source that returns its first bytes at once and the rest in small pieces, if wanted each after one "not yet".
private final class HaltingSource: ByteSource, @unchecked Sendable {
  // Because: only one thread reads it.
  private let source: MemoryByteSource
  let canReturnNotYet: Bool
  private var isDue = false

  init(_ source: MemoryByteSource, canReturnNotYet: Bool) {
    (self.source, self.canReturnNotYet) = (source, canReturnNotYet)
  }

  var size: Int64 { source.size }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> ByteRead {
    if canReturnNotYet, offset >= 4096 {
      isDue.toggle()
      if isDue { return .notYet }
    }
    return source.read(
      into: UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(offset < 4096 ? 4096 : 97)), at: offset)
  }
}
