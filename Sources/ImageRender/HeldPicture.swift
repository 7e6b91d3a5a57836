import ImageCodec
import MediaMetadata

/// A small picture that is decoded once, looked at, and then handed on row by row as if it were being decoded.
final class HeldPicture: RowConsumer, RowDecoder {
  let layout: RowLayout
  private let decoder: any RowDecoder
  /// Row y at `y * layout.rowBytes`.
  private let pixels: RowBuffer<UInt8>

  /// - Parameter decoder: of 8 bits a channel; it is to decode into this.
  init(of decoder: any RowDecoder) {
    self.decoder = decoder
    layout = decoder.layout
    pixels = RowBuffer(count: layout.rowBytes * layout.imageSize.height, zero: 0)
  }

  var isTruncated: Bool { decoder.isTruncated }
  var warnings: CodecWarnings? { decoder.warnings }
  let readTime = Duration.zero

  func space(forRow y: Int) -> UnsafeMutableRawPointer { UnsafeMutableRawPointer(row(y)) }

  func rowArrived(_ y: Int) -> Bool { true }

  func decode(into consumer: any RowConsumer) -> DecodeOutcome {
    for y in 0..<layout.imageSize.height {
      consumer.space(forRow: y).copyMemory(from: row(y), byteCount: layout.rowBytes)
      if !consumer.rowArrived(y) { break }
    }
    return .finished
  }

  /// Whether what lies along two opposite edges is dark.
  ///
  /// - Parameters:
  ///   - bars: how many rows, or columns, from the edge are looked at.
  ///   - isLetterbox: the edges are top and bottom, else left and right.
  ///   - brightest: the mean that still is dark, 0...255.
  func barsAreDark(_ bars: Int, isLetterbox: Bool, _ brightest: Int) -> Bool {
    let (width, height) = (layout.width, layout.imageSize.height)
    let (rows, columns) = isLetterbox ? (bars, width) : (height, bars)
    var sum = 0
    for y in 0..<rows {
      for x in 0..<columns * layout.channels {
        sum += Int(row(y)[x])
        sum += Int(row(height - 1 - y)[width * layout.channels - 1 - x])
      }
    }
    return sum < brightest * 2 * rows * columns * layout.channels
  }

  private func row(_ y: Int) -> UnsafeMutablePointer<UInt8> { pixels.pointer + y * layout.rowBytes }
}
