import ImageCodec
import MediaMetadata
import PhotoModel

/// Takes the rows of the finished size in the order in which they are stored, converts their colours if need be, turns the
/// picture upright, and encodes it.
final class OutputWriter {
  /// Rows arrive with so many interleaved channels.
  let channels: Int
  /// Of 8 bits, or of 16 in the machine's byte order.
  let bitsPerChannel: Int
  private let storedSize: PixelSize
  private let turning: Turning
  private let encoder: any RowEncoder
  private let transform: (any RowTransform)?
  /// A row before its colours are converted; `nil` where they stay.
  private let arriving: RowBuffer<UInt16>?
  /// Channels of the output, 8 bits each.
  private let outputChannels: Int
  private let stop: StopFlag
  /// One row, or all of them: row y at `y * storedSize.width * outputChannels`.
  private let pixels: RowBuffer<UInt8>
  private var row = 0
  private(set) var failure: CodecError?
  /// Time spent converting colours, turning and encoding.
  private(set) var encodeTime = Duration.zero

  /// - Parameters:
  ///   - channels: channels of the output.
  ///   - transform: what makes output colours of those that arrive; `nil`: they are the same.
  init(
    storedSize: PixelSize, channels: Int, transform: (any RowTransform)?, orientation: Orientation,
    encoder: any RowEncoder, stop: StopFlag
  ) {
    self.stop = stop
    self.storedSize = storedSize
    outputChannels = channels
    self.transform = transform
    self.channels = transform?.source.channels ?? channels
    bitsPerChannel = transform?.source.bitsPerChannel ?? 8
    arriving = transform.map { RowBuffer(count: storedSize.width * $0.source.channels, zero: 0) }
    self.encoder = encoder
    turning = Turning(orientation: orientation, channels: channels)
    pixels = RowBuffer(count: storedSize.width * (turning.streams ? 1 : storedSize.height) * channels, zero: 0)
  }

  /// What a writer takes, its encoder apart: rows that arrive in so many bytes, and a row of the output or all of them.
  static func byteCount(_ storedSize: PixelSize, channels: Int, arrivingBytes: Int, _ orientation: Orientation) -> Int {
    let rows = Turning.streams(orientation) ? 1 : storedSize.height
    return (storedSize.width * rows + max(storedSize.width, storedSize.height)) * channels
      + storedSize.width * arrivingBytes
  }

  var warnings: CodecWarnings? { encoder.warnings }

  private var strideBytes: Int { storedSize.width * outputChannels }

  /// Where the next row is to be put.
  var rowSpace: UnsafeMutableRawPointer { arriving.map { UnsafeMutableRawPointer($0.pointer) } ?? outputSpace }

  private var outputSpace: UnsafeMutableRawPointer {
    UnsafeMutableRawPointer(pixels.pointer + (turning.streams ? 0 : row * strideBytes))
  }

  /// The next row is there. False: something failed, and no further row is wanted.
  func rowArrived() -> Bool {
    if transform == nil && !turning.streams {
      row += 1
      return true
    }
    let started = ContinuousClock.now
    defer { encodeTime += ContinuousClock.now - started }
    if let transform, let arriving {
      transform.convert(UnsafeRawPointer(arriving.pointer), to: outputSpace, pixels: storedSize.width)
    }
    row += 1
    guard turning.streams else { return true }
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
      if stop.isRaised { throw .stopped }
      try encoder.write(row, strideBytes: rowBytes, count: 1)
      return true
    } catch {
      failure = error
      return false
    }
  }

  private func writeUpright() {
    let upright = turning.orientation.apply(to: storedSize)
    let line = RowBuffer<UInt8>(count: upright.width * outputChannels, zero: 0)
    for y in 0..<upright.height {
      turning.copyUprightRow(y, of: pixels.pointer, size: storedSize, strideBytes: strideBytes, into: line.pointer)
      guard encode(line.pointer, rowBytes: upright.width * outputChannels) else { return }
    }
  }
}
