import ImageCodec
import PhotoModel

/// Makes plans. A pure function of header and request, so that equal requests get equal pictures.
package struct RenderPlanner: Sendable {
  /// Goes up whenever the same request would give other bytes than before: it is part of every key and entity tag.
  package static let epoch = 5

  package init() {}

  /// The plan of a final frame.
  package func plan(_ header: ImageHeader, _ request: ImageRequest) -> RenderPlan {
    let (region, output) = stored(header, request)
    return plan(
      header, region: region, storedOutput: output, orientation: header.orientation,
      eighths: eighths(header, region, output), request: request)
  }

  /// The plan of a degraded frame from a JPEG's own coefficients: a decode at 1/8, for a progressive file of its first
  /// scan alone. `nil` where that would not be quicker than the final frame.
  ///
  /// Nor is it where the final frame itself is decoded at 1/8 or 1/4: of a 12 MP photograph at 400 px the degraded frame
  /// would come after 31 ms and put off the final one from 33 ms to 63, and show as many pixels.
  package func degradedPlan(_ header: ImageHeader, _ request: ImageRequest) -> RenderPlan? {
    guard header.format == .jpeg else { return nil }
    let (region, output) = stored(header, request)
    guard header.isProgressive || eighths(header, region, output) >= 4 else { return nil }
    let available = (width: region.width / 8, height: region.height / 8)
    return plan(
      header, region: region, storedOutput: Self.shrunk(output, into: available), orientation: header.orientation,
      eighths: 1, firstScanOnly: header.isProgressive, request: request)
  }

  /// The plan of a degraded frame from the thumbnail that stands for a picture.
  ///
  /// - Parameters:
  ///   - thumbnail: the thumbnail's own header.
  ///   - trimmed: the part of the thumbnail that shows the picture, where it has bars.
  package func thumbnailPlan(
    _ thumbnail: ImageHeader, content trimmed: PixelRect?, of header: ImageHeader, _ request: ImageRequest
  ) -> RenderPlan {
    let (region, output) = stored(header, request)
    let (width, height) = (thumbnail.storedSize.width, thumbnail.storedSize.height)
    let content = trimmed ?? PixelRect(x: 0, y: 0, width: width, height: height)
    let across = Double(content.width) / Double(header.storedSize.width)
    let down = Double(content.height) / Double(header.storedSize.height)
    let part = PixelRegion(
      x: Double(content.x) + region.x * across, y: Double(content.y) + region.y * down, width: region.width * across,
      height: region.height * down)
    let shown = Self.shrunk(output, into: (part.width, part.height))
    // Bars end anywhere, but a scaled decode knows blocks only.
    return plan(
      thumbnail, region: part, storedOutput: shown, orientation: header.orientation,
      eighths: trimmed == nil ? eighths(thumbnail, part, shown) : 8, bounds: trimmed, request: request)
  }

  /// What the size rules give, turned to the way the picture is stored.
  private func stored(_ header: ImageHeader, _ request: ImageRequest) -> (PixelRegion, PixelSize) {
    let rules = SizeRules(request, upright: header.uprightSize)
    let region = header.orientation.stored(rules.region, ofUpright: header.uprightSize)
    return (region, header.orientation.apply(to: rules.output))
  }

  private func plan(
    _ header: ImageHeader, region: PixelRegion, storedOutput: PixelSize, orientation: Orientation, eighths: Int,
    firstScanOnly: Bool = false, bounds: PixelRect? = nil, request: ImageRequest
  ) -> RenderPlan {
    let scale = Double(eighths) / 8
    // libjpeg rounds a scaled side up (jdmaster.c), and its pixel i still covers exactly [8i/s, 8(i+1)/s).
    func decoded(_ side: Int) -> Int { (side * eighths + 7) / 8 }
    let horizontal = ResampleAxis(
      inputLength: decoded(header.storedSize.width), bounds: bounds.map { $0.x..<$0.x + $0.width },
      position: region.x * scale, length: region.width * scale,
      outputLength: storedOutput.width)
    let vertical = ResampleAxis(
      inputLength: decoded(header.storedSize.height), bounds: bounds.map { $0.y..<$0.y + $0.height },
      position: region.y * scale, length: region.height * scale,
      outputLength: storedOutput.height)
    let shape = Shape(
      region: region, output: storedOutput, orientation: orientation, eighths: eighths,
      quality: request.quality ?? JPEGEncoder.defaultQuality)
    let planes = bounds == nil && request.format == .jpeg ? PlanePlanner.planes(header, shape) : []
    return RenderPlan(
      header: header, region: region, storedOutput: storedOutput, orientation: orientation, eighths: eighths,
      firstScanOnly: firstScanOnly, horizontal: horizontal, vertical: vertical, planes: planes, format: request.format,
      quality: request.quality ?? JPEGEncoder.defaultQuality, colorSpace: request.colorSpace,
      peakBytes: Self.peakBytes(header, horizontal, vertical, planes, storedOutput, orientation))
  }

  /// How many decoded pixels a side an output pixel is to have. A scaled decode cuts off what lies above its own limit
  /// block by block, and what that folds down can't be taken out again by any linear filter: at 1.25 a least-squares
  /// reconstruction gains 0.1 dB over Lanczos where 1 dB is missing. From about 1.5 on nothing is missing.
  private static let oversampling = 1.5

  /// The smallest of the scales with SIMD (1, 2, 4, 8 of 8) that leaves the kernel enough to work with.
  private func eighths(_ header: ImageHeader, _ region: PixelRegion, _ output: PixelSize) -> Int {
    guard header.format == .jpeg else { return 8 }
    let ratio = min(region.width / Double(output.width), region.height / Double(output.height))
    for eighths in [1, 2, 4] where ratio * Double(eighths) / 8 >= Self.oversampling { return eighths }
    return 8
  }

  /// The largest size of the same aspect ratio as `size` that needs no enlarging; at least one pixel each way.
  private static func shrunk(_ size: PixelSize, into available: (width: Double, height: Double)) -> PixelSize {
    let share = min(1, available.width / Double(size.width), available.height / Double(size.height))
    return PixelSize(
      width: max(1, Int((Double(size.width) * share + 0.5).rounded(.down))),
      height: max(1, Int((Double(size.height) * share + 0.5).rounded(.down))))
  }

  private static func peakBytes(
    _ header: ImageHeader, _ horizontal: ResampleAxis, _ vertical: ResampleAxis, _ planes: [PlaneAxes],
    _ output: PixelSize, _ orientation: Orientation
  ) -> Int {
    let isFloat = header.hasAlpha || header.bitsPerChannel == 16
    // The codecs' own rows, tables and 64 KiB buffers.
    var bytes = 512 * 1024 + header.storedSize.width * 64
    // A row as it comes, or as floats; and those that are kept.
    bytes += horizontal.inputLength * 16
    bytes += RowRing.byteCount(
      rowBytes: isFloat ? FloatResampler.rowBytes(horizontal) : horizontal.inputLength * 4, capacity: vertical.taps + 3)
    for plane in planes {
      // What arrives at once is at most four blocks high, and padded to at most four blocks.
      bytes += PlaneScaler.byteCount(plane, rowBytes: plane.horizontal.inputLength + 32, rowsAtOnce: 32)
      bytes += PlaneWriter.byteCount(plane.storedOutput)
    }
    // An output that waits to be turned, and the file that grows: at worst as large as its pixels.
    bytes += output.pixelCount * 4 * (Turning.streams(orientation) ? 1 : 2)
    // Taken into pieces by Little CMS, and written; a transform of inks is a table of half a megabyte and more.
    bytes += header.profileBytes * 3 + (header.profileBytes > 0 && header.colorChannels == 4 ? 2 << 20 : 0)
    if header.isBuffered {
      let pixels = header.storedSize.pixelCount
      switch header.format {
      // Every coefficient in 16 bits, chroma at worst unsampled.
      case .jpeg: bytes += pixels * max(1, header.colorChannels) * 2
      case .png:
        bytes += pixels * (header.colorChannels + (header.hasAlpha ? 1 : 0)) * header.bitsPerChannel / 8
      }
    }
    return bytes
  }
}
