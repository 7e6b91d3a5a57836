// Connects renders with the pool of decoder and encoder processes: translates requests, rows and errors.

import DecoderWorkers
import ImageCodec
import ImageRender
import LibraryFolder
import PhotoModel

struct WorkerPictureDecoder: CodedPictureDecoder {
  let pool: DecoderPool
  /// Decoders of HEVC, the preferred one first.
  let hevc: [DecoderCodec]
  var isUrgent = false

  var urgent: any CodedPictureDecoder { WorkerPictureDecoder(pool: pool, hevc: hevc, isUrgent: true) }

  var developsRAW: Bool { pool.processIdentifier(of: .raw) != nil }

  /// The maximum size of a picture that is not in a file, and is therefore copied.
  private static let copiedBytes = 64 << 20

  func decode(
    _ request: CodedPictureRequest, from source: any ByteSource, isOptional: Bool, stop: StopFlag,
    rows: (DecodedBand, UnsafeRawBufferPointer) -> Bool
  ) throws(CodecError) {
    let payload = try payload(source)
    let identity = isOptional ? nil : (source as? LibraryFile)?.identity
    do throws(DecoderError) {
      try pool.decode(
        request.decodeRequest(hevc[0]), of: payload,
        file: identity.map { DecodedFile(identity: $0, epoch: RenderPlanner.epoch) },
        fallback: request.isHEVC && hevc.count > 1 ? request.decodeRequest(hevc[1]) : nil,
        workers: isUrgent ? CodedTiles.workersAtOnce : 1, stop: stop
      ) { band, bytes in
        bytes.withUnsafeBytes { rows(DecodedBand(band), $0) ? .more : .enough }
      }
    } catch {
      throw CodecError(error, request.format)
    }
  }

  func encode(
    _ encoding: WorkerEncoding, profile: [UInt8], rows: UnsafeRawBufferPointer, stop: StopFlag
  ) throws(CodecError) -> [[UInt8]] {
    guard let codec = encoding.format.encoder else { throw .encoderUnavailable(encoding.format) }
    let codes = encoding.codePoints
    let request = EncodeRequest(
      codec: codec, size: encoding.size, samples: encoding.samples, setting: encoding.setting, effort: encoding.effort,
      stripRows: encoding.stripRows, hasFullChroma: encoding.hasFullChroma,
      colors: .init(primaries: codes.primaries, transfer: codes.transfer, matrix: codes.matrix),
      deepCoding: .init(bits: encoding.codedBits, peakLuminance: encoding.peakLuminance), profile: profile,
      memoryLimitBytes: encoding.workerBytes, maximumBytes: encoding.maximumBytes)
    do throws(DecoderError) {
      return try pool.encode(request, rows: rows, stop: stop)
    } catch {
      throw CodecError(error, encoding.format)
    }
  }

  func transcode(
    _ transcoding: JPEGTranscoding, from source: any ByteSource, stop: StopFlag
  ) throws(CodecError) -> [UInt8] {
    let request = EncodeRequest(
      transcoding: transcoding.file, size: transcoding.size, effort: transcoding.effort,
      keepsReconstruction: transcoding.keepsReconstruction, memoryLimitBytes: transcoding.workerBytes,
      maximumBytes: transcoding.maximumBytes)
    let payload = try payload(source)
    do throws(DecoderError) {
      return try pool.transcode(request, of: payload, stop: stop)
    } catch {
      throw CodecError(error, OutputFormat.jxl)
    }
  }

  private func payload(_ source: any ByteSource) throws(CodecError) -> DecodePayload {
    if let file = source as? any FileByteSource { return .file(file) }
    guard source.size <= Self.copiedBytes else {
      throw .limitExceeded("the size of the file", limit: Self.copiedBytes, found: Int(clamping: source.size))
    }
    return .bytes(try source.codecBytes(at: 0, count: Int(source.size)))
  }
}

extension SourceFormat {
  /// The codecs that can decode the format; one of them must be installed. Empty for formats that this process decodes.
  ///
  /// - Parameter hevc: the decoders of HEVC that may be used.
  func codecs(hevc: [DecoderCodec]) -> [DecoderCodec] {
    switch self {
    case .jpeg, .png, .gif, .bmp, .tiff: []
    case .heic: hevc
    case .avif: [.av1]
    case .webp: [.webp]
    case .video: [.avcodec]
    case .jxl: [.jxl]
    case .raw: [.raw]
    }
  }
}

extension OutputFormat {
  /// The codec whose process encodes the format; `nil` for formats that this process encodes.
  var encoder: DecoderCodec? {
    switch self {
    case .jpeg, .png: nil
    case .webp: .webpEncoder
    case .avif: .avifEncoder
    case .jxl: .jxlEncoder
    }
  }
}

extension WorkerEncoding {
  fileprivate var samples: EncodeRequest.Samples {
    if isHDR { return channels == 4 ? .deepRGBA : .deepRGB }
    return channels == 1 ? .gray : channels == 4 ? .rgba : .rgb
  }
}

