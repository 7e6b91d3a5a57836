import DecoderWorkers
import MediaMetadata
import PhotoFixtures
import PhotoModel
import Testing

@testable import ImageCodec

/// Compares what a render reserves for the decoder of a picture with what the picture's workers may allocate. Each
/// request has the parts of the picture, as the daemon fills them in.
@Suite("Memory of workers")
struct WorkerPriceTests {
  struct Case {
    let name: String
    let picture: CodedPicture
    var eighths = 8
    /// The most memory of all workers that run at the same time.
    let workersBytes: Int
  }

  static let sizes = [
    PixelSize(width: 1, height: 1), PixelSize(width: 640, height: 480), PixelSize(width: 3840, height: 2160),
    PixelSize(width: 4032, height: 3024),
  ]

  private static let samplings = [ChromaSampling.none, .half, .halfWidth, .full]

  private static func range(_ length: Int) -> [ByteRange] { [ByteRange(offset: 0, length: length)] }

  /// One tile, and alternatives of it.
  private static func tiles(_ configuration: TileConfiguration, _ size: PixelSize, _ lengths: [Int]) -> CodedTiles {
    var tiles = CodedTiles(configuration: configuration, tileSize: size, size: size, tiles: [range(lengths[0])])
    tiles.alternatives = lengths.dropFirst().map { range($0) }
    return tiles
  }

  /// Four columns of two tiles.
  private static func grid(_ configuration: TileConfiguration, _ size: PixelSize) -> CodedTiles {
    CodedTiles(
      configuration: configuration, tileSize: size, columns: 4, rows: 2,
      size: PixelSize(width: size.width * 4, height: size.height * 2),
      tiles: (1...8).map { range($0 * 10_000) })
  }

  private static func workersBytes(_ tiles: CodedTiles) -> Int {
    let (configuration, size) = (tiles.configuration, tiles.tileSize)
    let (chroma, bitDepth) = (configuration.chroma, configuration.bitDepth)
    let parts = (tiles.tiles + tiles.alternatives).map { DecodeRequest.Tile(picture: $0) }
    let request: DecodeRequest =
      switch configuration {
      case .hevc:
        .hevc(
          parameterSets: [], nalLengthBytes: 4, tileSize: size, chroma: chroma, bitDepth: bitDepth, tiles: parts)
      case .av1: .av1(tileSize: size, chroma: chroma, bitDepth: bitDepth, tiles: parts)
      case .video:
        .video(codec: "avc1", configuration: [], size: size, chroma: chroma, bitDepth: bitDepth, frames: parts)
      }
    return request.memoryLimitBytes * min(tiles.tiles.count, CodedTiles.workersAtOnce)
  }

  private static func heif(_ name: String, _ color: CodedTiles, alpha: CodedTiles? = nil) -> Case {
    Case(
      name: "\(name), \(color.tileSize)",
      picture: .heif(
        HEIFPicture(
          color: color, alpha: alpha,
          conversion: YCbCrConversion(matrix: .weights(red: 0.299, blue: 0.114), isFullRange: true))),
      workersBytes: max(workersBytes(color), alpha.map { workersBytes($0) } ?? 0))
  }

  private static func webP(_ canvas: PixelSize, isLossless: Bool, hasAlpha: Bool, eighths: Int) -> Case {
    let picture = WebPPicture(
      picture: ByteRange(offset: 0, length: 70_000),
      alpha: hasAlpha && !isLossless ? ByteRange(offset: 70_000, length: 20_000) : nil, isLossless: isLossless,
      hasAlpha: hasAlpha, canvas: canvas)
    let size = PixelSize(width: (canvas.width * eighths + 7) / 8, height: (canvas.height * eighths + 7) / 8)
    let request = DecodeRequest.webP(
      picture: [picture.picture], alpha: picture.alpha.map { [$0] } ?? [], isLossless: isLossless,
      codedSize: picture.frame.size, size: size, samples: hasAlpha ? .rgba : .rgb)
    return Case(
      name: "WebP, lossless \(isLossless), alpha \(hasAlpha), \(eighths)/8, \(canvas)",
      picture: .webP(picture), eighths: eighths, workersBytes: request.memoryLimitBytes)
  }

  private static func jxl(
    _ size: PixelSize, hasAlpha: Bool = false, isDeep: Bool = false, hasProfile: Bool = false, eighths: Int
  ) -> Case {
    var colors = JXLColors()
    colors.hasProfile = hasProfile
    let picture = JXLPicture(
      JXLCodestream(size: size, hasAlpha: hasAlpha, isDeep: isDeep, isXYB: !hasProfile, colors: colors),
      codestream: range(300_000))
    let (step, bitDepth) = (8 / eighths, isDeep ? 16 : 8)
    let rows = PixelSize(width: (size.width + step - 1) / step, height: (size.height + step - 1) / step)
    var bytes = DecodeRequest.jxl(
      codestream: picture.codestream, codedSize: size, region: PixelRect(rows), step: step, colors: nil, isGray: false,
      bitDepth: bitDepth, hasAlpha: hasAlpha, workingBytes: picture.workingBytes
    ).memoryLimitBytes
    if picture.needsProfile {
      let profile = DecodeRequest.jxlProfile(
        codestream: picture.codestream, codedSize: size,
        rows: PixelSize(width: 4096, height: EmbeddedProfile.maximumCodedBytes / 4096 + 1))
      bytes = max(bytes, profile.memoryLimitBytes)
    }
    return Case(
      name: "JPEG XL, alpha \(hasAlpha), deep \(isDeep), profile \(hasProfile), \(eighths)/8, \(size)",
      picture: .jxl(picture), eighths: eighths, workersBytes: bytes)
  }

