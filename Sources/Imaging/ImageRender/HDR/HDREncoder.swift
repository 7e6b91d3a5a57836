import ImageCodec
import MediaMetadata
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

/// Takes rows of 16 bits in the colours of the picture, and has a worker encode them in BT.2020 with the curve PQ.
final class HDREncoder: RowEncoder {
  private let size: PixelSize
  /// The channels of arriving rows: gray or RGB, with or without alpha.
  private let channels: Int
  private let light: HDRLight
  private let worker: WorkerEncoder
  /// One row for the worker, with ``workerChannels``.
  private let line: RowBuffer<UInt16>
  /// The gains of one row.
  private let gains: RowBuffer<Float>
  private var row = 0
  /// The brightest pixel, in shares of 10,000 cd/m².
  private var brightest: Float = 0
  /// The sum of all pixels.
  private var sum = 0.0

  /// - Throws: as the encoder of the format.
  init(
    _ plan: RenderPlan, _ light: HDRLight, _ workers: (any CodedPictureDecoder)?, stop: StopFlag
  ) throws(CodecError) {
    size = plan.outputSize
    channels = plan.outputChannels
    self.light = light
    let workerChannels = Self.workerChannels(of: channels)
    worker = try WorkerEncoder(plan, channels: workerChannels, profile: nil, workers, stop: stop)
    line = RowBuffer(count: size.width * workerChannels, zero: 0)
    gains = RowBuffer(count: size.width * (light.gains?.channels ?? 0), zero: 1)
  }

  /// RGB, also for gray, with alpha if the arriving rows have it.
  static func workerChannels(of channels: Int) -> Int { channels % 2 == 0 ? 4 : 3 }

  /// Memory of an encoder without its worker.
  static func byteCount(_ size: PixelSize) -> Int { size.width * (4 * 2 + 3 * 4) + 3 * InterpolationTable.byteCount }

  var warnings: CodecWarnings? { worker.warnings }

  func write(_ rows: UnsafeRawPointer, strideBytes: Int, count: Int) {
    let workerChannels = Self.workerChannels(of: channels)
    for y in 0..<count {
      light.gains?.fill(gains.pointer, row: row, of: size)
      convert((rows + y * strideBytes).assumingMemoryBound(to: UInt16.self))
      row += 1
      worker.write(UnsafeRawPointer(line.pointer), strideBytes: size.width * workerChannels * 2, count: 1)
    }
  }

  func finish() throws(CodecError) -> [UInt8] {
    func luminance(_ light: Double) -> Int { min(10_000, max(1, Int((light * BT2100.pqPeak).rounded(.up)))) }
    worker.contentLight = ContentLight(
      maximum: luminance(Double(brightest)), average: luminance(sum / Double(size.pixelCount)))
    return try worker.finish()
  }

  private func convert(_ samples: UnsafePointer<UInt16>) {
    let (red, green, blue) = (light.curves[0], light.curves[1], light.curves[2])
    let isGray = channels < 3
    let hasAlpha = channels % 2 == 0
    let workerChannels = Self.workerChannels(of: channels)
    let unit = light.unit
    let pq = PQTable.shared
    var rowSum: Float = 0
    for x in 0..<size.width {
      let from = samples + x * channels
      var pixel = SIMD3<Float>(red[Float(from[0])], 0, 0)
      (pixel.y, pixel.z) =
        isGray ? (pixel.x, pixel.x) : (green[Float(from[1])], blue[Float(from[2])])
      pixel = inBT2020(brightened(pixel, x)) * unit
      if light.scale == .scene { pixel = displayed(pixel) }
      pixel = pixel.clamped(lowerBound: SIMD3(repeating: 0), upperBound: SIMD3(repeating: 1))
      let most = pixel.max()
      brightest = max(brightest, most)
      rowSum += most
      let to = line.pointer + x * workerChannels
      for channel in 0..<3 { to[channel] = UInt16(pq.sample(pixel[channel]) * 65535 + 0.5) }
      if hasAlpha { to[3] = from[channels - 1] }
    }
    sum += Double(rowSum)
  }

  /// The alternate rendition of ISO 21496-1: ``GainMapMetadata`` has the formula.
  @inline(__always)
  private func brightened(_ pixel: SIMD3<Float>, _ x: Int) -> SIMD3<Float> {
    guard let field = light.gains else { return pixel }
    let from = gains.pointer + x * field.channels
    let factor =
      field.channels == 1 ? SIMD3(repeating: from[0]) : SIMD3(from[0], from[1], from[2])
    let base = SIMD3(field.baseOffsets[0], field.baseOffsets[1], field.baseOffsets[2])
    let alternate = SIMD3(field.alternateOffsets[0], field.alternateOffsets[1], field.alternateOffsets[2])
    return (pixel + base) * factor - alternate
  }

  @inline(__always)
  private func inBT2020(_ pixel: SIMD3<Float>) -> SIMD3<Float> {
    let m = light.matrix
    return SIMD3(m[0], m[3], m[6]) * pixel.x + SIMD3(m[1], m[4], m[7]) * pixel.y + SIMD3(m[2], m[5], m[8]) * pixel.z
  }

  /// The OOTF of HLG (ITU-R BT.2100-2 table 5), for a scene whose brightest light is the display's.
  @inline(__always)
  private func displayed(_ pixel: SIMD3<Float>) -> SIMD3<Float> {
    let luminance = (pixel * BT2100.luminance).sum() / light.unit
    return pixel * powf(max(0, luminance), Float(BT2100.hlgGamma - 1))
  }
}
