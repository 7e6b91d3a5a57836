// The small JPEGs that a camera puts beside a picture: a degraded frame for a hundredth of the price. One in the EXIF block
// (IFD1), and in many files a larger preview or two behind the picture (CIPA DC-007).
//
// The one in the EXIF block is often 160x120 whatever the picture's aspect ratio, with black bars to fill it, and some
// programs crop a picture and leave its thumbnails behind. So their aspect ratio decides: that of the picture, that of the
// picture plus bars which really are dark, or they are not used.

import ImageCodec
import MediaMetadata
import PhotoModel

package struct EmbeddedThumbnail: Sendable {
  /// What is small by the standard (a whole EXIF block is at most 64 KiB, DC-008 §4.5.4), together with baseline coding
  /// bounds what a frame from it takes, which is not reserved: under 4 MiB.
  package static let unreservedBytes = 65_536
  package static let unreservedSide = 640
  /// Previews are larger; a frame from one is rendered with a reservation, and one beyond these is not looked at.
  package static let maximumBytes = 2 << 20
  package static let maximumSide = 2048
  /// How many times as many pixels a side as wanted are too many: decoding them would cost what the thumbnail saves.
  private static let excess = 4.0
  /// Bars are black, but a bright picture rings into them, as far as a block of 8 reaches.
  private static let brightestBar = 48

  private let range: ByteRange
  private let header: ImageHeader
  /// The part of the thumbnail that shows the picture: whole pixels, none of which are bar.
  private let content: PixelRect
  /// The picture's colours are its colours, for a camera scales down what it stores; else its own are, which are sRGB where
  /// it does not describe them.
  private let takesColor: Bool
  /// How high (or wide) each of two bars is; 0: none.
  private let bars: Int
  private let isLetterbox: Bool

  /// The one that serves a request best: the smallest that has the pixels it asks for, else the largest. `nil`: there is
  /// none of this picture. Reads their headers only.
  package static func best(
    for request: ImageRequest, of picture: ImageHeader, in source: any ByteSource, limits: CodecLimits
  ) -> EmbeddedThumbnail? {
    let candidates = ([picture.embeddedThumbnail].compactMap(\.self) + picture.previews)
      .compactMap { EmbeddedThumbnail(at: $0, in: source, of: picture, limits: limits) }
      .sorted { $0.content.width < $1.content.width }
    let rules = SizeRules(request, upright: picture.uprightSize)
    let wanted = Double(picture.storedSize.width) * Double(rules.scaled.width) / Double(rules.frame.width)
    guard let enough = candidates.firstIndex(where: { Double($0.content.width) >= wanted - 1 }) else {
      return candidates.last
    }
    let isFarTooLarge = Double(candidates[enough].content.width) > excess * wanted
    return isFarTooLarge && enough > 0 ? candidates[enough - 1] : candidates[enough]
  }

  /// Reads the header and judges by it. `nil`: it is no thumbnail of this picture, or not of a kind that is used.
  package init?(at range: ByteRange, in source: any ByteSource, of picture: ImageHeader, limits: CodecLimits) {
    guard range.length <= Self.maximumBytes, picture.profileBytes <= Self.maximumBytes,
      let header = try? ImageHeader.read(from: ByteSourceSlice(source, range), limits: limits),
      header.format == .jpeg, !header.isBuffered,
      max(header.storedSize.width, header.storedSize.height) <= Self.maximumSide
    else { return nil }
    self.range = range
    self.header = header
    // What of the picture's own description holds for its thumbnail is decided here, what it says when it is needed: a
    // gray picture's says nothing of a thumbnail in colour, and what is shown of inks is sRGB, as the thumbnail of them is.
    let isDescribed = picture.embeddedProfile != nil || picture.calibration != nil
    takesColor = header.embeddedProfile == nil && picture.colorChannels != 4 && isDescribed
    if takesColor && header.colorChannels != picture.colorChannels { return nil }
    bars = Self.bars(header.storedSize, picture.storedSize)
    let (width, height) = (header.storedSize.width, header.storedSize.height)
    isLetterbox = Self.isWider(picture.storedSize, than: header.storedSize)
    content =
      isLetterbox
      ? PixelRect(x: 0, y: bars, width: width, height: height - 2 * bars)
      : PixelRect(x: bars, y: 0, width: width - 2 * bars, height: height)
    if bars == 0 { return }
    // One with bars is held whole to look at them.
    guard min(content.width, content.height) >= 16, Self.hasFourThirds(header.storedSize),
      max(width, height) <= Self.unreservedSide
    else { return nil }
  }

  /// What a frame from it takes, to be reserved; 0 for so little that it need not be.
  package func peakBytes(for request: ImageRequest, of picture: ImageHeader) -> Int {
    peakBytes(picture) { plan($0, request, picture) }
  }

  /// What its pixels take, to be reserved; 0 for so little that it need not be.
  package func peakBytes(side: Int, of picture: ImageHeader) -> Int {
    peakBytes(picture) { pixelPlan($0, side: side, picture) }
  }

  private func peakBytes(_ picture: ImageHeader, _ plan: (ImageHeader) -> RenderPlan) -> Int {
    let profileBytes = takesColor ? picture.profileBytes : 0
    let isSmall =
      range.length <= Self.unreservedBytes && profileBytes <= Self.unreservedBytes
      && max(header.storedSize.width, header.storedSize.height) <= Self.unreservedSide
    if isSmall { return 0 }
    var described = header
    if takesColor {
      described.embeddedProfile = picture.embeddedProfile
      described.profileBytes = picture.profileBytes
      described.calibration = picture.calibration
    }
    return plan(described).peakBytes + range.length
  }

  /// The frame for a request: the thumbnail's own bytes where they serve, with the picture's profile put in if it has one;
  /// else trimmed, turned, converted and encoded anew. `nil`: what should be bars shows something, so it is of another
  /// picture.
  ///
  /// - Throws: ``CodecError``; also where libjpeg would show something in spite of damage: there is something better.
  package func render(
    for request: ImageRequest, of picture: ImageHeader, in source: any ByteSource, transforms: ColorTransforms? = nil,
    limits: CodecLimits, stop: StopFlag
  ) throws(CodecError) -> RenderedImage? {
    let bytes = try read(source)
    let plan = plan(header, request, picture)
    let output = try color(
      plan, bytes, picture, in: source, transforms ?? ColorTransforms(capacityBytes: 0), limits)
    let serves =
      bars == 0 && plan.outputSize == header.storedSize && picture.orientation == .topLeft && request.format == .jpeg
      && request.normalizedCropRect == nil
    if serves, let sent = sent(bytes, output) {
      return RenderedImage(
        bytes: sent, size: header.storedSize, format: .jpeg, decodedEighths: 8, isIncomplete: false, warnings: [])
    }
    guard let renderer = try renderer(plan, bytes, output, encoder: nil, limits, stop) else { return nil }
    // Bytes in memory never answer "not yet".
    guard let image = try renderer.resume() else { throw .truncated(offset: range.offset + Int64(bytes.count)) }
    try refuseDamage(image.warnings)
    return image
  }

  /// Its pixels, upright, at most `side` a side. `nil`, and what is thrown: as with a frame.
  package func pixels(
    side: Int, of picture: ImageHeader, in source: any ByteSource, transforms: ColorTransforms, limits: CodecLimits,
    stop: StopFlag
  ) throws(CodecError) -> RenderedPixels? {
    let bytes = try read(source)
    let plan = pixelPlan(header, side: side, picture)
    let output = try color(plan, bytes, picture, in: source, transforms, limits)
    guard let renderer = try renderer(plan, bytes, output, encoder: PixelCollector(plan), limits, stop) else {
      return nil
    }
    guard let pixels = try renderer.pixels() else { throw .truncated(offset: range.offset + Int64(bytes.count)) }
    try refuseDamage(pixels.warnings)
    return pixels
  }

  /// What becomes of its colours.
  private func color(
    _ plan: RenderPlan, _ bytes: [UInt8], _ picture: ImageHeader, in source: any ByteSource,
    _ transforms: ColorTransforms, _ limits: CodecLimits
  ) throws(CodecError) -> OutputColor {
    let color =
      takesColor
      ? try SourceColor(picture, in: source, limits: limits)
      : try SourceColor(header, in: MemoryByteSource(bytes), limits: limits)
    return transforms.outputColor(of: color, plan.sourceRows, as: plan.colorSpace)
  }

  /// What carries out a plan; `nil` where what should be bars shows something.
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
    let held = HeldPicture(of: decoder)
    _ = try decoder.decode(into: held)
    guard held.barsAreDark(max(1, bars / 2), isLetterbox: isLetterbox, Self.brightestBar) else { return nil }
    return Renderer(plan, decoder: held, color: output, encoder: encoder, stop: stop)
  }

  /// A damaged thumbnail is not shown. A profile that was ignored is as if it were not there, and the final frame tells of
  /// it.
  private func refuseDamage(_ warnings: [CodecWarnings]) throws(CodecError) {
    if let warnings = warnings.first(where: { $0.library != CodecWarnings.colorLibrary }) {
      throw .malformed(warnings.first, offset: range.offset)
    }
  }

  /// The thumbnail as it is, with what describes its colours put in; `nil` where that would not be a sound JPEG of the
  /// colours that are asked for.
  private func sent(_ bytes: [UInt8], _ output: OutputColor) -> [UInt8]? {
    let hasItsProfile = header.embeddedProfile != nil
    // Its own profile goes when the pixels are to be sRGB; for that it is written anew.
    guard output.transform == nil, !(hasItsProfile && output.profile == nil),
      let length = JPEGMarkers.lengthOfPlainBaseline(bytes)
    else { return nil }
    let plain = length == bytes.count ? bytes : Array(bytes[..<length])
    return (hasItsProfile ? nil : output.profile).map { JPEGProfileParts.insert($0, into: plain) } ?? plain
  }

  private func read(_ source: any ByteSource) throws(CodecError) -> [UInt8] {
    do throws(ByteSourceError) {
      return try source.bytes(at: range.offset, count: range.length)
    } catch {
      switch error {
      case .readFailed(let code): throw .readFailed(code: code)
      }
    }
  }

  private func plan(_ header: ImageHeader, _ request: ImageRequest, _ picture: ImageHeader) -> RenderPlan {
    RenderPlanner().thumbnailPlan(header, content: bars > 0 ? content : nil, of: picture, request)
  }

  private func pixelPlan(_ header: ImageHeader, side: Int, _ picture: ImageHeader) -> RenderPlan {
    RenderPlanner().pixelPlan(
      header, side: side, content: bars > 0 ? content : nil, orientation: picture.orientation)
  }

  /// How high (or wide) each of the two bars must be for the rest to have the picture's aspect ratio, rounded up.
  /// 0: no bars.
  private static func bars(_ thumbnail: PixelSize, _ picture: PixelSize) -> Int {
    let width = Double(thumbnail.width)
    let height = Double(thumbnail.height)
    let aspect = Double(picture.width) / Double(picture.height)
    let bars = isWider(picture, than: thumbnail) ? (height - width / aspect) / 2 : (width - height * aspect) / 2
    // Less than a row a side is rounding.
    return bars < 1 ? 0 : Int(bars.rounded(.up))
  }

  private static func isWider(_ a: PixelSize, than b: PixelSize) -> Bool { a.width * b.height > b.width * a.height }

  /// The shape of the thumbnails that are known to come with bars: 160x120, upright or on its side.
  private static func hasFourThirds(_ size: PixelSize) -> Bool {
    abs(max(size.width, size.height) * 3 - min(size.width, size.height) * 4) <= 4
  }
}
