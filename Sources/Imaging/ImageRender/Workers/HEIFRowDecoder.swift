// Rows of a HEIC picture:
//
//   worker: tiles -> TileReduction: boxes of samples -> RGB -> rows of the region
//
// An alpha picture is decoded first and kept, at the reduced size. Colours that are multiplied by it are divided by it.

import CPhotodKernels
import ImageCodec
import MediaMetadata
import PhotoModel

/// Decodes the region of a HEIF picture at a reduced size. Used once, by one thread.
final class HEIFRowDecoder: RowDecoder {
  let layout: RowLayout
  let isTruncated = false
  let warnings: CodecWarnings? = nil
  let readTime = Duration.zero
  private(set) var workerTime = Duration.zero

  private let picture: HEIFPicture
  private let region: PixelRect
  private let step: Int
  private let workers: any CodedPictureDecoder
  private let source: any ByteSource
  private let stop: StopFlag

  /// - Parameters:
  ///   - eighths: the scale: 1, 2, 4 or 8.
  ///   - region: in reduced pixels of the shown part.
  init(
    _ picture: HEIFPicture, eighths: Int, region: PixelRect, workers: any CodedPictureDecoder,
    source: any ByteSource, stop: StopFlag
  ) {
    self.picture = picture
    self.region = region
    step = 8 / eighths
    self.workers = workers
    self.source = source
    self.stop = stop
    let hasColor = picture.color.configuration.chroma != .none
    layout = RowLayout(
      imageSize: PixelSize(
        width: (picture.crop.width + step - 1) / step, height: (picture.crop.height + step - 1) / step),
      firstColumn: region.x, width: region.width,
      channels: (hasColor ? 3 : 1) + (picture.alpha == nil ? 0 : 1), bitsPerChannel: picture.isDeep ? 16 : 8)
  }

  func decode(into consumer: any RowConsumer) throws(CodecError) -> DecodeOutcome {
    let alpha = try picture.alpha.map { tiles throws(CodecError) in try alphaRows(tiles) }
    try reduce(picture.color, hasChroma: true) { rows, y in
      let row = consumer.space(forRow: region.y + y)
      convert(rows, y, to: row)
      if let alpha {
        let channels = layout.channels
        let bytes = layout.bitsPerChannel / 8
        let from = UnsafeRawPointer(alpha.pointer + y * region.width * bytes)
        for x in 0..<region.width {
          (row + (x * channels + channels - 1) * bytes).copyMemory(from: from + x * bytes, byteCount: bytes)
        }
        if picture.isPremultiplied {
          PremultipliedAlpha.divideOut(
            of: row, channels: channels, width: region.width, bitsPerChannel: layout.bitsPerChannel)
        }
      }
      return consumer.rowArrived(region.y + y)
    }
    return .finished
  }

  /// The region's alpha: row y at `y * region.width`, in samples of the layout's size.
  private func alphaRows(_ tiles: CodedTiles) throws(CodecError) -> RowBuffer<UInt8> {
    let bytes = layout.bitsPerChannel / 8
    let buffer = RowBuffer<UInt8>(count: region.width * region.height * bytes, zero: 255)
    try reduce(tiles, hasChroma: false) { rows, y in
      gray(
        rows, y, YCbCrConversion(matrix: .weights(red: 0.299, blue: 0.114), isFullRange: true),
        bits: tiles.configuration.bitDepth, to: UnsafeMutableRawPointer(buffer.pointer + y * region.width * bytes),
        channels: 1)
      return true
    }
    return buffer
  }

  /// Decodes tiles, and calls `rowIsComplete` for each row of the region.
  private func reduce(
    _ tiles: CodedTiles, hasChroma: Bool, rowIsComplete: (TileReduction, Int) -> Bool
  ) throws(CodecError) {
    let rows = TileReduction(tiles, crop: picture.crop, region: region, step: step, hasChroma: hasChroma)
    var wantsMore = true
    var waitBegan = ContinuousClock.now
    defer { workerTime += ContinuousClock.now - waitBegan }
    try workers.decode(rows.request, from: source, isOptional: picture.isThumbnail, stop: stop) { band, bytes in
      workerTime += ContinuousClock.now - waitBegan
      wantsMore = rows.take(band, bytes) { rowIsComplete(rows, $0) }
      waitBegan = ContinuousClock.now
      return wantsMore
    }
    if wantsMore, rows.rowsDone < rows.rowCount {
      throw .malformed("a decoder that left out rows", offset: nil)
    }
  }

  // MARK: Colours

  private var high: Double { layout.bitsPerChannel == 16 ? 65535 : 255 }

  private func convert(_ rows: TileReduction, _ y: Int, to row: UnsafeMutableRawPointer) {
    let configuration = picture.color.configuration
    guard configuration.chroma != .none else {
      return gray(
        rows, y, picture.conversion, bits: configuration.bitDepth, to: row, channels: layout.channels)
    }
    let luma = rows.planes[0]
    let (blue, red) = (rows.chroma(1, ofRow: y), rows.chroma(2, ofRow: y))
    var constants = photod_ycc(
      picture.conversion, bits: min(10, configuration.bitDepth), lumaWeight: luma.weight(ofRow: y),
      chromaWeight: blue.weight, high: high)
    let channels = Int32(layout.channels)
    if layout.bitsPerChannel == 16 {
      photod_ycc_u16(
        luma.sums(y), blue.values, red.values, &constants, row.assumingMemoryBound(to: UInt16.self), channels,
        region.width)
    } else {
      photod_ycc_u8(
        luma.sums(y), blue.values, red.values, &constants, row.assumingMemoryBound(to: UInt8.self), channels,
        region.width)
    }
  }

  private func gray(
    _ rows: TileReduction, _ y: Int, _ conversion: YCbCrConversion, bits: Int, to row: UnsafeMutableRawPointer,
    channels: Int
  ) {
    let luma = rows.planes[0]
    var constants = photod_ycc(
      conversion, bits: min(10, bits), lumaWeight: luma.weight(ofRow: y), chromaWeight: 1, high: high)
    if layout.bitsPerChannel == 16 {
      photod_gray_u16(
        luma.sums(y), &constants, row.assumingMemoryBound(to: UInt16.self), Int32(channels), region.width)
    } else {
      photod_gray_u8(
        luma.sums(y), &constants, row.assumingMemoryBound(to: UInt8.self), Int32(channels), region.width)
    }
  }
}
