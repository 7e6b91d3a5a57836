// The small JPEG that a camera puts into the EXIF block: a degraded frame for a hundredth of the price.
//
// It is often 160x120 whatever the picture's aspect ratio, with black bars to fill it, and some programs crop a picture
// and leave its thumbnail behind. So its aspect ratio decides: that of the picture, that of the picture plus bars which
// really are dark, or it is not used.

import ImageCodec
import PhotoModel

package struct EmbeddedThumbnail: Sendable {
  /// Thumbnails are small by the standard (a whole EXIF block is at most 64 KiB, DC-008 §4.5.4).
  package static let maximumBytes = 65_536
  /// Nor are they large. Together with baseline coding this bounds what one takes, which is not reserved: under 1 MiB.
  package static let maximumSide = 640
  /// Bars are black, but a bright picture rings into them, as far as a block of 8 reaches.
  private static let brightestBar = 48

  private let bytes: [UInt8]
  private let header: ImageHeader
  /// The part of the thumbnail that shows the picture: whole pixels, none of which are bar.
  private let content: PixelRect
  private let isWhole: Bool
  /// Its own colours where it describes them; else the picture's, for a camera scales down what it stores.
  private let color: SourceColor

  /// Reads and judges the thumbnail. `nil`: it is no thumbnail of this picture.
  package init?(
    at range: ByteRange, in source: any ByteSource, of picture: ImageHeader, limits: CodecLimits, stop: StopFlag
  ) throws(CodecError) {
    guard range.length <= Self.maximumBytes, picture.profileBytes <= Self.maximumBytes else { return nil }
    do throws(ByteSourceError) {
      bytes = try source.bytes(at: range.offset, count: range.length)
    } catch {
      switch error {
      case .readFailed(let code): throw .readFailed(code: code)
      }
    }
    guard let header = try? ImageHeader.read(from: MemoryByteSource(bytes), limits: limits), header.format == .jpeg,
      !header.isBuffered, max(header.storedSize.width, header.storedSize.height) <= Self.maximumSide
    else { return nil }
    self.header = header
    if header.embeddedProfile != nil {
      color = try SourceColor(header, in: MemoryByteSource(bytes), limits: limits)
    } else if picture.colorChannels == 4 {
      // What is shown of inks is sRGB, and so is the thumbnail of them.
      color = SourceColor()
    } else {
      color = try SourceColor(picture, in: source, limits: limits)
      // A gray picture's profile says nothing of a thumbnail in colour.
      if (color.profile != nil || color.calibration != nil) && header.colorChannels != picture.colorChannels {
        return nil
      }
    }
    let bars = Self.bars(header.storedSize, picture.storedSize)
    isWhole = bars == 0
    let (width, height) = (header.storedSize.width, header.storedSize.height)
    let isLetterbox = Self.isWider(picture.storedSize, than: header.storedSize)
    content =
      isLetterbox
      ? PixelRect(x: 0, y: bars, width: width, height: height - 2 * bars)
      : PixelRect(x: bars, y: 0, width: width - 2 * bars, height: height)
    if bars == 0 { return }
    guard min(content.width, content.height) >= 16, Self.hasFourThirds(header.storedSize) else { return nil }
    guard try Self.barsAreDark(bytes, header, max(1, bars / 2), isLetterbox: isLetterbox, limits, stop) else {
      return nil
    }
  }

  /// The frame for a request: the thumbnail's own bytes where they serve, with the picture's profile put in if it has one;
  /// else trimmed, turned, converted and encoded anew.
  package func render(
    for request: ImageRequest, of picture: ImageHeader, transforms: ColorTransforms? = nil, limits: CodecLimits,
    stop: StopFlag
  ) throws(CodecError) -> RenderedImage {
    let plan = RenderPlanner().thumbnailPlan(header, content: content, of: picture, request)
    let serves =
      isWhole && plan.outputSize == header.storedSize && picture.orientation == .topLeft && request.format == .jpeg
      && request.normalizedCropRect == nil && header.metadata.isEmpty
    let transforms = transforms ?? ColorTransforms(capacityBytes: 0)
    if serves {
      let output = transforms.outputColor(of: color, plan.sourceRows, as: request.colorSpace)
      let hasItsProfile = header.embeddedProfile != nil
      // Its own profile goes when the pixels are to be sRGB; for that it is written anew.
      if output.transform == nil && !(hasItsProfile && output.profile == nil) {
        let profile = hasItsProfile ? nil : output.profile
        return RenderedImage(
          bytes: profile.map { JPEGProfileParts.insert($0, into: bytes) } ?? bytes, size: header.storedSize,
          format: .jpeg, isIncomplete: false, warning: nil)
      }
    }
    let renderer = try Renderer(
      plan, source: MemoryByteSource(bytes), color: color, transforms: transforms, limits: limits, stop: stop)
    // Bytes in memory never answer "not yet".
    guard let image = try renderer.resume() else { throw .truncated(offset: Int64(bytes.count)) }
    return image
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

  /// - Parameter bars: how many rows (or columns) from the edge are looked at.
  private static func barsAreDark(
    _ bytes: [UInt8], _ header: ImageHeader, _ bars: Int, isLetterbox: Bool, _ limits: CodecLimits, _ stop: StopFlag
  ) throws(CodecError) -> Bool {
    let decoder = try JPEGDecoder(
      source: MemoryByteSource(bytes), size: header.storedSize, options: JPEGDecoder.Options(eighths: 8),
      limits: limits, stop: stop)
    let probe = BarProbe(layout: decoder.layout, bars: bars, isLetterbox: isLetterbox)
    _ = try decoder.decode(into: probe)
    return probe.count > 0 && probe.sum / probe.count < brightestBar
  }
}

/// Adds up what lies where the bars should be.
private final class BarProbe: RowConsumer {
  private let layout: RowLayout
  private let bars: Int
  private let isLetterbox: Bool
  private let row: RowBuffer<UInt8>
  private(set) var sum = 0
  private(set) var count = 0

  init(layout: RowLayout, bars: Int, isLetterbox: Bool) {
    self.layout = layout
    self.bars = bars
    self.isLetterbox = isLetterbox
    row = RowBuffer(count: layout.rowBytes, zero: 0)
  }

  func space(forRow y: Int) -> UnsafeMutableRawPointer { UnsafeMutableRawPointer(row.pointer) }

  func rowArrived(_ y: Int) -> Bool {
    let height = layout.imageSize.height
    let columns =
      isLetterbox
      ? (y < bars || y >= height - bars ? [0..<layout.width] : []) : [0..<bars, layout.width - bars..<layout.width]
    for range in columns {
      for i in range.lowerBound * layout.channels..<range.upperBound * layout.channels { sum += Int(row.pointer[i]) }
      count += range.count * layout.channels
    }
    return true
  }
}
