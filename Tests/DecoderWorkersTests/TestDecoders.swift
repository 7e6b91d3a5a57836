import DecoderWorkers
import Foundation
import Logging
import PhotoModel
import Testing

extension DecoderCodec {
  /// The codec of `photod-decoder-test`, which does what its parameter bytes say.
  static let test = DecoderCodec(name: "test", libraryPackage: "none")
}

enum TestDecoders {
  /// The folder of the built programs.
  static let folder = URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath()
    .deletingLastPathComponent().path

  /// Whether the program of a codec was built: its library is installed.
  static func isBuilt(_ codec: DecoderCodec) -> Bool {
    FileManager.default.isExecutableFile(atPath: "\(folder)/\(codec.programName)")
  }

  /// Landlock is not asked for: containers often lack it, and the filter denies all that it does.
  static func pool(
    _ codecs: [DecoderCodec] = [.test], folder: String = folder, slotBytes: Int = 64 << 10, workers: Int = 2,
    stall: Duration = .seconds(60), rememberedFailures: Int = 16,
    logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
    now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
  ) -> DecoderPool {
    var limits = DecoderPool.Limits(workers: workers)
    limits.slotBytes = slotBytes
    limits.stall = stall
    limits.rememberedFailures = rememberedFailures
    return DecoderPool(
      codecs: codecs, folder: folder, sandbox: .filter, limits: limits,
      logger: logger, now: now)
  }

  /// A picture of the test codec.
  static func request(
    _ action: String, _ samples: DecodeRequest.Samples = .rgb, width: Int = 40, height: Int = 30, tiles: Int = 1,
    payload: [ByteRange] = [], memoryLimitBytes: Int = 16 << 20, cpuSeconds: Int = 5
  ) -> DecodeRequest {
    let size = PixelSize(width: width, height: height)
    return DecodeRequest(
      codec: .test, samples: samples, codedSize: size, size: size,
      tiles: Array(repeating: DecodeRequest.Tile(picture: payload), count: tiles), parameters: Array(action.utf8),
      memoryLimitBytes: memoryLimitBytes, cpuSeconds: cpuSeconds)
  }

  /// What the test codec draws.
  static func sample(tile: Int, plane: Int, row: Int, byte: Int) -> UInt8 {
    UInt8(truncatingIfNeeded: tile * 101 + plane * 53 + row * 7 + byte)
  }
}

/// The planes of each tile, without the padding of rows.
struct CollectedRows {
  /// The bytes of plane p of tile t are at `[t][p]`.
  private(set) var tiles: [[[UInt8]]]
  private(set) var bands = 0
  private let sampleBytes: Int

  init(_ request: DecodeRequest) {
    sampleBytes =
      switch request.samples {
      case .rgb: 3
      case .rgba: 4
      case .deepRGB: 6
      case .deepRGBA: 8
      case .planar(_, let bitDepth, _): bitDepth > 8 ? 2 : 1
      }
    tiles = Array(repeating: [], count: request.tiles.count)
  }

  mutating func add(_ band: RowBand, _ bytes: RawSpan) {
    bands += 1
    let planes = band.layout.planes
    if tiles[band.tile].isEmpty { tiles[band.tile] = Array(repeating: [], count: planes.count) }
    bytes.withUnsafeBytes { bytes in
      for (index, plane) in planes.enumerated() {
        for row in 0..<plane.rowCount(band.rowCount) {
          let start = plane.offset + row * plane.strideBytes
          tiles[band.tile][index] += bytes[start..<start + plane.width * sampleBytes]
        }
      }
    }
  }
}

extension DecoderPool {
  /// Decodes a whole picture.
  func rows(
    _ request: DecodeRequest, of payload: DecodePayload = .bytes([0]), file: DecodedFile? = nil,
    stop: StopFlag? = nil
  ) throws(DecoderError) -> CollectedRows {
    var collected = CollectedRows(request)
    try decode(request, of: payload, file: file, stop: stop) { band, bytes in
      collected.add(band, bytes)
      return .more
    }
    return collected
  }

  /// The error of a decode, or `nil`.
  func error(
    _ request: DecodeRequest, of payload: DecodePayload = .bytes([0]), file: DecodedFile? = nil
  ) -> DecoderError? {
    do throws(DecoderError) {
      _ = try rows(request, of: payload, file: file)
      return nil
    } catch {
      return error
    }
  }
}

extension EncodeRequest.Samples {
  var channels: Int {
    switch self {
    case .gray: 1
    case .rgb, .deepRGB: 3
    case .rgba, .deepRGBA: 4
    }
  }

  var bytesPerSample: Int { self == .deepRGB || self == .deepRGBA ? 2 : 1 }
}
