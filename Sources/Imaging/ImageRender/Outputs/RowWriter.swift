import ImageCodec
import MediaMetadata
import PhotoModel

/// Takes rows of the output's size in stored order, converts their colours and blends them over white if necessary,
/// rotates the picture upright, and encodes it.
final class RowWriter {
  /// Number of interleaved channels of arriving rows.
  let channels: Int
  /// 8, or 16 in native byte order.
  let bitsPerChannel: Int
  private let storedSize: PixelSize
  private let orientationTransform: OrientationTransform
  private let encoder: any RowEncoder
  private let transform: (any RowTransform)?
  /// A row before colour conversion; `nil` if colours are not converted.
  private let arriving: RowBuffer<UInt16>?
  /// A row in the output's colours with the alpha that is blended over white; `nil` if rows are not blended.
  private let unblended: RowBuffer<UInt8>?
  /// Bytes of an output pixel.
  private let pixelBytes: Int
  private let stop: StopFlag
  /// One row, or all rows: row y at `y * storedSize.width * pixelBytes`.
  private let pixels: RowBuffer<UInt8>
  private var row = 0
  private(set) var failure: CodecError?
  /// Time spent converting colours, rotating and encoding.
  private(set) var encodeTime = Duration.zero

  /// - Parameters:
  ///   - channels: number of output channels.
  ///   - bits: of each output channel: 8, or 16 in native byte order.
  ///   - transform: converts arriving colours to output colours; `nil` if they are the same.
  ///   - blendsAlpha: whether arriving rows have alpha and the output, of 8 bits, does not: it is blended over white.
  init(
    storedSize: PixelSize, channels: Int, bits: Int = 8, transform: (any RowTransform)?, blendsAlpha: Bool = false,
    orientation: Orientation, encoder: any RowEncoder, stop: StopFlag
  ) {
    precondition(!blendsAlpha || bits == 8)
    let unblendedChannels = blendsAlpha ? channels + 1 : channels
    self.stop = stop
    self.storedSize = storedSize
    pixelBytes = channels * bits / 8
    self.transform = transform
    self.channels = transform?.source.channels ?? unblendedChannels
    bitsPerChannel = transform?.source.bitsPerChannel ?? bits
    arriving = transform.map { RowBuffer(count: storedSize.width * $0.source.channels, zero: 0) }
    unblended = blendsAlpha ? RowBuffer<UInt8>(count: storedSize.width * unblendedChannels, zero: 0) : nil
    self.encoder = encoder
    orientationTransform = OrientationTransform(orientation: orientation, pixelBytes: pixelBytes)
    pixels = RowBuffer(
      count: storedSize.width * (orientationTransform.canStream ? 1 : storedSize.height) * pixelBytes, zero: 0)
  }

  /// Memory of a writer, without its encoder: one output row or all of them, and the rows before conversion and
  /// blending, which together have `earlierBytes` for each pixel.
  static func byteCount(_ storedSize: PixelSize, pixelBytes: Int, earlierBytes: Int, _ orientation: Orientation) -> Int
  {
    let rows = OrientationTransform.canStream(orientation) ? 1 : storedSize.height
    return (storedSize.width * rows + max(storedSize.width, storedSize.height)) * pixelBytes
      + storedSize.width * earlierBytes
  }

  var warnings: CodecWarnings? { encoder.warnings }

  private var strideBytes: Int { storedSize.width * pixelBytes }

  /// The buffer for the next row.
  var rowSpace: UnsafeMutableRawPointer { arriving.map { UnsafeMutableRawPointer($0.pointer) } ?? convertedSpace }

  private var convertedSpace: UnsafeMutableRawPointer {
    unblended.map { UnsafeMutableRawPointer($0.pointer) } ?? outputSpace
  }

  private var outputSpace: UnsafeMutableRawPointer {
    UnsafeMutableRawPointer(pixels.pointer + (orientationTransform.canStream ? 0 : row * strideBytes))
  }

  /// Processes the next row. Returns false if something failed and no further row is wanted.
  func rowArrived() -> Bool {
    if transform == nil && unblended == nil && !orientationTransform.canStream {
      row += 1
      return true
    }
    let started = ContinuousClock.now
    defer { encodeTime += ContinuousClock.now - started }
    if let transform, let arriving {
      transform.convert(UnsafeRawPointer(arriving.pointer), to: convertedSpace, pixels: storedSize.width)
    }
    if let unblended {
      WhiteBackground.blend(
        unblended.pointer, channels: pixelBytes + 1, to: outputSpace.assumingMemoryBound(to: UInt8.self),
        pixels: storedSize.width)
    }
    row += 1
    guard orientationTransform.canStream else { return true }
    if orientationTransform.orientation.mirrorsX {
      orientationTransform.mirror(pixels.pointer, width: storedSize.width)
    }
    return encode(pixels.pointer, rowBytes: strideBytes)
  }

  /// The finished file, after the last row.
  func finish() throws(CodecError) -> [UInt8] {
    let started = ContinuousClock.now
    defer { encodeTime += ContinuousClock.now - started }
    if !orientationTransform.canStream { writeUpright() }
    if let failure { throw failure }
    return try encoder.finish()
  }

  private func encode(_ row: UnsafePointer<UInt8>, rowBytes: Int) -> Bool {
    do throws(CodecError) {
      if stop.isRaised { throw .stopped }
      try encoder.write(row, strideBytes: rowBytes, count: 1)
      return true
    } catch {
      failure = error
      return false
    }
  }

  private func writeUpright() {
    let upright = orientationTransform.orientation.apply(to: storedSize)
    let line = RowBuffer<UInt8>(count: upright.width * pixelBytes, zero: 0)
    for y in 0..<upright.height {
      orientationTransform.copyUprightRow(
        y, of: pixels.pointer, size: storedSize, strideBytes: strideBytes, into: line.pointer)
      guard encode(line.pointer, rowBytes: upright.width * pixelBytes) else { return }
    }
  }
}
