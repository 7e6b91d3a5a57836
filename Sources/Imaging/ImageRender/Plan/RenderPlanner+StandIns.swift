// Plans of frames from less than the picture itself: its coefficients, a thumbnail, or a derivative.

import ImageCodec
import PhotoModel

extension RenderPlanner {
  /// The plan of a degraded frame from a JPEG's own coefficients: a decode at 1/8, and for a progressive file only its
  /// first scan. `nil` if that would be no quicker than the final frame.
  ///
  /// Also `nil` if the final frame itself is decoded at 1/8 or 1/4: for a 12 MP photograph at 400 px the degraded frame
  /// would arrive after 31 ms and delay the final frame from 33 ms to 63 ms, with as many pixels. And `nil` for a
  /// picture so narrow that a smaller frame would have another aspect ratio.
  package func degradedPlan(_ header: ImageHeader, _ wanted: SizedRequest) -> RenderPlan? {
    if [.heic, .avif, .tiff].contains(header.format) { return thumbnailPlan(header, wanted) }
    guard header.format == .jpeg else { return nil }
    let header = preview(header, for: wanted)
    // A small preview of a RAW file is decoded in a few milliseconds.
    let longer = max(header.storedSize.width, header.storedSize.height)
    if header.raw != nil, longer <= EmbeddedThumbnail.unreservedSide { return nil }
    var geometry = geometry(header, wanted, eighths: nil)
    guard header.scalesDecodes, header.isProgressive || geometry.eighths >= 4 else { return nil }
    geometry.eighths = 1
    let output = Self.shrunk(geometry.output, into: (geometry.region.width / 8, geometry.region.height / 8))
    guard output.hasAspect(of: geometry.output) else { return nil }
    geometry.output = output
    return plan(header, geometry, firstScanOnly: header.isProgressive, request: wanted.request)
  }

  /// The plan of a final frame from a thumbnail of the same file and codec: the smallest that has the requested pixels
  /// and the picture's colours. `nil` if there is none. A HEIC of 12 megapixels takes fifty times as long to decode as
  /// its thumbnail.
  ///
  /// If the thumbnail turns out to be damaged, the final frame must be made from the picture itself.
  package func finalThumbnailPlan(_ header: ImageHeader, _ wanted: SizedRequest) -> RenderPlan? {
    // A thumbnail was scaled already, and often to 8 bits.
    guard wanted.request.resampling == .encoded, wanted.request.bitDepth == 8 else { return nil }
    // Nor does it have the gain map.
    if wanted.mayBeHDR, header.gainMap != nil || header.isCodedInHDR { return nil }
    let geometry = geometry(header, wanted, eighths: nil)
    let thumbnail = header.thumbnails.first {
      $0.storedSize.width >= Self.neededWidth(header, geometry) && $0.hasColors(of: header)
    }
    // A HEIC's thumbnail has no alpha. A level of a TIFF's pyramid has a quarter of the pixels, and is still three
    // times as quick.
    let share = header.format == .tiff ? 3 : Self.minimumThumbnailShare
    guard let thumbnail, thumbnail.hasAlpha == header.hasAlpha,
      thumbnail.storedSize.pixelCount * share <= header.storedSize.pixelCount
    else { return nil }
    let plan = standInPlan(thumbnail, content: nil, for: geometry, of: header.storedSize, wanted.request)
    return plan.storedOutput == geometry.output ? plan : nil
  }

  /// The width of a thumbnail of the whole picture that has the pixels of the output.
  private static func neededWidth(_ header: ImageHeader, _ geometry: RenderGeometry) -> Int {
    Int((Double(header.storedSize.width) * Double(geometry.output.width) / geometry.region.width - 1e-6).rounded(.up))
  }

  /// The plan of a degraded frame from a thumbnail of the same file and codec: the smallest that has the requested
  /// pixels, else the largest. `nil` if there is none, or if it has so many pixels that it is hardly quicker.
  private func thumbnailPlan(_ header: ImageHeader, _ wanted: SizedRequest) -> RenderPlan? {
    let geometry = geometry(header, wanted, eighths: nil)
    let wantedWidth = Self.neededWidth(header, geometry)
    let thumbnails = header.thumbnails
    guard
      let thumbnail = thumbnails.first(where: { $0.storedSize.width >= wantedWidth - 1 }) ?? thumbnails.last,
      thumbnail.storedSize.pixelCount * Self.minimumThumbnailShare <= header.storedSize.pixelCount
    else { return nil }
    let plan = standInPlan(thumbnail, content: nil, for: geometry, of: header.storedSize, wanted.request)
    return plan.storedOutput.hasAspect(of: geometry.output) ? plan : nil
  }

