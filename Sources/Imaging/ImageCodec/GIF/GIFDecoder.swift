import MediaMetadata
import PhotoModel

/// Decodes the first picture of a GIF on its canvas. It holds one row of indexes, or those of the region if they are
/// interlaced. Used once, by one thread.
///
/// The decoder is our own, in Swift, because a GIF is so simple that a process of its own would cost more than the
/// decode: every access to an array is checked.
package final class GIFDecoder: RowDecoder {
  package let layout: RowLayout
  package let isTruncated = false
  package let warnings: CodecWarnings? = nil

  private let picture: GIFPicture
  private let region: PixelRect
  /// The part of the region that the picture covers.
  private let shown: PixelRect
  private let stop: StopFlag
  private let colors: GIFColors
  private var rows: GIFRows
  /// The next row to deliver.
  private var nextRow: Int

  /// Reads the colours. Blocks while they are read.
  ///
  /// - Parameter region: the wanted pixels of the canvas.
  package init(
    _ picture: GIFPicture, region: PixelRect, source: any ByteSource, stop: StopFlag
  ) throws(CodecError) {
    self.picture = picture
    self.region = region
    shown = picture.shown.clamped(to: region)
    self.stop = stop
    colors = try GIFColors(picture, source)
    let data = ByteRange(offset: picture.data, length: Int(clamping: max(0, source.size - picture.data)))
    rows = GIFRows(picture, cursor: SourceCursor(source: source, range: data, stop: stop))
    layout = RowLayout(
      imageSize: picture.canvas, firstColumn: region.x, width: region.width, channels: picture.hasAlpha ? 4 : 3,
      bitsPerChannel: 8)
    nextRow = region.y
  }

  package var readTime: Duration { rows.readTime }

  package func decode(into consumer: any RowConsumer) throws(CodecError) -> DecodeOutcome {
    if !shown.isEmpty {
      guard skip(to: shown.y, consumer) else { return .finished }
      if picture.isInterlaced {
        let held = try interlacedIndexes()
        while nextRow < shown.y + shown.height {
          if stop.isRaised { throw .stopped }
          let start = (nextRow - shown.y) * shown.width
          guard deliver(held[start..<start + shown.width], consumer) else { return .finished }
        }
      } else {
        let columns = shown.x - picture.frame.x..<shown.x - picture.frame.x + shown.width
        var decodedRows = 0
        while nextRow < shown.y + shown.height {
          if stop.isRaised { throw .stopped }
          try rows.next()
          decodedRows += 1
          // Rows above the region.
          if picture.frame.y + decodedRows <= nextRow { continue }
          guard deliver(rows.row[columns], consumer) else { return .finished }
        }
      }
    }
    _ = skip(to: region.y + region.height, consumer)
    return .finished
  }

  /// The indexes of an interlaced picture: (x, y) at `(y - shown.y) * shown.width + x - shown.x`.
  private func interlacedIndexes() throws(CodecError) -> [UInt8] {
    var held = [UInt8](repeating: 0, count: shown.width * shown.height)
    let columns = shown.x - picture.frame.x..<shown.x - picture.frame.x + shown.width
    for stored in 0..<picture.frame.height {
      if stop.isRaised { throw .stopped }
      try rows.next()
      let y = picture.frame.y + Self.interlacedRow(stored, height: picture.frame.height)
      guard shown.y..<shown.y + shown.height ~= y else { continue }
      let start = (y - shown.y) * shown.width
      held.replaceSubrange(start..<start + shown.width, with: rows.row[columns])
    }
    return held
  }

  /// Appendix E: the row that is stored at position `i`. Every eighth row comes first, then in three passes the rows
  /// halfway between the rows so far.
  static func interlacedRow(_ i: Int, height: Int) -> Int {
    var i = i
    for (first, step) in [(0, 8), (4, 8), (2, 4)] {
      let count = (height - first + step - 1) / step
      if i < count { return first + i * step }
      i -= max(0, count)
    }
    return 1 + i * 2
  }

  /// Delivers the region's part of a row of indexes.
  private func deliver(_ indexes: ArraySlice<UInt8>, _ consumer: any RowConsumer) -> Bool {
    let space = UnsafeMutableRawBufferPointer(start: consumer.space(forRow: nextRow), count: layout.rowBytes)
    if shown.width < region.width { space.initializeMemory(as: UInt8.self, repeating: 0) }
    var position = (shown.x - region.x) * layout.channels
    for index in indexes {
      let color = colors[index]
      space[position] = color.x
      space[position + 1] = color.y
      space[position + 2] = color.z
      if layout.channels == 4 { space[position + 3] = color.w }
      position += layout.channels
    }
    nextRow += 1
    return consumer.rowArrived(nextRow - 1)
  }

  /// Delivers transparent rows.
  private func skip(to end: Int, _ consumer: any RowConsumer) -> Bool {
    while nextRow < end {
      consumer.space(forRow: nextRow).initializeMemory(as: UInt8.self, repeating: 0, count: layout.rowBytes)
      nextRow += 1
      if !consumer.rowArrived(nextRow - 1) { return false }
    }
    return true
  }
}

/// The colours of indexes, as RGBA. An index that the table does not have is black.
struct GIFColors {
  private var colors = [SIMD4<UInt8>](repeating: SIMD4(0, 0, 0, 255), count: 256)

  init(_ picture: GIFPicture, _ source: any ByteSource) throws(CodecError) {
    if let table = picture.colorTable {
      var reader = HeaderReader(source: source)
      let bytes = try reader.wholeBytes(at: table.offset, count: table.length)
      for i in 0..<table.length / 3 {
        let color = bytes.dropFirst(i * 3).prefix(3)
        colors[i] = SIMD4(color[color.startIndex], color[color.startIndex + 1], color[color.startIndex + 2], 255)
      }
    } else {
      // §18 leaves the colours to the reader: from black to white.
      let last = 1 << picture.indexBits - 1
      for i in 0...last {
        let gray = UInt8(i * 255 / last)
        colors[i] = SIMD4(gray, gray, gray, 255)
      }
    }
    if let transparent = picture.transparentIndex { colors[Int(transparent)] = SIMD4(0, 0, 0, 0) }
  }

  subscript(index: UInt8) -> SIMD4<UInt8> { colors[Int(index)] }
}
