import CZlib
import PhotoModel

/// Rows that are compressed by zlib (TIFF Technical Note "Deflate"; RFC 1950).
final class TIFFDeflateStream: TIFFStream {
  private let source: any ByteSource
  private let stop: StopFlag
  private var input: DecoderInput
  /// zlib keeps its address, so it may not move.
  private let zlib: UnsafeMutablePointer<z_stream>
  private var hasEnded = false
  private var isDamaged = false
  /// Whether zlib may have more output without more input.
  private var wasFull = false
  /// Decoded bytes: those in `start..<end` are not taken yet. Rows may be short, and zlib is slow near the end of its
  /// output.
  private static let windowBytes = 64 * 1024
  private let window = UnsafeMutablePointer<UInt8>.allocate(capacity: windowBytes)
  private var start = 0
  private var end = 0

  init(_ source: any ByteSource, _ stop: StopFlag) throws(CodecError) {
    (self.source, self.stop) = (source, stop)
    input = DecoderInput(cursor: SourceCursor(source: source, range: ByteRange(offset: 0, length: 0), stop: stop))
    zlib = .allocate(capacity: 1)
    zlib.initialize(to: z_stream())
    // On failure zlib keeps nothing, and ending it is harmless.
    guard inflateInit_(zlib, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else { throw .outOfMemory }
  }

  deinit {
    inflateEnd(zlib)
    zlib.deallocate()
    window.deallocate()
  }

  var readTime: Duration { input.readTime }

  func begin(_ range: ByteRange, skippedBytes: Int) -> Int {
    input.restart(SourceCursor(source: source, range: range, stop: stop))
    inflateReset(zlib)
    (hasEnded, isDamaged, wasFull, start, end) = (false, false, false, 0, 0)
    return 0
  }

  func fill(_ row: UnsafeMutableRawBufferPointer) throws(CodecError) {
    var filled = 0
    while filled < row.count {
      if start < end {
        let taken = min(end - start, row.count - filled)
        row.baseAddress?.advanced(by: filled).copyMemory(from: window + start, byteCount: taken)
        start += taken
        filled += taken
        continue
      }
      if hasEnded { throw .truncated(offset: input.position) }
      if isDamaged { throw .malformed("damaged data of a strip or tile", offset: input.position) }
      if !wasFull { try input.require(1) }
      var status = Z_OK
      input.use { bytes in
        zlib.pointee.next_in = UnsafeMutablePointer(mutating: bytes.baseAddress)
        zlib.pointee.avail_in = uInt(bytes.count)
        zlib.pointee.next_out = window
        zlib.pointee.avail_out = uInt(Self.windowBytes)
        status = inflate(zlib, Z_NO_FLUSH)
        (start, end) = (0, Self.windowBytes - Int(zlib.pointee.avail_out))
        return bytes.count - Int(zlib.pointee.avail_in)
      }
      let hadMore = wasFull
      wasFull = end == Self.windowBytes
      // Bytes before the damage are delivered: the picture may need no more.
      switch status {
      case Z_OK: break
      case Z_BUF_ERROR where hadMore: break
      case Z_STREAM_END: hasEnded = true
      case Z_MEM_ERROR: throw .outOfMemory
      default: isDamaged = true
      }
    }
  }
}
