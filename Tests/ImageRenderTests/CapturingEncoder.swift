import Foundation
import ImageCodec
import ImageRender
import PhotoModel
import Synchronization

/// Keeps the rows that a render wants encoded, and answers with data that only looks like a coded picture.
final class CapturingEncoder: CodedPictureDecoder {
  struct Capture: Sendable {
    let encoding: WorkerEncoding
    /// Sample c of pixel (x, y) at `(y * size.width + x) * channels + c`; those of 8 bits as they are.
    let samples: [UInt16]

    func pixel(_ x: Int, _ y: Int) -> [Double] {
      let start = (y * encoding.size.width + x) * encoding.channels
      return samples[start..<start + encoding.channels].map { Double($0) }
    }
  }

  private let decoder: (any CodedPictureDecoder)?
  private let refusesProfiles: Bool
  private let captured = Mutex<[Capture]>([])

  /// - Parameters:
  ///   - decoder: decodes pictures whose decoder is a worker.
  ///   - refusesProfiles: whether rows with a profile can't be encoded.
  init(_ decoder: (any CodedPictureDecoder)? = nil, refusesProfiles: Bool = false) {
    self.decoder = decoder
    self.refusesProfiles = refusesProfiles
  }

  var captures: [Capture] { captured.withLock { $0 } }

  func decode(
    _ request: CodedPictureRequest, from source: any ByteSource, isOptional: Bool, stop: StopFlag,
    rows: (DecodedBand, UnsafeRawBufferPointer) -> Bool
  ) throws(CodecError) {
    guard let decoder else { throw .decoderUnavailable(.heic) }
    try decoder.decode(request, from: source, isOptional: isOptional, stop: stop, rows: rows)
  }

  func encode(
    _ encoding: WorkerEncoding, profile: [UInt8], rows: UnsafeRawBufferPointer, stop: StopFlag
  ) throws(CodecError) -> [[UInt8]] {
    if refusesProfiles && !profile.isEmpty { throw .encodingFailed("a profile") }
    let samples = encoding.isHDR ? rows.bindMemory(to: UInt16.self).map { $0 } : rows.map { UInt16($0) }
    captured.withLock { $0.append(Capture(encoding: encoding, samples: samples)) }
    // A sequence header of a still picture (AV1 §5.5.1).
    let data: [UInt8] = [0x0A, 0x06, 0x18, 0, 0, 0, 0, 0]
    return encoding.channels == 4 && encoding.format == .avif ? [data, data] : [data]
  }
}

/// High dynamic range in double precision, written from the standards, without photod's code.
enum ReferenceLight {
  /// SMPTE ST 2084 §5: the sample 0...1 of cd/m².
  static func pq(_ luminance: Double) -> Double {
    let y = pow(min(max(luminance, 0), 10_000) / 10_000, 0.1593017578125)
    return pow((0.8359375 + 18.8515625 * y) / (1 + 18.6875 * y), 78.84375)
  }

  /// The way back.
  static func luminance(_ pq: Double) -> Double {
    let root = pow(pq, 1 / 78.84375)
    return 10_000 * pow(max(0, root - 0.8359375) / (18.8515625 - 18.6875 * root), 1 / 0.1593017578125)
  }

  static func sRGB(_ sample: Double) -> Double {
    sample <= 0.04045 ? sample / 12.92 : pow((sample + 0.055) / 1.055, 2.4)
  }

  /// ITU-R BT.2087 table 2.
  static let bt709 = [[0.6274, 0.3293, 0.0433], [0.0691, 0.9195, 0.0114], [0.0164, 0.0880, 0.8956]]
  /// Display P3 to BT.2020, both D65: computed from the chromaticities.
  static let displayP3 = [
    [0.753833, 0.198597, 0.047570], [0.045744, 0.941777, 0.012479], [-0.001210, 0.017602, 0.983609],
  ]
  static let same = [[1.0, 0, 0], [0, 1, 0], [0, 0, 1]]

  static func times(_ matrix: [[Double]], _ color: [Double]) -> [Double] {
    matrix.map { zip($0, color).reduce(0) { $0 + $1.0 * $1.1 } }
  }

  /// ITU-R BT.2100-2 table 5: cd/m² of an HLG colour in BT.2020, on a display of 1,000 cd/m².
  static func hybridLogGamma(_ samples: [Double], _ matrix: [[Double]] = same) -> [Double] {
    let scene = samples.map { x -> Double in
      x <= 0.5 ? x * x / 3 : (exp((x - 0.55991073) / 0.17883277) + 0.28466892) / 12
    }
    let color = times(matrix, scene)
    let luminance = 0.2627 * color[0] + 0.6780 * color[1] + 0.0593 * color[2]
    return color.map { 1000 * pow(luminance, 0.2) * $0 }
  }
}
