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
  let rendered = try renderResuming(plan, source, limits: limits)
  let decoded = try #require(Pixels.decoded(rendered.bytes))
  #expect(rendered.size == PixelSize(width: decoded.pixels.width, height: decoded.pixels.height))
  return (rendered, decoded.pixels, decoded.fileChannels)
}

/// Renders a plan, and goes on as often as the source has no data for now.
func renderResuming(
  _ plan: RenderPlan, _ source: any ByteSource, limits: CodecLimits = CodecLimits()
) throws -> RenderedImage {
  let renderer = try SharedRenderer(SharedPlan(plan), source: source, limits: limits, stops: [StopFlag()])
  var result: Result<RenderedImage, CodecError>?
  while !renderer.resume({ result = $1 }) {}
  return try #require(result).get()
}

extension Pixels {
  /// 48x36 pixels of RGBA: grays from a value on, from left to right, with more alpha further down.
  static func translucent(from darkest: Int) -> Pixels {
    var pixels = Pixels(width: 48, height: 36, channels: 4)
    for i in 0..<48 * 36 {
      let (gray, alpha) = (UInt8(darkest + i % 48), UInt8(100 + i / 48 * 3))
      pixels.bytes.replaceSubrange(i * 4..<i * 4 + 4, with: [gray, gray, gray, alpha])
    }
    return pixels
  }

  /// An RGBA picture over white, as RGB.
  var overWhite: Pixels {
    var out = channels(3)
    for i in 0..<width * height {
      let alpha = Int(bytes[i * 4 + 3])
      for c in 0..<3 {
        let sum = Int(bytes[i * 4 + c]) * alpha + 255 * (255 - alpha)
        out.bytes[i * 3 + c] = UInt8((sum + 127) / 255)
      }
    }
    return out
  }
}

func request(
  _ width: Int, _ height: Int, _ contentMode: ContentMode = .aspectFit, _ format: OutputFormat = .png,
  crop: UnitRect? = nil
) -> ImageRequest {
  ImageRequest(
    targetSize: .size(PixelSize(width: width, height: height)), contentMode: contentMode, normalizedCropRect: crop,
    format: format)
}

/// Renders damaged files. Each must give a picture, which ``render(_:_:limits:source:)`` checks, or a `CodecError`.
///
/// A file whose size became 100,000 pixels or more is not rendered, and not counted.
func outcomes(of files: some Sequence<[UInt8]>, _ request: ImageRequest) -> (pictures: Int, errors: Int) {
  var (pictures, errors) = (0, 0)
  for file in files {
    do {
      let header = try ImageHeader.read(from: MemoryByteSource(file), limits: CodecLimits())
      guard header.storedSize.pixelCount < 100_000 else { continue }
      _ = try render(file, request)
      pictures += 1
    } catch is CodecError {
      errors += 1
    } catch {
      Issue.record(error)
    }
  }
  return (pictures, errors)
}

/// The file with one changed byte, for each place and each pattern of bits to change there.
func flipped(_ file: [UInt8], at places: some Sequence<Int>, _ patterns: [UInt8]) -> some Sequence<[UInt8]> {
  places.lazy.flatMap { place in
    patterns.lazy.map { pattern -> [UInt8] in
      var bytes = file
      bytes[place] ^= pattern
      return bytes
    }
  }
}

/// The first bytes of the file, in each of the lengths.
func prefixes(_ file: [UInt8], of lengths: some Sequence<Int>) -> some Sequence<[UInt8]> {
  lengths.lazy.map { Array(file.prefix($0)) }
}
