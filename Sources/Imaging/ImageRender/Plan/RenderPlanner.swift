import ImageCodec
import PhotoModel

/// Makes render plans. A pure function of header and request, so that equal requests get equal pictures.
package struct RenderPlanner: Sendable {
  /// Increased whenever the same request would give different bytes: the epoch is part of every key and entity tag.
  package static let epoch = 24

  private let axes: ResampleAxes

  /// - Parameter axes: shares axes among plans. By default none are shared.
  package init(axes: ResampleAxes = ResampleAxes(capacityBytes: 0)) {
    self.axes = axes
  }

  /// The plan of a final frame. For a RAW file, the frame is made from the smallest preview with the requested pixels,
  /// else from the largest, and the plan's header is the preview's.
  package func plan(_ header: ImageHeader, _ wanted: SizedRequest) -> RenderPlan {
    let header = preview(header, for: wanted)
    return plan(header, geometry(header, wanted, eighths: nil), request: wanted.request)
  }

  /// The plan of a final frame for a caller that has only a file: the header gives the picture's size.
  package func plan(_ header: ImageHeader, _ request: ImageRequest) -> RenderPlan {
    plan(header, header.sized(request))
  }

  /// The plan of a final frame at a larger DCT scale than it needs, because another picture shares the decode.
  func plan(_ header: ImageHeader, _ wanted: SizedRequest, eighths: Int) -> RenderPlan {
    plan(header, geometry(header, wanted, eighths: eighths), request: wanted.request)
  }

  /// The result of the size rules, in the orientation in which the picture is stored.
  ///
  /// - Parameter eighths: `nil` for the scale that the picture needs.
  func geometry(_ header: ImageHeader, _ wanted: SizedRequest, eighths: Int?) -> RenderGeometry {
    var geometry = wholeGeometry(header, wanted, eighths: eighths)
    if let raw = header.raw {
      geometry = standIn(header, content: raw.content(of: header.storedSize), for: geometry, of: raw.developedSize)
    } else if let displaySize = header.displaySize {
      // The pixels of a video need not be square: its picture has the size of its display.
      geometry = standIn(header, content: nil, for: geometry, of: displaySize, mayEnlarge: true)
    } else {
      return geometry
    }
    if let eighths { geometry.eighths = eighths }
    return geometry
  }

  /// The geometry in pixels of the whole picture: of the developed picture for a RAW file, of the display size for a
  /// video.
  private func wholeGeometry(_ header: ImageHeader, _ wanted: SizedRequest, eighths: Int?) -> RenderGeometry {
    let upright = header.requestedSize
    if let adjustments = wanted.adjustments {
      return wholeGeometry(header, wanted, adjustments, of: upright, eighths: eighths)
    }
    let sizes = wanted.sizes(of: upright)
    let isLinear = Self.isLinear(header, wanted)
    let scalesDecodes = header.scalesDecodes && !isLinear
    let fastEighths = scalesDecodes ? Self.fastEighths(header, wanted.request, sizes) : nil
    var geometry = RenderGeometry(
      region: header.orientation.stored(sizes.region, ofUpright: upright),
      bounds: header.orientation.stored(PixelRegion(sizes.bounds), ofUpright: upright),
      output: header.orientation.apply(to: sizes.output),
      orientation: header.orientation.followed(by: wanted.request.rotation),
      eighths: eighths ?? fastEighths ?? Self.eighths(sizes, scalesDecodes: scalesDecodes),
      quality: wanted.request.quality ?? JPEGEncoder.defaultQuality, isLinear: isLinear)
    if geometry.eighths == fastEighths { geometry.alignToDecodedPixels() }
    if eighths == nil { geometry.keepEdges(of: header) }
    return geometry
  }

  /// The scale at which a decoder gives a picture of a fast size, which then needs no resampling. `nil` for other sizes.
  private static func fastEighths(_ header: ImageHeader, _ request: ImageRequest, _ sizes: SizeRules) -> Int? {
    // The pixels of libwebp cover other parts of the picture, unless nothing was rounded. Sizes of a RAW file and of a
    // video need not be those of its previews and frames.
    guard request.hasFastSize, header.format != .webp, header.raw == nil, header.displaySize == nil else { return nil }
    return DecodeScale.eighths(for: .exactSize(sizes.scaled, of: header.uprightSize))
  }

  /// Whether the picture is resampled in linear light. CMYK is resampled as stored: inks have no linear-light form.
  private static func isLinear(_ header: ImageHeader, _ wanted: SizedRequest) -> Bool {
    wanted.request.resampling == .linear && header.colorChannels != 4
  }

  /// The geometry of an adjusted picture, in the same pixels.
  private func wholeGeometry(
    _ header: ImageHeader, _ wanted: SizedRequest, _ adjustments: Adjustments, of upright: PixelSize, eighths: Int?
  ) -> RenderGeometry {
    let adjusted = AdjustedGeometry(adjustments, of: upright)
    let edited = EditGeometry(
      adjustments, wanted.sizes(of: adjusted.size), turnedBy: wanted.request.rotation, adjusted, of: upright,
      isGray: header.colorChannels == 1)
    let orientation = header.orientation.followed(by: edited.orientation)
    let (region, output) = (edited.region, edited.orientation.apply(to: edited.upright))
    let reduction = min(region.width / Double(output.width), region.height / Double(output.height))
    let isLinear = Self.isLinear(header, wanted)
    var geometry = RenderGeometry(
      region: header.orientation.stored(region, ofUpright: upright),
      bounds: header.orientation.stored(edited.bounds, ofUpright: upright),
      output: orientation.apply(to: edited.upright), orientation: orientation,
      eighths: eighths ?? Self.eighths(reduction: reduction, header.scalesDecodes && !isLinear),
      quality: wanted.request.quality ?? JPEGEncoder.defaultQuality, isLinear: isLinear, edit: edited.edit)
    if eighths == nil { geometry.keepEdges(of: header) }
    return geometry
  }

  /// The preview from which the final frame of a RAW file is made; other headers are returned unchanged.
  func preview(_ header: ImageHeader, for wanted: SizedRequest) -> ImageHeader {
    guard let raw = header.raw else { return header }
    let geometry = wholeGeometry(header, wanted, eighths: nil)
    return header.preview(
      ofWidth: Double(raw.developedSize.width) * Double(geometry.output.width) / geometry.region.width)
  }

  /// The scale, in eighths, at which the picture of a header is decoded for a request when its decode is not shared.
  ///
  /// - Parameter header: the header of a plan.
  package func eighths(_ header: ImageHeader, _ wanted: SizedRequest) -> Int {
    geometry(header, wanted, eighths: nil).eighths
  }

  /// Whether the final frame of a request has the requested size. False for a RAW file whose preview has fewer pixels
  /// or another aspect ratio.
  package func hasPixels(_ header: ImageHeader, _ wanted: SizedRequest) -> Bool {
    guard header.raw != nil else { return true }
    return finishedSize(header, wanted) == wanted.outputSize
  }

  /// The plan of a final frame from the sensor data of a RAW file; `nil` unless it ``needsDevelopment(_:_:)``. If this
  /// fails, the final frame must be made from the previews.
  package func developmentPlan(_ header: ImageHeader, _ wanted: SizedRequest) -> RenderPlan? {
    guard needsDevelopment(header, wanted), let developed = header.developed else { return nil }
    return plan(developed, wanted)
  }

  /// Whether the sensor data of a RAW file can be developed, and its previews do not serve
  /// (``previewsLackPixels(_:_:)``).
  package func needsDevelopment(_ header: ImageHeader, _ wanted: SizedRequest) -> Bool {
    guard let raw = header.raw, let sensor = raw.sensor else { return false }
    return raw.developedSize != sensor.size || previewsLackPixels(header, wanted)
  }

  /// Whether the previews of a RAW file have fewer pixels than the request, or another aspect ratio. Cameras cut a few
  /// rows and columns off their largest preview, so a difference of a fiftieth does not count
  /// (``RAWPreview/hasAspect(of:)``). False for other files.
  package func previewsLackPixels(_ header: ImageHeader, _ wanted: SizedRequest) -> Bool {
    guard header.raw != nil else { return false }
    let (found, asked) = (finishedSize(header, wanted), wanted.outputSize)
    return found.width * 50 < asked.width * 49 || found.height * 50 < asked.height * 49
  }

  /// The size of the final frame from a file's previews.
  private func finishedSize(_ header: ImageHeader, _ wanted: SizedRequest) -> PixelSize {
    geometry(preview(header, for: wanted), wanted, eighths: nil).finishedSize
  }

  /// The plan of pixels for computation: the whole picture, in sRGB, with its alpha.
  ///
  /// For averages, a block's mean is as good as a resampling kernel. So a JPEG is decoded at the largest scale that is
  /// small enough, and resampled only if 1/8 is still too large; from a progressive file that needs only the DC
  /// coefficients.
  ///
  /// - Parameters:
  ///   - side: maximum of the longest side of the pixels.
  ///   - trimmed: the part of a thumbnail that shows the picture, if it has bars.
  ///   - orientation: of the picture that the thumbnail stands for; by default the file's own.
  package func pixelPlan(
    _ header: ImageHeader, side: Int, content trimmed: PixelRect? = nil, orientation: Orientation? = nil
  ) -> RenderPlan {
    let header = header.preview(ofLongerSide: side)
    let shown = trimmed ?? PixelRect(header.storedSize)
    let longer = max(shown.width, shown.height)
    let isScaled = header.scalesDecodes && trimmed == nil
    let eighths = isScaled ? DecodeScale.eighths(for: .averages(longerSide: longer, atMost: side)) ?? 1 : 8
    let share = min(Double(eighths) / 8, Double(side) / Double(longer))
    let region = PixelRegion(shown)
    let geometry = RenderGeometry(
      region: region, bounds: region,
      output: Self.shrunk(shown.size, into: (region.width * share, region.height * share)),
      orientation: orientation ?? header.orientation, eighths: eighths, quality: JPEGEncoder.defaultQuality)
    return plan(
      header, geometry, firstScanOnly: eighths == 1 && header.isProgressive, isTrimmed: trimmed != nil,
      request: ImageRequest(format: .png, colorSpace: .srgb))
  }

  /// - Parameters:
  ///   - isTrimmed: whether the geometry leaves out the bars of a thumbnail.
  ///   - isConverted: whether colours are converted although the header gives no reason.
  ///   - hasDeepRows: whether rows have 16 bits although the picture has 8.
  func plan(
    _ header: ImageHeader, _ geometry: RenderGeometry, firstScanOnly: Bool = false, isTrimmed: Bool = false,
    request: ImageRequest, finalCoding: JPEGCoding? = nil, isConverted: Bool = false, hasDeepRows: Bool = false
  ) -> RenderPlan {
    let (region, bounds, output, eighths) = (geometry.region, geometry.bounds, geometry.output, geometry.eighths)
    let stored = header.storedSize
    // libjpeg rounds a scaled side up (jdmaster.c), and its pixel i still covers exactly [8i/s, 8(i+1)/s); so do boxes.
    func decoded(_ side: Int) -> Int { (side * eighths + 7) / 8 }
    // libwebp's scaled pixels cover the whole side evenly.
    func scale(_ side: Int) -> Double {
      header.format == .webp ? Double(decoded(side)) / Double(side) : Double(eighths) / 8
    }
    let (across, down) = (scale(stored.width), scale(stored.height))
    let (columns, rows) = (decoded(stored.width), decoded(stored.height))
    let horizontal = axes.axis(
      inputLength: columns,
      within: RenderGeometry.span(bounds.x, bounds.width, of: stored.width, density: across, count: columns),
      position: region.x * across, length: region.width * across, outputLength: output.width)
    let vertical = axes.axis(
      inputLength: rows,
      within: RenderGeometry.span(bounds.y, bounds.height, of: stored.height, density: down, count: rows),
      position: region.y * down, length: region.height * down, outputLength: output.height)
    // Readers of these formats make RGB of gray, which a profile of gray does not describe.
    let isGrayAsRGB = header.colorChannels == 1 && (request.format == .webp || request.format == .avif)
    let colorSpace = isGrayAsRGB ? .srgb : request.colorSpace
    let staysInPlanes = !isTrimmed && request.format == .jpeg && request.tone == .color
    let planes = staysInPlanes ? PlanePlanner.planes(header, geometry, axes) : []
    // A fast size has more pixels than the exact one, and is for clients in a hurry.
    let finalCoding =
      request.hasFastSize
      ? .tuned : finalCoding ?? JPEGCoding(finalFrameOf: geometry.orientation.apply(to: output))
    let coding = request.deliveryMode == .fastFormat ? .quick : finalCoding
    let isDeep =
      request.bitDepth > 8 && header.bitsPerChannel == 16 && request.format == .png && request.tone == .color
      && geometry.edit == nil
    let gainMap = !isTrimmed ? gainMap(header, geometry, request) : nil
    let isHDR =
      request.mayBeHDR && !isTrimmed && geometry.edit == nil
      && (gainMap != nil || header.isCodedInHDR)
    let readsColors = isHDR && (header.embeddedProfile != nil || header.calibration != nil)
    return RenderPlan(
      header, geometry, request, horizontal: horizontal, vertical: vertical, planes: planes,
      firstScanOnly: firstScanOnly, jpegCoding: coding, colorSpace: colorSpace,
      outputBits: isDeep || isHDR || hasDeepRows ? 16 : 8, gainMap: gainMap, isHDR: isHDR,
      mayConvert: isConverted || readsColors || header.mayConvert(to: colorSpace))
  }

  /// The scale, in eighths, at which a picture of an exact size is decoded when its decode is not shared; 8 if the
  /// decoder can't scale. Edges of a crop may need a larger one (``RenderGeometry/keepEdges(of:)``). A frame from a shared
  /// decode may use a larger scale too, so every name of a frame must include the scale.
  ///
  /// - Parameter scalesDecodes: ``ImageHeader/scalesDecodes``.
  package static func eighths(_ sizes: SizeRules, scalesDecodes: Bool) -> Int {
    eighths(reduction: sizes.reduction, scalesDecodes)
  }

  /// The scale for a reduction: the number of the picture's pixels for each output pixel, in each direction.
  static func eighths(reduction: Double, _ scalesDecodes: Bool) -> Int {
    scalesDecodes ? DecodeScale.eighths(for: .resampling(reduction: reduction)) ?? 8 : 8
  }

  /// The largest size with the aspect ratio of `size` that needs no enlarging; at least one pixel in each direction.
  static func shrunk(_ size: PixelSize, into available: (width: Double, height: Double)) -> PixelSize {
    let share = min(1, available.width / Double(size.width), available.height / Double(size.height))
    return PixelSize(
      width: max(1, Int((Double(size.width) * share + 0.5).rounded(.down))),
      height: max(1, Int((Double(size.height) * share + 0.5).rounded(.down))))
  }
}

extension ImageHeader {
  /// The request, sized for this picture.
  package func sized(_ request: ImageRequest) -> SizedRequest { SizedRequest(request, upright: requestedSize) }

  /// The request, sized for this picture with adjustments.
  package func sized(_ request: ImageRequest, _ adjustments: Adjustments?) -> SizedRequest {
    guard let adjustments else { return sized(request) }
    let adjusted = AdjustedGeometry(adjustments, of: requestedSize)
    return SizedRequest(request, upright: adjusted.size, adjustments: adjustments)
  }
}
