import ImageCodec
import PhotoModel

/// The peak memory of a render, an upper estimate. Each part is the sum of what its allocating types report; tests
/// compare it with what the allocator reserves.
struct RenderPrice: Sendable, Hashable {
  /// The decoder and the colour profile: counted once, however many pictures share the decode.
  let sourceBytes: Int
  /// The picture's own part: axes, rows in flight, rows that wait to be rotated, and the finished file.
  let outputBytes: Int

  /// Nothing, until the plan is complete.
  init() {
    sourceBytes = 0
    outputBytes = 0
  }

  /// - Parameter plan: complete except for its price.
  init(_ plan: RenderPlan) {
    let isPlanar = !plan.planes.isEmpty
    let decoder = plan.header.decoderBytes(eighths: plan.eighths, inPlanes: isPlanar && !plan.mayConvert)
    sourceBytes = Self.fixedBytes + decoder + Self.colorBytes(plan)

    var bytes = Self.planeBytes(plan)
    if !isPlanar || plan.mayConvert { bytes = max(bytes, Self.rowBytes(plan)) }
    bytes += Self.editBytes(plan) + Self.encoderBytes(plan) + Self.gainMapBytes(plan)
    // A row in ToneEncoder.
    bytes += plan.outputSize.width * 2
    outputBytes = bytes + plan.horizontal.byteCount + plan.vertical.byteCount
  }

  /// Objects, closures, and other small allocations.
  private static let fixedBytes = 32 * 1024

  /// The profile while it is read and assembled. If colours are converted from it, also Little CMS's copy, its tables
  /// in 16 bits, and the tables of the conversion: 33 points a side for RGB and 17 for CMYK (cmsopt.c).
  private static func colorBytes(_ plan: RenderPlan) -> Int {
    let header = plan.header
    if header.profileBytes == 0 && header.calibration == nil { return 0 }
    let conversion = header.profileBytes * 2 + (header.colorChannels == 4 ? 1 << 20 : 256 << 10)
    return 64 * 1024 + header.profileBytes * 3 + (plan.mayConvert ? conversion : 0)
  }

  private static func planeBytes(_ plan: RenderPlan) -> Int {
    // Rows that arrive together are at most four blocks high, and padded to at most four blocks.
    plan.planes.reduce(0) { sum, plane in
      sum + plane.horizontal.byteCount + plane.vertical.byteCount
        + PlaneScaler.byteCount(plane, rowBytes: plane.horizontal.inputLength + 32, rowsAtOnce: 32)
        + PlaneWriter.byteCount(plane.storedOutput, plan.orientation)
    }
  }

  private static func rowBytes(_ plan: RenderPlan) -> Int {
    let (header, horizontal, vertical) = (plan.header, plan.horizontal, plan.vertical)
    // A JPEG decode starts at an MCU boundary; an MCU has at most 32 pixels.
    let width = min(horizontal.inputLength, horizontal.inputRange.count + 2 * 32)
    let channels = header.colorChannels + (header.hasAlpha ? 1 : 0)
    let isFloat = header.hasAlpha || header.bitsPerChannel == 16 || plan.outputBits == 16 || plan.isLinear
    let resampler =
      isFloat
      ? FloatResampler.byteCount(
        horizontal, vertical, width: width, pixelBytes: channels * header.bitsPerChannel / 8)
      : IntegerResampler.byteCount(horizontal, vertical, width: width, channels: channels)
    // A row of 8 bits before it is blended over white.
    let blended = plan.dropsAlpha && (plan.mayConvert || plan.isLinear) ? channels : 0
    return resampler + (plan.isLinear ? LinearLight.byteCount(bitsPerChannel: header.bitsPerChannel) : 0)
      + RowWriter.byteCount(
        plan.storedOutput, pixelBytes: plan.rowPixelBytes, earlierBytes: (plan.mayConvert ? channels * 2 : 0) + blended,
        plan.orientation)
  }

  private static func editBytes(_ plan: RenderPlan) -> Int {
    guard let edit = plan.edit else { return 0 }
    let (size, channels) = (plan.tonedSize, plan.rowChannels)
    var bytes = 0
    if !edit.tones.isEmpty { bytes += AdjustingEncoder.byteCount(edit, size: size, channels: channels) }
    if let warp = edit.warp {
      bytes += WarpEncoder.byteCount(warp.map, from: plan.uprightSize, to: size, channels: channels)
    }
    return bytes
  }

  private static func encoderBytes(_ plan: RenderPlan) -> Int {
    let (size, channels, profileBytes) = (plan.outputSize, plan.outputChannels, plan.header.profileBytes)
    switch plan.format {
    case .jpeg:
      return JPEGEncoder.peakBytes(
        size, channels: channels, quality: plan.quality, profileBytes: profileBytes, coding: plan.jpegCoding)
    case .png:
      return PNGEncoder.peakBytes(
        size, channels: channels, bitsPerChannel: plan.outputBits, profileBytes: profileBytes)
    case .webp, .avif, .jxl:
      return WorkerEncoding(
        plan.format, size: size, channels: plan.isHDR ? HDREncoder.workerChannels(of: channels) : channels,
        quality: plan.quality, profileBytes: profileBytes, isHDR: plan.isHDR
      ).peakBytes
    }
  }

  private static func gainMapBytes(_ plan: RenderPlan) -> Int {
    if plan.isHDR { return HDREncoder.byteCount(plan.outputSize) + (plan.gainMap?.fieldPeakBytes ?? 0) }
    guard let gainMap = plan.gainMap else { return 0 }
    return gainMap.peakBytes(
      pictureBytes: JPEGEncoder.maximumBytes(
        plan.outputSize, channels: plan.outputChannels, quality: plan.quality,
        profileBytes: plan.header.profileBytes))
  }
}
