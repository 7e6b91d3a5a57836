import ImageCodec
import PhotoModel

/// What a render takes at its height, over-estimated rather than under-: part by part, each as those say who allocate it. The
/// tests hold it against what the allocator sets aside.
struct RenderPrice: Sendable, Hashable {
  /// The decoder's, and what is made of the profile: once, however many pictures share the decode.
  let sourceBytes: Int
  /// The picture's own: axes, rows in flight, those that wait to be turned, and the finished file.
  let outputBytes: Int

  /// - Parameter isConverted: the original's colours may have to be converted: then it is not known yet whether planes stay.
  init(
    _ header: ImageHeader, _ shape: Shape, _ horizontal: ResampleAxis, _ vertical: ResampleAxis, _ planes: [PlaneAxes],
    format: OutputFormat, isConverted: Bool
  ) {
    let isPlanar = !planes.isEmpty
    let decoder = header.decoderBytes(eighths: shape.eighths, inPlanes: isPlanar && !isConverted)
    sourceBytes = Self.fixedBytes + decoder + Self.colorBytes(header, isConverted: isConverted)

    var bytes = 0
    if isPlanar { bytes = Self.planeBytes(planes, header, shape) }
    if !isPlanar || isConverted {
      bytes = max(bytes, Self.rowBytes(header, shape, horizontal, vertical, format, isConverted))
    }
    let size = shape.orientation.apply(to: shape.output)
    let channels = Self.outputChannels(header, format)
    switch format {
    case .jpeg:
      bytes += JPEGEncoder.peakBytes(
        size, channels: channels, quality: shape.quality, profileBytes: header.profileBytes)
    case .png: bytes += PNGEncoder.peakBytes(size, channels: channels, profileBytes: header.profileBytes)
    }
    outputBytes = bytes + horizontal.byteCount + vertical.byteCount
  }

  /// Objects, closures, and what else is small.
  private static let fixedBytes = 32 * 1024

  /// The profile as it is read and put together. Where it is converted from, what Little CMS makes of it too: a copy, its
  /// tables in 16 bits, and those of the conversion, of 33 points a side for RGB and 17 for inks (cmsopt.c).
  private static func colorBytes(_ header: ImageHeader, isConverted: Bool) -> Int {
    if header.profileBytes == 0 && header.calibration == nil { return 0 }
    let conversion = header.profileBytes * 2 + (header.colorChannels == 4 ? 1 << 20 : 256 << 10)
    return 64 * 1024 + header.profileBytes * 3 + (isConverted ? conversion : 0)
  }

  private static func outputChannels(_ header: ImageHeader, _ format: OutputFormat) -> Int {
    let color = header.colorChannels == 1 ? 1 : 3
    return header.hasAlpha && format.carriesAlpha ? color + 1 : color
  }

  private static func planeBytes(_ planes: [PlaneAxes], _ header: ImageHeader, _ shape: Shape) -> Int {
    // What arrives at once is at most four blocks high, and padded to at most four blocks.
    planes.reduce(0) { sum, plane in
      sum + plane.horizontal.byteCount + plane.vertical.byteCount
        + PlaneScaler.byteCount(plane, rowBytes: plane.horizontal.inputLength + 32, rowsAtOnce: 32)
        + PlaneWriter.byteCount(plane.storedOutput, shape.orientation)
    }
  }

  private static func rowBytes(
    _ header: ImageHeader, _ shape: Shape, _ horizontal: ResampleAxis, _ vertical: ResampleAxis,
    _ format: OutputFormat, _ isConverted: Bool
  ) -> Int {
    // A JPEG is decoded from a whole MCU on, of at most 32 pixels.
    let width = min(horizontal.inputLength, horizontal.inputRange.count + 2 * 32)
    let channels = header.colorChannels + (header.hasAlpha ? 1 : 0)
    let isFloat = header.hasAlpha || header.bitsPerChannel == 16
    let resampler =
      isFloat
      ? FloatResampler.byteCount(
        horizontal, vertical, width: width, pixelBytes: channels * header.bitsPerChannel / 8)
      : IntegerResampler.byteCount(horizontal, vertical, width: width, channels: channels)
    return resampler
      + OutputWriter.byteCount(
        shape.output, channels: outputChannels(header, format), arrivingBytes: isConverted ? channels * 2 : 0,
        shape.orientation)
  }
}
