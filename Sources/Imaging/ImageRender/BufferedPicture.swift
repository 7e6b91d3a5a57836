import ImageCodec
import MediaMetadata

/// A small picture that is decoded once into memory, examined, and then passed on row by row like a decoder.
final class BufferedPicture: RowConsumer, RowDecoder {
  let layout: RowLayout
  private let decoder: any RowDecoder
  /// Row y at `y * layout.rowBytes`.
  private let pixels: RowBuffer<UInt8>

  /// - Parameter decoder: has 8 bits a channel; the caller must decode it into this object.
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

  /// Whether the bars along two opposite edges are dark.
  ///
  /// - Parameters:
  ///   - bars: number of rows, or columns, to examine at each edge.
  ///   - isLetterbox: examine top and bottom, else left and right.
  ///   - brightest: highest mean value that still counts as dark, 0...255.
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
