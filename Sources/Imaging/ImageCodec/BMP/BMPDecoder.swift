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
  private let stop: StopFlag
  private let colors: BMPColors
  private let cursor: SourceCursor
  /// Adjacent rows as stored, in the order of the file, and which ones.
  private var band: [UInt8] = []
  private var bandRows = 0..<0
  /// The next row to deliver.
  private var nextRow: Int

  /// Reads the colours. Blocks while they are read.
  ///
  /// - Parameter region: the wanted pixels.
  package init(
    _ picture: BMPPicture, region: PixelRect, source: any ByteSource, stop: StopFlag
  ) throws(CodecError) {
    self.picture = picture
    self.region = region
    self.stop = stop
    let pixels = ByteRange(offset: picture.pixels, length: Int(clamping: max(0, source.size - picture.pixels)))
    cursor = SourceCursor(source: source, range: pixels, stop: stop)
    colors = try BMPColors(picture, source)
    layout = RowLayout(
      imageSize: picture.size, firstColumn: region.x, width: region.width, channels: picture.hasAlpha ? 4 : 3,
      bitsPerChannel: 8)
    nextRow = region.y
  }

  package var readTime: Duration { cursor.readTime }

  package func decode(into consumer: any RowConsumer) throws(CodecError) -> DecodeOutcome {
    if case .runs(let bits) = picture.coding {
      try decodeRuns(bits, consumer)
    } else {
      try decodeBands(consumer)
    }
    return .finished
  }

  private func decodeBands(_ consumer: any RowConsumer) throws(CodecError) {
    while nextRow < region.y + region.height {
      if stop.isRaised { throw .stopped }
      if !bandRows.contains(nextRow) { try readBand() }
      let index = picture.isTopDown ? nextRow - bandRows.lowerBound : bandRows.upperBound - 1 - nextRow
      let start = index * picture.strideBytes
      let row = band[start..<min(start + picture.strideBytes, band.count)]
      guard deliver(row, columns: region.x..<region.x + region.width, consumer) else { break }
    }
  }

  private func decodeRuns(_ bits: Int, _ consumer: any RowConsumer) throws(CodecError) {
    var runs = BMPRuns(picture, bits: bits, region: region, cursor: cursor)
    try runs.decode()
    while nextRow < region.y + region.height {
      if stop.isRaised { throw .stopped }
      let start = (nextRow - region.y) * region.width
      guard deliver(runs.indexes[start..<start + region.width], columns: 0..<region.width, consumer) else { break }
    }
  }

  private func deliver(_ row: ArraySlice<UInt8>, columns: Range<Int>, _ consumer: any RowConsumer) -> Bool {
    colors.convert(
      row, columns: columns,
      into: UnsafeMutableRawBufferPointer(start: consumer.space(forRow: nextRow), count: layout.rowBytes))
    nextRow += 1
    return consumer.rowArrived(nextRow - 1)
  }

  /// Reads a band that starts with the next row.
  private func readBand() throws(CodecError) {
    let stride = picture.strideBytes
    let count = min(max(1, DecoderInput.capacity / stride), region.y + region.height - nextRow)
    let first = picture.isTopDown ? nextRow : picture.size.height - nextRow - count
    // Some writers leave out the bytes that fill up the last row.
    let bytes = (count - 1) * stride + picture.usedRowBytes
    band = try cursor.bytes(at: picture.pixels + Int64(first) * Int64(stride), count: bytes)
    bandRows = nextRow..<nextRow + count
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
