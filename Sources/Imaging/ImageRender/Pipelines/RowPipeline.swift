import ImageCodec
import PhotoModel

/// Decodes any picture into rows of gray, RGB, RGBA or CMYK.
final class RowPipeline: DecodedRowDistributor<RowOutput>, RenderPipeline, RowConsumer {
  private let rows: any RowDecoder

  init(_ decoder: any RowDecoder, _ branches: [Branch], leavesEarly: Bool = true) {
    rows = decoder
    super.init(branches, leavesEarly: leavesEarly)
  }

  var decoder: any PictureDecoder { rows }

  func decode(_ outputFinished: @escaping OutputFinished) -> DecodeOutcome {
    run(outputFinished) { () throws(CodecError) in try rows.decode(into: self) }
  }

  func space(forRow y: Int) -> UnsafeMutableRawPointer { branches[0].output.space(forRow: y) }

  func rowArrived(_ y: Int) -> Bool {
    if branches.count > 1 {
      let row = space(forRow: y)
      for branch in branches.dropFirst() {
        branch.output.space(forRow: y).copyMemory(from: row, byteCount: rows.layout.rowBytes)
      }
    }
    return advance { $0.rowArrived(y) }
  }

  /// The decoder for a plan's pixels; it decodes the region that contains all members' pixels, if it can.
  static func decoder(
    _ plan: SharedPlan, source: any ByteSource, workers: (any CodedPictureDecoder)?, limits: CodecLimits,
    stop: StopFlag
  ) throws(CodecError) -> any RowDecoder {
    let (header, region) = (plan.header, plan.decodedRegion)
    switch header.format {
    case .jpeg:
      return try JPEGDecoder(
        source: source, size: header.storedSize,
        options: JPEGDecoder.Options(eighths: plan.eighths, region: region, firstScanOnly: plan.firstScanOnly),
        limits: limits, stop: stop)
    case .png:
      return try PNGDecoder(
        source: source, size: header.storedSize, rows: region.y..<region.y + region.height, limits: limits, stop: stop)
    case .gif, .bmp, .tiff:
      switch header.coded {
      case .gif(let picture): return try GIFDecoder(picture, region: region, source: source, stop: stop)
      case .bmp(let picture): return try BMPDecoder(picture, region: region, source: source, stop: stop)
      case .tiff(let page): return TIFFDecoder(page, region: region, source: source, limits: limits, stop: stop)
      default: throw .malformed("a header without a picture", offset: nil)
      }
    case .heic, .avif, .webp, .jxl, .video, .raw:
      guard let workers else { throw .decoderUnavailable(header.format) }
      switch header.coded {
      case .heif(let picture):
        return HEIFRowDecoder(
          picture, eighths: plan.eighths, region: region, workers: workers, source: source, stop: stop)
      case .webP(let picture):
        return WebPRowDecoder(
          picture, eighths: plan.eighths, region: region, workers: workers, source: source, stop: stop)
      case .jxl(let picture):
        return JXLRowDecoder(
          picture, eighths: plan.eighths, region: region, workers: workers, source: source, stop: stop)
      case .raw(let sensor):
        return SensorRowDecoder(
          sensor, eighths: plan.eighths, region: region, workers: workers, source: source, stop: stop)
      case .gif, .bmp, .tiff, nil: throw .malformed("a header without a picture", offset: nil)
      }
    }
  }
}
