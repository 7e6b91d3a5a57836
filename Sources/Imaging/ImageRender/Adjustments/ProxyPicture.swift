import ImageCodec
import MediaMetadata
import PhotoModel

/// A picture that is decoded once for many renders: upright, in sRGB, at most a given size, with alpha if the original
/// has it. It is a BMP in memory, so renders from it use the planner and the renderer like any file, but need no
/// decoding.
package enum ProxyPicture {
  /// The plan of the proxy of a whole picture.
  ///
  /// - Parameter side: maximum of its longer side.
  package static func plan(_ header: ImageHeader, side: Int) -> RenderPlan {
    let request = ImageRequest(
      targetSize: .size(PixelSize(width: side, height: side)), format: .png, colorSpace: .srgb)
    return RenderPlanner().plan(header, request)
  }

  /// The length of the proxy.
  package static func byteCount(_ plan: RenderPlan) -> Int {
    headerBytes(plan) + strideBytes(plan) * plan.outputSize.height
  }

  /// With alpha, four masks follow the BITMAPINFOHEADER.
  private static func headerBytes(_ plan: RenderPlan) -> Int { hasAlpha(plan) ? 70 : 54 }

  private static func hasAlpha(_ plan: RenderPlan) -> Bool { plan.outputChannels % 2 == 0 }

  private static func strideBytes(_ plan: RenderPlan) -> Int {
    let width = plan.outputSize.width
    return hasAlpha(plan) ? width * 4 : (width * 3 + 3) / 4 * 4
  }

  /// Renders the proxy. Blocks while the source is read.
  package static func render(
    _ plan: RenderPlan, source: any ByteSource, workers: (any CodedPictureDecoder)? = nil, transforms: ColorTransforms,
    limits: CodecLimits, stop: StopFlag
  ) throws(CodecError) -> RenderedImage {
    let color = try plan.header.sourceColor(in: source, workers: workers, limits: limits, stop: stop)
    let output = transforms.outputColor(of: color, plan.sourceRows, as: plan.colorSpace)
    let renderer = try Renderer(
      plan, source: source, workers: workers, color: output, encoder: Writer(plan), limits: limits, stop: stop)
    return try renderer.render()
  }

  /// The plan of a picture from its proxy. Sizes are rounded in the original's pixels, so the picture has the same size
  /// as one from the original; but it is not enlarged if the proxy has fewer pixels.
  ///
  /// - Parameters:
  ///   - proxy: the proxy's own header.
  ///   - upright: the size of the upright original.
  ///   - isGray: whether the original is gray; the proxy never is.
  package static func plan(
    _ request: ImageRequest, _ adjustments: Adjustments, from proxy: ImageHeader, of upright: PixelSize, isGray: Bool
  ) -> RenderPlan {
    var original = proxy
    original.storedSize = upright
    if isGray { original.colorChannels = 1 }
    let wanted = original.sized(request, adjustments)
    let planner = RenderPlanner()
    guard proxy.storedSize == upright else {
      return planner.thumbnailPlan(proxy, content: nil, of: original, wanted)
    }
    return planner.plan(proxy, planner.geometry(original, wanted, eighths: nil), request: wanted.request)
  }

  /// Writes a BMP of 24 or 32 bits from the top (BITMAPINFOHEADER with a negative height).
  private final class Writer: RowEncoder {
    private let width: Int
    private let channels: Int
    private let paddingBytes: Int
    private var bytes: [UInt8] = []
    let warnings: CodecWarnings? = nil

    init(_ plan: RenderPlan) {
      width = plan.outputSize.width
      channels = plan.outputChannels
      let hasAlpha = ProxyPicture.hasAlpha(plan)
      paddingBytes = ProxyPicture.strideBytes(plan) - width * (hasAlpha ? 4 : 3)
      let length = ProxyPicture.byteCount(plan)
      bytes.reserveCapacity(length)
      func number(_ value: Int, _ count: Int) {
        for i in 0..<count { bytes.append(UInt8(truncatingIfNeeded: value >> (8 * i))) }
      }
      bytes += Array("BM".utf8)
      number(length, 4)
      number(0, 4)
      number(ProxyPicture.headerBytes(plan), 4)
      number(40, 4)
      number(width, 4)
      number(-plan.outputSize.height, 4)
      number(1, 2)
      number(hasAlpha ? 32 : 24, 2)
      // BI_ALPHABITFIELDS, or not compressed; the remaining fields are optional.
      number(hasAlpha ? 6 : 0, 4)
      for _ in 0..<5 { number(0, 4) }
      if hasAlpha { for mask in [0xFF_0000, 0xFF00, 0xFF, 0xFF00_0000] { number(mask, 4) } }
    }

    func write(_ rows: UnsafeRawPointer, strideBytes: Int, count: Int) {
      for y in 0..<count {
        let row = UnsafeRawBufferPointer(start: rows + y * strideBytes, count: width * channels)
        for x in 0..<width {
          let at = x * channels
          let isGray = channels < 3
          bytes.append(row[at + (isGray ? 0 : 2)])
          bytes.append(row[at + (isGray ? 0 : 1)])
          bytes.append(row[at])
          if channels % 2 == 0 { bytes.append(row[at + channels - 1]) }
        }
        for _ in 0..<paddingBytes { bytes.append(0) }
      }
    }

    func finish() -> [UInt8] { bytes }
  }
}
