import MediaMetadata
import PhotoModel

/// Strips or tiles that are JPEGs, most of them without the tables that they share (TIFF Technical Note 2).
final class TIFFJPEGStream: TIFFStream {
  /// The start of each tile's data that is read into memory, so that its header is not read twice.
  private static let headBytes = 16 * 1024
  private static let startOfImage: [UInt8] = [0xFF, 0xD8]
  private static let endOfImage: [UInt8] = [0xFF, 0xD9]

  /// Adobe's APP14 segment with the transform 0: the samples are RGB or inks. libjpeg would take three of them for
  /// YCbCr (jdapimin.c, default_decompress_parms).
  private static let noTransform: [UInt8] =
    [0xFF, 0xEE, 0, 14] + Array("Adobe".utf8) + [0, 100, 0, 0, 0, 0, 0]

  private let source: any ByteSource
  private let stop: StopFlag
  private let limits: CodecLimits
  private let width: Int
  private let channels: Int
  /// The bytes to put before a tile's data, whose own SOI is skipped.
  private let prefix: [UInt8]
  private let cursor: SourceCursor
  private var range = ByteRange(offset: 0, length: 0)
  private var decoder: JPEGDecoder?
  private var row = OneRow()
  private var height = 0
  /// The decoders' time for tiles that are done, whether one of them ended early, and their warnings.
  private var pastReadTime = Duration.zero
  private var wasTruncated = false
  private var pastWarnings: CodecWarnings?

  /// - Parameter tables: the page's JPEGTables; empty if there are none.
  init(_ page: TIFFPage, tables: [UInt8], _ source: any ByteSource, limits: CodecLimits, _ stop: StopFlag) {
    (self.source, self.limits, self.stop) = (source, limits, stop)
    width = page.tileSize.width
    channels = page.streamSamples
    cursor = SourceCursor(source: source, range: nil, stop: stop)
    var shared = tables[...]
    if shared.starts(with: Self.startOfImage) { shared = shared.dropFirst(2) }
    if shared.suffix(2).elementsEqual(Self.endOfImage) { shared = shared.dropLast(2) }
    prefix = Self.startOfImage + (page.hasJPEGInYCbCr || channels < 3 ? [] : Self.noTransform) + shared
  }

  /// Memory of a stream: libjpeg's rows (jdmainct.c, jdsample.c) for the largest sampling factors, its tables and
  /// input.
  static func byteCount(_ page: TIFFPage) -> Int {
    512 * 1024 + ContainerLimits.jpegTables + page.tileSize.width * page.streamSamples * 32
  }

  var readTime: Duration { cursor.readTime + decoderTime }
  private var decoderTime: Duration { pastReadTime + (decoder?.readTime ?? .zero) }
  var isTruncated: Bool { wasTruncated || decoder?.isTruncated == true }
  var warnings: CodecWarnings? { .joined([pastWarnings, decoder?.warnings].compactMap(\.self)) }

  func begin(_ range: ByteRange, skippedBytes: Int) -> Int {
    (pastReadTime, wasTruncated, pastWarnings) = (decoderTime, isTruncated, warnings)
    decoder = nil
    self.range = range
    return 0
  }

  func fill(_ space: UnsafeMutableRawBufferPointer) throws(CodecError) {
    let decoder = try tileDecoder()
    if row.y >= height { throw .malformed("a JPEG with fewer rows than its strip or tile", offset: range.offset) }
    row.space = space.baseAddress
    do throws(CodecError) {
      guard try decoder.decode(into: row) == .finished else { throw .truncated(offset: range.offset) }
    } catch {
      throw located(error)
    }
  }

  /// The decoder of the tile's JPEG, whose header is read before the first row.
  private func tileDecoder() throws(CodecError) -> JPEGDecoder {
    if let decoder { return decoder }
    let head = try cursor.bytes(at: range.offset, count: min(range.length, Self.headBytes))
    guard head.starts(with: Self.startOfImage) else {
      throw .malformed("a strip or tile without its JPEG", offset: range.offset)
    }
    let joined = JoinedSource(prefix + head.dropFirst(2), then: source, range, skipping: head.count)
    do throws(CodecError) {
      var reader = HeaderReader(source: joined)
      let header = try JPEGHeader.read(&reader, limits: limits)
      guard header.isWidelyDecodable, !header.isBuffered, header.colorChannels == channels else {
        throw .unsupported("a TIFF picture with an unusual JPEG")
      }
      guard header.storedSize.width == width else { throw .malformed("a JPEG of another width", offset: nil) }
      try limits.check(header.storedSize)
      height = header.storedSize.height
      row = OneRow()
      let decoder = try JPEGDecoder(
        source: joined, size: header.storedSize, options: JPEGDecoder.Options(eighths: 8), limits: limits, stop: stop)
      guard decoder.layout.channels == channels else { throw .unsupported("a TIFF picture with an unusual JPEG") }
      self.decoder = decoder
      return decoder
    } catch {
      throw located(error)
    }
  }

  /// An error with the position of the tile: those inside the JPEG count from the joined tables.
  private func located(_ error: CodecError) -> CodecError {
    switch error {
    case .malformed(let what, _): .malformed("a strip or tile with a damaged JPEG: \(what)", offset: range.offset)
    case .truncated: .truncated(offset: min(source.size, range.offset + Int64(range.length)))
    default: error
    }
  }
}

/// Takes one row, then pauses the decode.
private final class OneRow: RowConsumer {
  var space: UnsafeMutableRawPointer?
  /// Rows that have arrived.
  private(set) var y = 0

  func space(forRow y: Int) -> UnsafeMutableRawPointer {
    guard let space else { preconditionFailure("a row without space") }
    return space
  }

  func rowArrived(_ y: Int) -> Bool {
    self.y = y + 1
    return false
  }
}

/// Bytes in memory, and after them a part of a source.
private final class JoinedSource: ByteSource {
  private let bytes: [UInt8]
  private let rest: ByteSourceSlice

  /// - Parameter skipping: how many bytes of the range are among those in memory.
  init(_ bytes: [UInt8], then source: any ByteSource, _ range: ByteRange, skipping: Int) {
    self.bytes = bytes
    rest = ByteSourceSlice(
      source, ByteRange(offset: range.offset + Int64(skipping), length: range.length - skipping))
  }

  var size: Int64 { Int64(bytes.count) + rest.size }
  var canReturnNotYet: Bool { rest.canReturnNotYet }
  var isUnchanged: Bool { rest.isUnchanged }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(ByteSourceError) -> ByteRead {
    guard offset >= 0 else { return .end }
    guard offset < Int64(bytes.count) else { return try rest.read(into: buffer, at: offset - Int64(bytes.count)) }
    let count = min(buffer.count, bytes.count - Int(offset))
    bytes.withUnsafeBytes {
      buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0.dropFirst(Int(offset)).prefix(count)))
    }
    return .bytes(count)
  }
}
