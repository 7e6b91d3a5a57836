import ImageCodec
import PhotoModel

/// The peak memory of a render, an upper estimate. Each part is the sum of what its allocating types report; tests
/// compare it with what the allocator reserves.
struct RenderPrice: Sendable, Hashable {
  /// The decoder and the colour profile: counted once, however many pictures share the decode.
  let sourceBytes: Int
  /// The picture's own part: axes, rows in flight, rows that wait to be rotated, and the finished file.
  let outputBytes: Int

  /// - Parameter isConverted: whether the colours may need converting; it is then not yet known whether the picture
  ///   stays in planes.
  init(
    _ header: ImageHeader, _ geometry: RenderGeometry, _ horizontal: ResampleAxis, _ vertical: ResampleAxis,
    _ planes: [PlaneAxes],
    format: OutputFormat, outputBits: Int, coding: JPEGCoding, isConverted: Bool, _ gainMap: GainMapPlan? = nil,
    isHDR: Bool = false
  ) {
    let isPlanar = !planes.isEmpty
    let decoder = header.decoderBytes(eighths: geometry.eighths, inPlanes: isPlanar && !isConverted)
    sourceBytes = Self.fixedBytes + decoder + Self.colorBytes(header, isConverted: isConverted)

    let channels = header.outputChannels(in: format)
    let rowChannels = header.rowChannels(in: format, geometry.edit)
    var bytes = 0
    if isPlanar { bytes = Self.planeBytes(planes, header, geometry) }
    if !isPlanar || isConverted {
      let pixelBytes = rowChannels * outputBits / 8
      bytes = max(
        bytes,
        Self.rowBytes(
          header, geometry, horizontal, vertical, pixelBytes: pixelBytes, isConverted, isDeep: outputBits == 16,
          dropsAlpha: header.dropsAlpha(in: format, geometry.edit)))
    }
    bytes += Self.editBytes(geometry, channels: rowChannels)
    let size = geometry.finishedSize
    bytes += Self.encoderBytes(
      header, geometry, channels: channels, format: format, outputBits: outputBits, coding: coding,
      isHDR: isHDR)
    if isHDR {
      bytes += HDREncoder.byteCount(size) + (gainMap?.fieldPeakBytes ?? 0)
    } else if let gainMap {
      bytes += gainMap.peakBytes(
        pictureBytes: JPEGEncoder.maximumBytes(
          size, channels: channels, quality: geometry.quality, profileBytes: header.profileBytes))
    }
    // A row of a picture in another tone.
    bytes += size.width * 2
    outputBytes = bytes + horizontal.byteCount + vertical.byteCount
  }

  private static func editBytes(_ geometry: RenderGeometry, channels: Int) -> Int {
    guard let edit = geometry.edit else { return 0 }
    let upright = geometry.orientation.apply(to: geometry.output)
    let size = edit.tonedSize(upright)
    var bytes = 0
    if !edit.tones.isEmpty { bytes += AdjustingEncoder.byteCount(edit, size: size, channels: channels) }
    if let warp = edit.warp {
      bytes += WarpEncoder.byteCount(warp.map, from: upright, to: size, channels: channels)
    }
    return bytes
  }

  private static func encoderBytes(
    _ header: ImageHeader, _ geometry: RenderGeometry, channels: Int, format: OutputFormat, outputBits: Int,
    coding: JPEGCoding, isHDR: Bool
  ) -> Int {
    let size = geometry.finishedSize
    switch format {
    case .jpeg:
      return JPEGEncoder.peakBytes(
        size, channels: channels, quality: geometry.quality, profileBytes: header.profileBytes, coding: coding)
    case .png:
      return PNGEncoder.peakBytes(
        size, channels: channels, bitsPerChannel: outputBits, profileBytes: header.profileBytes)
    case .webp, .avif, .jxl:
      return WorkerEncoding(
        format, size: size,
        channels: isHDR ? HDREncoder.workerChannels(of: channels) : channels,
        quality: geometry.quality, profileBytes: header.profileBytes, isHDR: isHDR
      ).peakBytes
    }
  }

  /// Objects, closures, and other small allocations.
  private static let fixedBytes = 32 * 1024

  /// The profile while it is read and assembled. If colours are converted from it, also Little CMS's copy, its tables
  /// in 16 bits, and those of the conversion: 33 points a side for RGB and 17 for inks (cmsopt.c).
  private static func colorBytes(_ header: ImageHeader, isConverted: Bool) -> Int {
    if header.profileBytes == 0 && header.calibration == nil { return 0 }
    let conversion = header.profileBytes * 2 + (header.colorChannels == 4 ? 1 << 20 : 256 << 10)
    return 64 * 1024 + header.profileBytes * 3 + (isConverted ? conversion : 0)
  }

  private static func planeBytes(_ planes: [PlaneAxes], _ header: ImageHeader, _ geometry: RenderGeometry) -> Int {
    // Rows that arrive together are at most four blocks high, and padded to at most four blocks.
    planes.reduce(0) { sum, plane in
      sum + plane.horizontal.byteCount + plane.vertical.byteCount
        + PlaneScaler.byteCount(plane, rowBytes: plane.horizontal.inputLength + 32, rowsAtOnce: 32)
        + PlaneWriter.byteCount(plane.storedOutput, geometry.orientation)
    }
  }

  private static func rowBytes(
    _ header: ImageHeader, _ geometry: RenderGeometry, _ horizontal: ResampleAxis, _ vertical: ResampleAxis,
    pixelBytes: Int, _ isConverted: Bool, isDeep: Bool, dropsAlpha: Bool
  ) -> Int {
    // A JPEG decode starts at an MCU boundary; an MCU has at most 32 pixels.
    let width = min(horizontal.inputLength, horizontal.inputRange.count + 2 * 32)
    let channels = header.colorChannels + (header.hasAlpha ? 1 : 0)
    let isFloat = header.hasAlpha || header.bitsPerChannel == 16 || isDeep || geometry.isLinear
    let resampler =
      isFloat
      ? FloatResampler.byteCount(
        horizontal, vertical, width: width, pixelBytes: channels * header.bitsPerChannel / 8)
      : IntegerResampler.byteCount(horizontal, vertical, width: width, channels: channels)
    // A row of 8 bits before it is blended over white.
    let blended = dropsAlpha && (isConverted || geometry.isLinear) ? channels : 0
    return resampler + (geometry.isLinear ? LinearLight.byteCount(bitsPerChannel: header.bitsPerChannel) : 0)
      + RowWriter.byteCount(
        geometry.output, pixelBytes: pixelBytes, earlierBytes: (isConverted ? channels * 2 : 0) + blended,
        geometry.orientation)
  }
}
