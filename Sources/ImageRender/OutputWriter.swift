import ImageCodec
import PhotoModel

/// Takes the rows of the finished size in the order in which they are stored, turns the picture upright, and encodes it.
final class OutputWriter {
  /// Rows arrive with so many interleaved 8-bit channels.
  let channels: Int
  private let storedSize: PixelSize
  private let turning: Turning
  private let encoder: any RowEncoder
  /// One row, or all of them: row y at `y * storedSize.width * channels`.
  private let pixels: RowBuffer<UInt8>
  private var row = 0
  private(set) var failure: CodecError?
  private(set) var encodeTime = Duration.zero

  init(storedSize: PixelSize, channels: Int, orientation: Orientation, encoder: any RowEncoder) {
    self.storedSize = storedSize
    self.channels = channels
    self.encoder = encoder
    turning = Turning(orientation: orientation, channels: channels)
    pixels = RowBuffer(count: storedSize.width * (turning.streams ? 1 : storedSize.height) * channels, zero: 0)
  }

  private var strideBytes: Int { storedSize.width * channels }

  /// Where the next row is to be put.
  var rowSpace: UnsafeMutableRawPointer {
    UnsafeMutableRawPointer(pixels.pointer + (turning.streams ? 0 : row * strideBytes))
  }

  /// The next row is there. False: something failed, and no further row is wanted.
  func rowArrived() -> Bool {
    row += 1
    guard turning.streams else { return true }
    let started = ContinuousClock.now
    defer { encodeTime += ContinuousClock.now - started }
    if turning.orientation.mirrorsX { turning.mirror(pixels.pointer, width: storedSize.width) }
    return encode(pixels.pointer, rowBytes: strideBytes)
  }

  /// The finished file, after the last row.
  func finish() throws(CodecError) -> [UInt8] {
    let started = ContinuousClock.now
    defer { encodeTime += ContinuousClock.now - started }
    if !turning.streams { writeUpright() }
    if let failure { throw failure }
    return try encoder.finish()
  }

  private func encode(_ row: UnsafePointer<UInt8>, rowBytes: Int) -> Bool {
    do throws(CodecError) {
      try encoder.write(row, strideBytes: rowBytes, count: 1)
      return true
    } catch {
      failure = error
      return false
    }
  }

  private func writeUpright() {
    let upright = turning.orientation.apply(to: storedSize)
    let line = RowBuffer<UInt8>(count: upright.width * channels, zero: 0)
    for y in 0..<upright.height {
      turning.copyUprightRow(y, of: pixels.pointer, size: storedSize, strideBytes: strideBytes, into: line.pointer)
      guard encode(line.pointer, rowBytes: upright.width * channels) else { return }
    }
  }
}
