import MediaMetadata
import PhotoModel

/// The layout of decoded rows.
package struct RowLayout: Sendable, Hashable {
  /// The size of the whole picture at the decoded scale.
  package var imageSize: PixelSize
  /// The column of a row's first pixel; greater than 0 after a crop.
  package var firstColumn: Int
  /// Pixels in a row.
  package var width: Int
  /// 1 gray, 2 gray + alpha, 3 RGB, 4 RGBA or CMYK; interleaved. Alpha is not premultiplied.
  package var channels: Int
  /// The four channels are inks in Adobe's polarity: 255 is no ink, 0 is full ink.
  package var isCMYK = false
  /// 8, or 16 in native byte order.
  package var bitsPerChannel: Int

  package init(
    imageSize: PixelSize, firstColumn: Int, width: Int, channels: Int, isCMYK: Bool = false, bitsPerChannel: Int
  ) {
    self.imageSize = imageSize
    self.firstColumn = firstColumn
    self.width = width
    self.channels = channels
    self.isCMYK = isCMYK
    self.bitsPerChannel = bitsPerChannel
  }

  package var hasAlpha: Bool { channels == 2 || (channels == 4 && !isCMYK) }
  package var rowBytes: Int { width * channels * bitsPerChannel / 8 }
}

/// Receives the rows of a decode, top to bottom.
package protocol RowConsumer: AnyObject {
  /// The buffer for row `y`: `rowBytes`, valid until `rowArrived`.
  func space(forRow y: Int) -> UnsafeMutableRawPointer

  /// Row `y` has arrived. Return false to end the decode.
  func rowArrived(_ y: Int) -> Bool
}

/// How a decode ended.
package enum DecodeOutcome: Sendable, Hashable {
  case finished
  /// The source had no data for now: call again later. Only JPEG decoders return this; all others throw `truncated`.
  case needsInput
}

/// A decoder of one picture. One thread at a time.
package protocol PictureDecoder: AnyObject {
  /// Whether the file ended before its picture; the missing part is gray.
  var isTruncated: Bool { get }

  /// Time spent waiting for the source; part of the decode's total time.
  var readTime: Duration { get }

  /// Time spent waiting for a process that decodes; part of the decode's total time.
  var workerTime: Duration { get }

  /// The codec's warnings so far.
  var warnings: CodecWarnings? { get }
}

extension PictureDecoder {
  package var workerTime: Duration { .zero }
}

/// A decoder that delivers interleaved rows.
package protocol RowDecoder: PictureDecoder {
  var layout: RowLayout { get }

  /// Delivers the rows of the region in order until the last one, until the consumer wants no more, or, only from a
  /// JPEG, until input is missing.
  func decode(into consumer: any RowConsumer) throws(CodecError) -> DecodeOutcome
}

/// An encoder of one picture. One thread at a time.
package protocol RowEncoder: AnyObject {
  /// Takes rows, top to bottom: row i at `i * strideBytes`.
  func write(_ rows: UnsafeRawPointer, strideBytes: Int, count: Int) throws(CodecError)

  /// The finished file.
  func finish() throws(CodecError) -> [UInt8]

  /// The codec's warnings so far.
  var warnings: CodecWarnings? { get }
}

/// A reading position in a source, with the state that the C codecs' callbacks need.
final class SourceCursor {
  private let source: any ByteSource
  private let stop: StopFlag
  private var offset: Int64
  private let end: Int64
  private(set) var failure: Int32?

  /// - Parameter range: the part of the source that is the picture's file; all of it by default.
  init(source: any ByteSource, range: ByteRange?, stop: StopFlag) {
    self.source = source
    self.stop = stop
    offset = range?.offset ?? 0
    end = range.map { min($0.offset + Int64($0.length), source.size) } ?? source.size
  }

  /// Time spent in the source's `read`.
  private(set) var readTime = Duration.zero

  var canReturnNotYet: Bool { source.canReturnNotYet }
  var isStopped: Bool { stop.isRaised }
  var position: Int64 { offset }

  /// Reads the bytes that are available at once, as many as fit.
  ///
  /// - Returns: their number, at least 1.
  /// - Throws: `truncated` at the end and where the source has no data for now, `readFailed`, or `stopped` before
  ///   anything is read.
  func read(into buffer: UnsafeMutableBufferPointer<UInt8>) throws(CodecError) -> Int {
    if isStopped { throw .stopped }
    switch buffer.baseAddress.map({ fill($0, buffer.count) }) ?? 0 {
    case -2: throw .readFailed(code: failure ?? 0)
    case -1, 0: throw .truncated(offset: position)
    case let got: return got
    }
  }

  /// Reads bytes from another position, and continues after them.
  ///
  /// - Parameter count: as many bytes are allocated, so the caller must check its own limits first.
  /// - Throws: as ``read(into:)``: `truncated` if there are fewer bytes.
  func bytes(at position: Int64, count: Int) throws(CodecError) -> [UInt8] {
    offset = position
    var bytes = [UInt8](repeating: 0, count: count)
    var filled = 0
    while filled < count {
      let got = try bytes.withUnsafeMutableBufferPointer { [filled] (buffer) throws(CodecError) in
        try read(into: UnsafeMutableBufferPointer(rebasing: buffer[filled...]))
      }
      filled += got
    }
    return bytes
  }

  /// The `fill` of the C shims: bytes copied, 0 at the end, -1 not yet, -2 on failure.
  func fill(_ into: UnsafeMutablePointer<UInt8>, _ capacity: Int) -> Int {
    let count = min(capacity, Int(clamping: end - offset))
    guard count > 0 else { return 0 }
    let started = ContinuousClock.now
    defer { readTime += ContinuousClock.now - started }
    do throws(ByteSourceError) {
      switch try source.read(into: UnsafeMutableRawBufferPointer(start: into, count: count), at: offset) {
      case .bytes(let got):
        offset += Int64(got)
        return got
      case .end: return 0
      case .notYet: return -1
      }
    } catch {
      switch error {
      case .readFailed(let code): failure = code
      }
      return -2
    }
  }
}
