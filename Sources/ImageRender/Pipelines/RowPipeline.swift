import ImageCodec
import PhotoModel

/// Every picture as rows of gray, RGB, RGBA or CMYK.
final class RowPipeline: FanOut<RowOutput>, RenderPipeline, RowConsumer {
  private let rows: any RowDecoder

  init(_ decoder: any RowDecoder, _ branches: [Branch]) {
    rows = decoder
    super.init(branches)
  }

  var decoder: any PictureDecoder { rows }

  func decode(_ left: @escaping Left) -> DecodeOutcome {
    run(left) { () throws(CodecError) in try rows.decode(into: self) }
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

  /// The decoder for a plan's pixels: of a JPEG, all that any of its pictures shows.
  static func decoder(
    _ plan: SharedPlan, source: any ByteSource, limits: CodecLimits, stop: StopFlag
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
    }
  }
}
