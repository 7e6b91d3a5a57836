// Gathers the rows of a picture, and lets a separate process encode them when the last row has arrived.
//
// A worker gets all rows at once, because a render that waited for an encoder's place while it decodes would keep the
// decoder's place: two such renders could wait for each other.

import ImageCodec
import MediaMetadata
import PhotoModel

/// Implements ``RowEncoder`` with a worker: WebP, AVIF and JPEG XL.
final class WorkerEncoder: RowEncoder {
  private var encoding: WorkerEncoding
  /// Channels of arriving rows.
  private let channels: Int
  private let profile: [UInt8]?
  private let workers: any CodedPictureDecoder
  private let stop: StopFlag
  /// Row y at `y * size.width * encoding.pixelBytes`.
  private let pixels: RowBuffer<UInt8>
  private var row = 0
  let warnings: CodecWarnings? = nil

  /// - Parameter channels: the channels of arriving rows.
  init(
    _ plan: RenderPlan, channels: Int, profile: [UInt8]?, _ workers: (any CodedPictureDecoder)?, stop: StopFlag
  ) throws(CodecError) {
    let (format, size) = (plan.format, plan.outputSize)
    guard let workers else { throw .encoderUnavailable(format) }
    let (longer, limit) = (max(size.width, size.height), WorkerEncoding.maximumSide(format))
    guard longer <= limit else { throw .outputTooLarge(format, limit: limit, found: longer) }
    encoding = WorkerEncoding(
      format, size: size, channels: channels, quality: plan.quality, profileBytes: profile?.count ?? 0,
      isHDR: plan.isHDR)
    self.channels = channels
    self.profile = profile
    self.workers = workers
    self.stop = stop
    pixels = RowBuffer(count: size.pixelCount * encoding.pixelBytes, zero: 0)
  }

  /// The light of a picture of high dynamic range: set before it is finished.
  var contentLight: ContentLight? {
    get { encoding.contentLight }
    set { encoding.contentLight = newValue }
  }

  func write(_ rows: UnsafeRawPointer, strideBytes: Int, count: Int) {
    let width = encoding.size.width
    let rowBytes = width * encoding.pixelBytes
    for y in 0..<count {
      let from = (rows + y * strideBytes).assumingMemoryBound(to: UInt8.self)
      let to = pixels.pointer + row * rowBytes
      row += 1
      guard channels != encoding.channels else {
        to.update(from: from, count: rowBytes)
        continue
      }
      // Gray, with or without alpha.
      for x in 0..<width {
        let pixel = to + x * encoding.channels
        for channel in 0..<3 { pixel[channel] = from[x * channels] }
        if encoding.channels == 4 { pixel[3] = from[x * channels + 1] }
      }
    }
  }

  func finish() throws(CodecError) -> [UInt8] {
    let parts = try codedParts()
    guard let first = parts.first else { throw .encodingFailed("the encoder sent nothing") }
    switch encoding.format {
    case .avif:
      return try AVIFFile(parts, encoding, profile: profile).bytes
    case .webp:
      guard let profile else { return first }
      return try WebPProfile.insert(profile, into: first, size: encoding.size, hasAlpha: encoding.channels == 4)
    case .jpeg, .png, .jxl: return first
    }
  }

  /// libjxl refuses or fails on some profiles that other programs read. Their pictures become sRGB.
  private func codedParts() throws(CodecError) -> [[UInt8]] {
    guard encoding.format == .jxl, let profile else { return try encode(profile: []) }
    do throws(CodecError) {
      return try encode(profile: profile)
    } catch {
      guard case .encodingFailed = error else { throw error }
    }
    convertToSRGB(from: profile)
    return try encode(profile: [])
  }

  private func encode(profile: [UInt8]) throws(CodecError) -> [[UInt8]] {
    let rows = UnsafeRawBufferPointer(start: pixels.pointer, count: encoding.size.pixelCount * encoding.pixelBytes)
    return try workers.encode(encoding, profile: profile, rows: rows, stop: stop)
  }

  /// Leaves the rows unchanged if the profile can't be used.
  private func convertToSRGB(from profile: [UInt8]) {
    let hasAlpha = encoding.channels == 4
    // The profile describes the arriving rows: gray ones may have become RGB of equal samples.
    let isGray = channels < 3
    let source = RowFormat(model: isGray ? .gray : .rgb, hasAlpha: hasAlpha && !isGray, bitsPerChannel: 8)
    let output = ColorTransforms(capacityBytes: 0).outputColor(of: SourceColor(profile: profile), source, as: .srgb)
    guard let transform = output.transform else { return }
    let rowBytes = encoding.size.width * encoding.channels
    let converted = RowBuffer<UInt8>(count: rowBytes, zero: 0)
    for y in 0..<encoding.size.height {
      let row = pixels.pointer + y * rowBytes
      transform.convert(row, to: converted.pointer, pixels: isGray ? rowBytes : encoding.size.width)
      for i in 0..<rowBytes where !hasAlpha || i % 4 != 3 { row[i] = converted.pointer[i] }
    }
  }
}