  private static func raw(_ size: PixelSize, isLinear: Bool, eighths: Int) -> Case {
    let sensor = SensorPicture(size: size, fileBytes: 9 << 20, isLinear: isLinear)
    let step = 8 / eighths
    let rows = PixelSize(width: (size.width + step - 1) / step, height: (size.height + step - 1) / step)
    let request = DecodeRequest.raw(
      file: sensor.file, codedSize: size, region: PixelRect(rows), step: step,
      workingBytes: sensor.workingBytes(eighths: eighths))
    return Case(
      name: "RAW, linear \(isLinear), \(eighths)/8, \(size)", picture: .raw(sensor), eighths: eighths,
      workersBytes: request.memoryLimitBytes)
  }

  /// A configuration of HEVC, from a file.
  private static func hevc(_ chroma: ChromaSampling, _ bitDepth: Int) throws -> TileConfiguration {
    let items = CodedHEIFFile.grid(
      columns: 2, rows: 1, tile: (64, 64), size: (128, 64),
      configuration: CodedHEIFFile.hvcC(chroma: chroma.rawValue, bitDepth: bitDepth),
      properties: [CodedHEIFFile.nclx(1, 13, 6, isFullRange: true)]
    ) { _ in [1] }
    let source = MemoryByteSource(CodedHEIFFile(items).bytes)
    guard case .heif(let picture) = try ImageHeader.read(from: source, limits: CodecLimits()).coded else {
      throw CodecError.unsupported("no HEIF")
    }
    return picture.color.configuration
  }

  private func check(_ one: Case) {
    var header = ImageHeader(
      format: .heic, storedSize: PixelSize(width: 1, height: 1), colorChannels: 3, hasAlpha: false, bitsPerChannel: 8,
      isProgressive: false, isBuffered: false, metadata: EXIFSummary())
    header.coded = one.picture
    let reserved = header.decoderBytes(eighths: one.eighths, inPlanes: false)
    #expect(reserved >= one.workersBytes, "\(one.name): \(reserved) of \(one.workersBytes)")
  }

  @Test("a render reserves what the workers of a video's frames may allocate", arguments: sizes)
  func videos(_ size: PixelSize) {
    for chroma in Self.samplings {
      for bitDepth in [8, 10] {
        let video = TileConfiguration.video(VideoConfiguration(codec: .avc, chroma: chroma, bitDepth: bitDepth))
        let name = "\(chroma), \(bitDepth) bits"
        check(Self.heif("a frame, \(name)", Self.tiles(video, size, [200_000])))
        check(Self.heif("frames, \(name)", Self.tiles(video, size, [200_000, 9 << 20])))
      }
    }
  }

  @Test("a render reserves what the workers of a HEIF picture may allocate", arguments: sizes)
  func heif(_ size: PixelSize) throws {
    for chroma in Self.samplings {
      for bitDepth in [8, 10] {
        let name = "\(chroma), \(bitDepth) bits"
        let av1 = TileConfiguration.av1(AV1Configuration(chroma: chroma, bitDepth: bitDepth))
        for (codec, configuration) in [("HEVC", try Self.hevc(chroma, bitDepth)), ("AV1", av1)] {
          let (one, many) = (Self.tiles(configuration, size, [90_000]), Self.grid(configuration, size))
          check(Self.heif("\(codec), \(name)", one))
          check(Self.heif("\(codec), a grid, \(name)", many))
          // Alpha need not have the tiles of the colours.
          let whole = Self.tiles(
            .av1(AV1Configuration(chroma: .none, bitDepth: 10)), PixelSize(width: 8000, height: 6000), [5 << 20])
          check(Self.heif("\(codec), alpha in one tile, \(name)", many, alpha: whole))
        }
      }
    }
  }

  @Test("a render reserves what the worker of a WebP may allocate", arguments: sizes)
  func webP(_ size: PixelSize) {
    for eighths in [1, 2, 4, 8] {
      for (isLossless, hasAlpha) in [(false, false), (false, true), (true, false), (true, true)] {
        check(Self.webP(size, isLossless: isLossless, hasAlpha: hasAlpha, eighths: eighths))
      }
    }
  }

  @Test("a render reserves what the workers of a JPEG XL may allocate", arguments: sizes)
  func jxl(_ size: PixelSize) {
    for eighths in [1, 2, 4, 8] {
      check(Self.jxl(size, eighths: eighths))
      check(Self.jxl(size, hasAlpha: true, isDeep: true, eighths: eighths))
      check(Self.jxl(size, hasProfile: true, eighths: eighths))
    }
  }

  @Test("a render reserves what the worker of a RAW file may allocate", arguments: sizes)
  func raw(_ size: PixelSize) {
    for eighths in [1, 2, 4, 8] {
      for isLinear in [false, true] { check(Self.raw(size, isLinear: isLinear, eighths: eighths)) }
    }
  }
}