  /// A thumbnail with a larger share of the picture's pixels would delay the final frame noticeably.
  private static let minimumThumbnailShare = 8

  /// The plan of a degraded frame from an embedded thumbnail.
  ///
  /// - Parameters:
  ///   - thumbnail: the thumbnail's own header.
  ///   - trimmed: the part of the thumbnail that shows the picture, if it has bars.
  package func thumbnailPlan(
    _ thumbnail: ImageHeader, content trimmed: PixelRect?, of header: ImageHeader, _ wanted: SizedRequest
  ) -> RenderPlan {
    standInPlan(
      thumbnail, content: trimmed, for: geometry(header, wanted, eighths: 8), of: header.storedSize, wanted.request)
  }

  /// The plan of a frame from a derivative, which is the complete upright picture: coded in one scan at any size,
  /// because a quick worker has no memory for coefficients. If the derivative has fewer pixels than the request asks
  /// for, the frame has the derivative's pixels.
  ///
  /// - Parameters:
  ///   - derivative: the derivative's own header.
  ///   - wanted: the request, sized for the full picture.
  package func derivativePlan(_ derivative: ImageHeader, _ wanted: SizedRequest) -> RenderPlan {
    let geometry = RenderGeometry(
      region: wanted.sizes.region, bounds: PixelRegion(wanted.sizes.bounds), output: wanted.sizes.output,
      orientation: wanted.request.rotation, eighths: 8,
      quality: wanted.request.quality ?? JPEGEncoder.defaultQuality)
    return standInPlan(
      derivative, content: nil, for: geometry, of: wanted.upright, wanted.request, finalCoding: .tuned)
  }

  /// The plan of a smaller picture that stands in for the full one and is stored in the same orientation.
  private func standInPlan(
    _ standIn: ImageHeader, content trimmed: PixelRect?, for geometry: RenderGeometry, of size: PixelSize,
    _ request: ImageRequest, finalCoding: JPEGCoding? = nil
  ) -> RenderPlan {
    let part = self.standIn(standIn, content: trimmed, for: geometry, of: size)
    return plan(standIn, part, isTrimmed: trimmed != nil, request: request, finalCoding: finalCoding)
  }

  /// The region and the size to render of a smaller picture that stands in for the full one.
  ///
  /// - Parameters:
  ///   - trimmed: the part of the smaller picture that shows the full one; `nil` if all of it does.
  ///   - size: of the full picture, as stored.
  ///   - mayEnlarge: whether the output keeps the size that `geometry` states, even if the smaller picture has fewer
  ///     pixels.
  func standIn(
    _ standIn: ImageHeader, content trimmed: PixelRect?, for geometry: RenderGeometry, of size: PixelSize,
    mayEnlarge: Bool = false
  ) -> RenderGeometry {
    let content = trimmed ?? PixelRect(standIn.storedSize)
    let across = Double(content.width) / Double(size.width)
    let down = Double(content.height) / Double(size.height)
    func placed(_ region: PixelRegion) -> PixelRegion {
      PixelRegion(
        x: Double(content.x) + region.x * across, y: Double(content.y) + region.y * down,
        width: region.width * across, height: region.height * down)
    }
    var part = geometry
    (part.region, part.bounds) = (placed(geometry.region), placed(geometry.bounds))
    // A bar can end at any pixel, but a scaled decode handles only whole blocks.
    let hasBars = trimmed != nil && standIn.raw == nil
    // A preview of a RAW file may have a row more than the picture, which belongs to it: nothing was cropped.
    if !hasBars, geometry.bounds == PixelRegion(PixelRect(size)) {
      part.bounds = PixelRegion(PixelRect(standIn.storedSize))
    }
    if !mayEnlarge { part.output = Self.shrunk(geometry.output, into: (part.region.width, part.region.height)) }
    let reduction = min(
      part.region.width / Double(part.output.width), part.region.height / Double(part.output.height))
    part.eighths = hasBars || geometry.isLinear ? 8 : Self.eighths(reduction: reduction, standIn.scalesDecodes)
    part.keepEdges(of: standIn)
    return part
  }
}
