import ImageCodec
import PhotoModel

/// Takes the rows of the finished size in the order in which they are stored, turns the picture upright, and encodes it.
///
/// A picture that is upright, or only mirrored left to right, goes straight through, a row at a time. Every other
/// orientation needs its last row first or its rows as columns, so those are kept until all are there: at the size of
/// the output, not of the original.
final class OutputWriter {
  /// Rows arrive with so many interleaved 8-bit channels.
  let channels: Int
  private let storedSize: PixelSize
  private let orientation: Orientation
  private let encoder: any RowEncoder
  private let isStreaming: Bool
  /// One row, or all of them: row y at `y * storedSize.width * channels`.
  private let pixels: RowBuffer<UInt8>
  private var row = 0
  private(set) var failure: CodecError?
  private(set) var encodeTime = Duration.zero

  init(storedSize: PixelSize, channels: Int, orientation: Orientation, encoder: any RowEncoder) {
    self.storedSize = storedSize
    self.channels = channels
    self.orientation = orientation
    self.encoder = encoder
    isStreaming = Self.streams(orientation)
    pixels = RowBuffer(count: storedSize.width * (isStreaming ? 1 : storedSize.height) * channels, zero: 0)
  }

  static func streams(_ orientation: Orientation) -> Bool { !orientation.swapsSides && !orientation.mirrorsY }

  private var strideBytes: Int { storedSize.width * channels }

  /// Where the next row is to be put.
  var rowSpace: UnsafeMutableRawPointer {
    UnsafeMutableRawPointer(pixels.pointer + (isStreaming ? 0 : row * strideBytes))
  }

  /// The next row is there. False: something failed, and no further row is wanted.
  func rowArrived() -> Bool {
    row += 1
    guard isStreaming else { return true }
    let started = ContinuousClock.now
    defer { encodeTime += ContinuousClock.now - started }
    if orientation.mirrorsX { mirror(pixels.pointer) }
    return encode(pixels.pointer, rowBytes: strideBytes)
  }

  /// The finished file, after the last row.
  func finish() throws(CodecError) -> [UInt8] {
    let started = ContinuousClock.now
    defer { encodeTime += ContinuousClock.now - started }
    if !isStreaming { writeUpright() }
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
    let upright = orientation.apply(to: storedSize)
    let line = RowBuffer<UInt8>(count: upright.width * channels, zero: 0)
    for uprightY in 0..<upright.height {
      let y = orientation.mirrorsY ? upright.height - 1 - uprightY : uprightY
      if orientation.swapsSides {
        gatherColumn(y, into: line.pointer, count: upright.width)
      } else {
        line.pointer.update(from: pixels.pointer + y * strideBytes, count: strideBytes)
        if orientation.mirrorsX { mirror(line.pointer) }
      }
      guard encode(line.pointer, rowBytes: upright.width * channels) else { return }
    }
  }

  /// Column `x` of what is stored as a row: downwards, or upwards where the upright x counts from the right.
  private func gatherColumn(_ x: Int, into line: UnsafeMutablePointer<UInt8>, count: Int) {
    let step = orientation.mirrorsX ? -strideBytes : strideBytes
    var from = pixels.pointer + x * channels + (orientation.mirrorsX ? (count - 1) * strideBytes : 0)
    var to = line
    for _ in 0..<count {
      for c in 0..<channels { to[c] = from[c] }
      to += channels
      from += step
    }
  }

  /// Left to right, in place.
  private func mirror(_ row: UnsafeMutablePointer<UInt8>) {
    var left = 0
    var right = storedSize.width - 1
    while left < right {
      for c in 0..<channels {
        let value = row[left * channels + c]
        row[left * channels + c] = row[right * channels + c]
        row[right * channels + c] = value
      }
      left += 1
      right -= 1
    }
  }
}
