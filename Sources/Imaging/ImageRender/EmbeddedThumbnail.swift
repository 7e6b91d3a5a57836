// Finds and renders the small JPEGs that a camera embeds in a picture's file: a degraded frame for a hundredth of the
// cost. There may be one in the EXIF block (IFD1), and many files have one or two larger previews after the picture
// (CIPA DC-007).
//
// The EXIF thumbnail is often 160x120 whatever the picture's aspect ratio, padded with black bars, and some programs
// crop a picture but leave its old thumbnails. So a thumbnail is used only if its aspect ratio equals the picture's, or
// equals it after removing bars that really are dark.

import ImageCodec
import MediaMetadata
import PhotoModel

package struct EmbeddedThumbnail: Sendable {
  /// Thumbnails up to this size are rendered without a memory reservation. The standard limits them (a whole EXIF block
  /// is at most 64 KiB, DC-008 §4.5.4); together with baseline coding that limits the memory of a frame to under 4 MiB.
  package static let unreservedBytes = 65_536
  static let unreservedSide = 640
  /// Previews are larger, and frames from them need a reservation. Previews over this size are ignored: they are hardly
  /// quicker than the picture, and are held in memory. Final frames of RAW files are made from previews of any size, as
  /// from a JPEG: see `RenderPlanner.plan`.
  static let maximumBytes = 2 << 20
  static let maximumSide = 2048
  /// A thumbnail with more than this many times the wanted pixels on a side is not used: decoding it would cost what it
  /// saves.
  private static let maximumOversampling = 4.0
  /// Bars are black, but JPEG ringing from a bright picture reaches into them, as far as a block of 8.
  private static let brightestBar = 48

  private let range: ByteRange
  private let header: ImageHeader
  /// The part of the thumbnail that shows the picture: whole pixels without any bar.
  private let content: PixelRect
  /// Whether the thumbnail has the picture's colours, because a camera scales down the stored picture. Otherwise it has
  /// its own, which are sRGB if it does not describe them.
  private let usesPictureColor: Bool
  /// Height (or width) of each of the two bars; 0 if there are none.
  private let bars: Int
  private let isLetterbox: Bool

  /// The best thumbnail for a request: the smallest that has the requested pixels, else the largest. `nil` if none
  /// shows this picture. Reads only headers.
  package static func best(
    for request: SizedRequest, of picture: ImageHeader, in source: any ByteSource, limits: CodecLimits
  ) -> EmbeddedThumbnail? {
    let planner = RenderPlanner()
    let final = planner.preview(picture, for: request)
    // The preview that would be the final frame is quicker than the development of the sensor data.
    let isDeveloped = planner.needsDevelopment(picture, request)
    let largest = isDeveloped ? picture.raw.map { [$0.range] } ?? [] : []
    let candidates = ([picture.embeddedThumbnail].compactMap(\.self) + picture.previews + largest)
      .compactMap { EmbeddedThumbnail(at: $0, in: source, of: picture, limits: limits) }
      .filter { isDeveloped || $0.isSmaller(than: final, of: picture) }
      .sorted { $0.content.width < $1.content.width }
    let wanted = wantedWidth(request, picture)
    guard let enough = candidates.firstIndex(where: { Double($0.content.width) >= wanted - 1 }) else {
      return candidates.last
    }
    let isFarTooLarge = Double(candidates[enough].content.width) > maximumOversampling * wanted
    return isFarTooLarge && enough > 0 ? candidates[enough - 1] : candidates[enough]
  }

  /// The width that a thumbnail of the whole picture must have for a request.
  private static func wantedWidth(_ request: SizedRequest, _ picture: ImageHeader) -> Double {
    let sizes = request.sizes(of: picture.uprightSize)
    return Double(picture.storedSize.width) * Double(sizes.scaled.width) / Double(sizes.crop.width)
  }

  /// Whether it has all pixels of a request, and not so many that decoding it would cost what it saves.
  package func hasPixels(of request: SizedRequest, of picture: ImageHeader) -> Bool {
    let wanted = Self.wantedWidth(request, picture)
    return Double(content.width) >= wanted - 1 && Double(content.width) <= Self.maximumOversampling * wanted
  }

  /// The final frame of a RAW file is also made from a preview, so only a smaller preview is quicker.
  private func isSmaller(than final: ImageHeader, of picture: ImageHeader) -> Bool {
    picture.raw == nil || content.width < final.storedSize.width
  }

  /// Reads the header and decides from it. `nil` if this is not a thumbnail of the picture, of an unusable kind, or
  /// can't be read: then the frame is made in another way.
  package init?(at range: ByteRange, in source: any ByteSource, of picture: ImageHeader, limits: CodecLimits) {
    guard range.length <= Self.maximumBytes, picture.profileBytes <= Self.maximumBytes,
      let header = try? ImageHeader.read(from: ByteSourceSlice(source, range), limits: limits),
      header.format == .jpeg, !header.isBuffered,
      max(header.storedSize.width, header.storedSize.height) <= Self.maximumSide
    else { return nil }
    self.range = range
    self.header = header
    // Decide here whether the picture's colour description applies to its thumbnail; read its content only when needed.
    // The description of a gray picture does not apply to a colour thumbnail, and CMYK pictures are shown as sRGB, like
    // their thumbnails.
    let isDescribed = picture.embeddedProfile != nil || picture.calibration != nil
    usesPictureColor = header.embeddedProfile == nil && picture.colorChannels != 4 && isDescribed
    if usesPictureColor && header.colorChannels != picture.colorChannels { return nil }
    // Only the picture's decoder knows the profile, and starting it takes longer than a thumbnail is worth.
    if usesPictureColor && picture.embeddedProfile == .coded { return nil }
    bars = Self.bars(header.storedSize, picture.storedSize)
    let (width, height) = (header.storedSize.width, header.storedSize.height)
    isLetterbox = Self.isWider(picture.storedSize, than: header.storedSize)
    content =
      isLetterbox
      ? PixelRect(x: 0, y: bars, width: width, height: height - 2 * bars)
      : PixelRect(x: bars, y: 0, width: width - 2 * bars, height: height)
    if bars == 0 { return }
    // A thumbnail with bars is held in memory completely, to examine the bars.
    guard min(content.width, content.height) >= 16, Self.hasFourThirds(header.storedSize),
      max(width, height) <= Self.unreservedSide
    else { return nil }
  }

  /// Memory to reserve for a frame from this thumbnail; 0 if so little is needed that no reservation is necessary.
  package func peakBytes(for request: SizedRequest, of picture: ImageHeader) -> Int {
    peakBytes(picture) { plan($0, request, picture) }
  }

  /// Memory to reserve for the thumbnail's pixels; 0 if so little is needed that no reservation is necessary.
  package func peakBytes(side: Int, of picture: ImageHeader) -> Int {
    peakBytes(picture) { pixelPlan($0, side: side, picture) }
  }

  private func peakBytes(_ picture: ImageHeader, _ plan: (ImageHeader) -> RenderPlan) -> Int {
    let profileBytes = usesPictureColor ? picture.profileBytes : 0
    let isSmall =
      range.length <= Self.unreservedBytes && profileBytes <= Self.unreservedBytes
      && max(header.storedSize.width, header.storedSize.height) <= Self.unreservedSide
    if isSmall { return 0 }
    var described = header
    if usesPictureColor {
      described.embeddedProfile = picture.embeddedProfile
      described.calibration = picture.calibration
    }
    return plan(described).peakBytes + range.length
  }

  /// The frame for a request. If possible these are the thumbnail's own bytes, with the picture's profile inserted if
  /// it has one; otherwise the thumbnail is trimmed, rotated, converted and encoded again. `nil` if the expected bars
  /// are not dark: the thumbnail then shows another picture.
  ///
  /// - Throws: ``CodecError``; also for damage that libjpeg would tolerate, because better sources exist.
  package func render(
    for wanted: SizedRequest, of picture: ImageHeader, in source: any ByteSource, transforms: ColorTransforms? = nil,
    limits: CodecLimits, stop: StopFlag
  ) throws(CodecError) -> RenderedImage? {
    let bytes = try source.codecBytes(at: range.offset, count: range.length)
    let plan = plan(header, wanted, picture)
    let output = try color(
      plan, bytes, picture, in: source, transforms ?? ColorTransforms(capacityBytes: 0), limits)
    let serves =
      bars == 0 && plan.outputSize == header.storedSize && picture.orientation == .topLeft
      && plan.orientation == .topLeft && plan.tone == .color && wanted.request.format == .jpeg
      && wanted.request.normalizedCropRect == nil && wanted.adjustments == nil
    if serves, let unchangedBytes = unchangedBytes(bytes, output) {
      return RenderedImage(
        bytes: unchangedBytes, size: header.storedSize, format: .jpeg, decodedEighths: 8, isIncomplete: false,
        warnings: [])
    }
    guard let renderer = try renderer(plan, bytes, output, encoder: nil, limits, stop) else { return nil }
    let image = try renderer.render()
    try refuseDamage(image.warnings)
    return image
  }

  /// The thumbnail's pixels, upright, at most `side` on a side. Returns `nil` and throws as for a frame.
  package func pixels(
    side: Int, of picture: ImageHeader, in source: any ByteSource, transforms: ColorTransforms, limits: CodecLimits,
    stop: StopFlag
  ) throws(CodecError) -> RenderedPixels? {
    let bytes = try source.codecBytes(at: range.offset, count: range.length)
    let plan = pixelPlan(header, side: side, picture)
    let output = try color(plan, bytes, picture, in: source, transforms, limits)
    guard let renderer = try renderer(plan, bytes, output, encoder: PixelCollector(plan), limits, stop) else {
      return nil
    }
    let pixels = try renderer.pixels()
    try refuseDamage(pixels.warnings)
    return pixels
  }

  /// How the thumbnail's colours are converted.
  private func color(
    _ plan: RenderPlan, _ bytes: [UInt8], _ picture: ImageHeader, in source: any ByteSource,
    _ transforms: ColorTransforms, _ limits: CodecLimits
  ) throws(CodecError) -> OutputColor {
    let color =
      usesPictureColor
      ? try SourceColor(picture, in: source, limits: limits)
      : try SourceColor(header, in: MemoryByteSource(bytes), limits: limits)
    return transforms.outputColor(of: color, plan.sourceRows, as: plan.colorSpace)
  }

  /// The renderer for a plan; `nil` if the expected bars are not dark.
  private func renderer(
    _ plan: RenderPlan, _ bytes: [UInt8], _ output: OutputColor, encoder: (any RowEncoder)?, _ limits: CodecLimits,
    _ stop: StopFlag
  ) throws(CodecError) -> Renderer? {
    let source = MemoryByteSource(bytes)
    guard bars > 0 else {
      return try Renderer(plan, source: source, color: output, encoder: encoder, limits: limits, stop: stop)
    }
    let decoder = try JPEGDecoder(
      source: source, size: header.storedSize, options: JPEGDecoder.Options(eighths: 8), limits: limits, stop: stop)
    let buffered = BufferedPicture(of: decoder)
    _ = try decoder.decode(into: buffered)
    guard buffered.barsAreDark(max(1, bars / 2), isLetterbox: isLetterbox, Self.brightestBar) else { return nil }
    return Renderer(plan, decoder: buffered, color: output, encoder: encoder, stop: stop)
  }

  /// A damaged thumbnail is not shown. A profile that was ignored is not damage here; the final frame reports it.
  private func refuseDamage(_ warnings: [CodecWarnings]) throws(CodecError) {
    if let warnings = warnings.first(where: { $0.library != CodecWarnings.colorLibrary }) {
      throw .malformed(warnings.first, offset: range.offset)
    }
  }

  /// The thumbnail's bytes with its colour description inserted; `nil` if that would not be a valid JPEG in the
  /// requested colours.
  private func unchangedBytes(_ bytes: [UInt8], _ output: OutputColor) -> [UInt8]? {
    let hasItsProfile = header.embeddedProfile != nil
    // If the pixels must be sRGB, the thumbnail's own profile has to be removed, which needs a new encoding.
    guard output.transform == nil, !(hasItsProfile && output.profile == nil),
      let length = JPEGMarkers.lengthOfPlainBaseline(bytes)
    else { return nil }
    let plain = length == bytes.count ? bytes : Array(bytes[..<length])
    return (hasItsProfile ? nil : output.profile).map { JPEGProfileParts.insert($0, into: plain) } ?? plain
  }

  private func plan(_ header: ImageHeader, _ request: SizedRequest, _ picture: ImageHeader) -> RenderPlan {
    RenderPlanner().thumbnailPlan(header, content: bars > 0 ? content : nil, of: picture, request)
  }

  private func pixelPlan(_ header: ImageHeader, side: Int, _ picture: ImageHeader) -> RenderPlan {
    RenderPlanner().pixelPlan(
      header, side: side, content: bars > 0 ? content : nil, orientation: picture.orientation)
  }

  /// The height (or width) of each of the two bars that gives the rest the picture's aspect ratio, rounded up. 0 if
  /// there are no bars.
  private static func bars(_ thumbnail: PixelSize, _ picture: PixelSize) -> Int {
    let width = Double(thumbnail.width)
    let height = Double(thumbnail.height)
    let aspect = Double(picture.width) / Double(picture.height)
    let bars = isWider(picture, than: thumbnail) ? (height - width / aspect) / 2 : (width - height * aspect) / 2
    // Less than one row on each side is a rounding difference.
    return bars < 1 ? 0 : Int(bars.rounded(.up))
  }

  private static func isWider(_ a: PixelSize, than b: PixelSize) -> Bool { a.width * b.height > b.width * a.height }

  /// Whether a thumbnail has the shape that is known to come with bars: 160x120, in landscape or portrait.
  private static func hasFourThirds(_ size: PixelSize) -> Bool {
    abs(max(size.width, size.height) * 3 - min(size.width, size.height) * 4) <= 4
  }
}
