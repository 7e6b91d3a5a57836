import MediaMetadata
import PhotoModel

/// Decodes a BMP. It holds some rows as stored, of together at most 64 KiB or one row; only indexes that are coded in
/// runs are held for the whole region. Used once, by one thread.
package final class BMPDecoder: RowDecoder {
  package let layout: RowLayout
  package let isTruncated = false
  package let warnings: CodecWarnings? = nil

  private let picture: BMPPicture
  private let region: PixelRect
  private let source: any ByteSource
  private let stop: StopFlag
  private let colors: BMPColors
  private var runs: BMPRuns?
  private var band: Band?
  /// The time of bands that are done.
  private var bandTime = Duration.zero
  /// The next row to deliver.
  private var nextRow: Int

  /// Adjacent rows in the order of the file.
  private struct Band {
    let rows: Range<Int>
    var part: SourcePart
  }

  /// Reads the colours. Blocks while they are read.
  ///
  /// - Parameter region: the wanted pixels.
  package init(
    _ picture: BMPPicture, region: PixelRect, source: any ByteSource, stop: StopFlag
  ) throws(CodecError) {
    self.picture = picture
    self.region = region
    self.source = source
    self.stop = stop
    colors = try BMPColors(picture, source)
    layout = RowLayout(
      imageSize: picture.size, firstColumn: region.x, width: region.width, channels: picture.hasAlpha ? 4 : 3,
      bitsPerChannel: 8)
    nextRow = region.y
  }

  package var readTime: Duration {
    bandTime + (band?.part.readTime ?? .zero) + (runs?.readTime ?? .zero)
  }

  package func decode(into consumer: any RowConsumer) throws(CodecError) -> DecodeOutcome {
    if case .runs(let bits) = picture.coding { return try decodeRuns(bits, consumer) }
    while nextRow < region.y + region.height {
      if stop.isRaised { throw .stopped }
      guard try fillBand() else { return .needsInput }
      guard let band else { continue }
      let index = picture.isTopDown ? nextRow - band.rows.lowerBound : band.rows.upperBound - 1 - nextRow
      let start = index * picture.strideBytes
      let row = band.part.bytes[start..<min(start + picture.strideBytes, band.part.bytes.count)]
      guard deliver(row, columns: region.x..<region.x + region.width, consumer) else { return .finished }
    }
    return .finished
  }

  private func decodeRuns(_ bits: Int, _ consumer: any RowConsumer) throws(CodecError) -> DecodeOutcome {
    if runs == nil {
      let data = ByteRange(offset: picture.pixels, length: Int(clamping: max(0, source.size - picture.pixels)))
      runs = BMPRuns(
        picture, bits: bits, region: region, cursor: SourceCursor(source: source, range: data, stop: stop))
    }
    guard try runs?.decode() == true else { return .needsInput }
    while nextRow < region.y + region.height, let runs {
      if stop.isRaised { throw .stopped }
      let start = (nextRow - region.y) * region.width
      guard deliver(runs.indexes[start..<start + region.width], columns: 0..<region.width, consumer) else { break }
    }
    return .finished
  }

  private func deliver(_ row: ArraySlice<UInt8>, columns: Range<Int>, _ consumer: any RowConsumer) -> Bool {
    colors.convert(
      row, columns: columns,
      into: UnsafeMutableRawBufferPointer(start: consumer.space(forRow: nextRow), count: layout.rowBytes))
    nextRow += 1
    return consumer.rowArrived(nextRow - 1)
  }

  /// Reads the band of the next row, if it is not there. Returns false if there is no input for now.
  private func fillBand() throws(CodecError) -> Bool {
    var current = band ?? makeBand()
    if !current.rows.contains(nextRow) {
      bandTime += current.part.readTime
      current = makeBand()
    }
    // Not held twice while it is filled.
    band = nil
    defer { band = current }
    return try current.part.read()
  }

  /// A band that starts with the next row.
  private func makeBand() -> Band {
    let stride = picture.strideBytes
    let count = min(max(1, DecoderInput.capacity / stride), region.y + region.height - nextRow)
    let first = picture.isTopDown ? nextRow : picture.size.height - nextRow - count
    // Some writers leave out the bytes that fill up the last row.
    let bytes = (count - 1) * stride + picture.usedRowBytes
    let range = ByteRange(offset: picture.pixels + Int64(first) * Int64(stride), length: bytes)
    return Band(rows: nextRow..<nextRow + count, part: SourcePart(range, of: source, stop))
  }
}

extension BMPPicture {
  /// The bytes of a row without those that fill it up.
  fileprivate var usedRowBytes: Int {
    switch coding {
    case .indexes(let bits), .runs(let bits): (size.width * bits + 7) / 8
    case .bytes: size.width * 3
    case .masks(let bytes, _): size.width * bytes
    }
  }
}