extension CodedPictureRequest {
  fileprivate var format: SourceFormat {
    switch self {
    case .tiles(let configuration, _, _), .firstLit(let configuration, _, _): configuration.format
    case .webP: .webp
    case .jxl, .jxlProfile: .jxl
    case .raw: .raw
    }
  }

  fileprivate var isHEVC: Bool {
    switch self {
    case .tiles(.hevc, _, _), .firstLit(.hevc, _, _): true
    default: false
    }
  }

  /// - Parameter hevc: the codec that decodes HEVC.
  fileprivate func decodeRequest(_ hevc: DecoderCodec) -> DecodeRequest {
    switch self {
    case .tiles(let configuration, let size, let tiles): return configuration.decodeRequest(size, tiles, hevc)
    case .firstLit(let configuration, let size, let pictures):
      var request = configuration.decodeRequest(size, pictures, hevc)
      request.areAlternatives = true
      return request
    case .webP(let picture, let size):
      return .webP(
        picture: [picture.picture], alpha: picture.alpha.map { [$0] } ?? [], isLossless: picture.isLossless,
        codedSize: picture.frame.size, size: size, samples: picture.hasAlpha ? .rgba : .rgb)
    case .jxl(let picture, let step, let region):
      return .jxl(
        codestream: picture.codestream, codedSize: picture.header.size, region: region, step: step,
        colors: picture.convertedColors, isGray: picture.header.isGray,
        bitDepth: picture.header.isDeep ? 16 : 8, hasAlpha: picture.header.hasAlpha,
        workingBytes: picture.workingBytes)
    case .jxlProfile(let picture):
      return .jxlProfile(codestream: picture.codestream, codedSize: picture.header.size, rows: size)
    case .raw(let sensor, let step, let region):
      return .raw(
        file: sensor.file, codedSize: sensor.size, region: region, step: step,
        workingBytes: sensor.workingBytes(eighths: 8 / step))
    }
  }
}

extension TileConfiguration {
  fileprivate func decodeRequest(
    _ size: PixelSize, _ ranges: [[ByteRange]], _ hevc: DecoderCodec
  ) -> DecodeRequest {
    let tiles = ranges.map { DecodeRequest.Tile(picture: $0) }
    switch self {
    case .av1(let configuration):
      return .av1(
        units: configuration.units, tileSize: size, chroma: configuration.chroma,
        bitDepth: configuration.bitDepth, tiles: tiles)
    case .hevc(let configuration):
      return .hevc(
        by: hevc, parameterSets: configuration.parameterSets, nalLengthBytes: configuration.nalLengthBytes,
        tileSize: size, chroma: configuration.chroma, bitDepth: configuration.bitDepth, tiles: tiles)
    case .video(let configuration):
      return .video(
        codec: configuration.codec.rawValue, configuration: configuration.configuration, size: size,
        chroma: configuration.chroma, bitDepth: configuration.bitDepth, frames: tiles)
    }
  }
}

extension DecodedBand {
  fileprivate init(_ band: RowBand) {
    self.init(
      tile: band.tile, firstRow: band.firstRow, rowCount: band.rowCount,
      planes: band.layout.planes.map { Plane(offset: $0.offset, strideBytes: $0.strideBytes) })
  }
}

extension CodecError {
  fileprivate init(_ error: DecoderError, _ format: SourceFormat) {
    switch error {
    case .unavailable(_, .restarting), .interrupted: self = .decoderInterrupted
    case .unavailable(let codec, _): self = .decoderUnavailable(format, libraryPackage: codec.libraryPackage)
    case .failed(_, let failure): self = .decoderFailed(format, DecoderFailureReason(failure))
    case .inputChanged: self = .malformed("the file ends before its picture does", offset: nil)
    case .requestTooLarge(let limit, let most, let found):
      self = .limitExceeded("the number of \(limit.rawValue) for its decoder", limit: most, found: found)
    case .cancelled: self = .stopped
    }
  }
}

extension CodecError {
  fileprivate init(_ error: DecoderError, _ format: OutputFormat) {
    switch error {
    case .unavailable(_, .restarting), .interrupted, .inputChanged: self = .encoderInterrupted
    case .unavailable: self = .encoderUnavailable(format)
    case .failed(_, let failure):
      self = .encodingFailed("the encoder for \(format.rawValue) \(DecoderFailureReason(failure).text)")
    case .requestTooLarge(_, let most, let found): self = .outputTooLarge(format, limit: most, found: found)
    case .cancelled: self = .stopped
    }
  }
}

extension DecoderFailureReason {
  fileprivate init(_ failure: DecoderFailure) {
    switch failure {
    case .malformed: self = .malformed
    case .unsupported: self = .unsupported
    case .mismatch: self = .mismatch
    case .memory: self = .memory
    case .time: self = .time
    case .stalled: self = .stalled
    case .crashed, .sandbox, .protocolViolation: self = .crashed
    }
  }
}
