import MediaMetadata
import PhotoModel

/// The data of strips or tiles, one after the other, as the bytes of their rows. One thread at a time.
protocol TIFFStream: AnyObject {
  /// Time spent waiting for the source.
  var readTime: Duration { get }
  /// Whether data ended before their picture, and the rest of it is gray.
  var isTruncated: Bool { get }
  /// Those of the tiles so far.
  var warnings: CodecWarnings? { get }

  /// Begins with the data of a tile.
  ///
  /// - Parameters:
  ///   - range: within the file.
  ///   - skippedBytes: how many bytes of rows need not be delivered.
  /// - Returns: how many of those are skipped: 0 if they must be decoded too.
  func begin(_ range: ByteRange, skippedBytes: Int) -> Int

  /// Fills the next row.
  ///
  /// - Throws: `truncated` if the data end first, by the file's end or their own.
  func fill(_ row: UnsafeMutableRawBufferPointer) throws(CodecError)
}

extension TIFFStream {
  var isTruncated: Bool { false }
  var warnings: CodecWarnings? { nil }
}

/// Rows that are not compressed.
final class TIFFStoredStream: TIFFStream {
  private let source: any ByteSource
  private let stop: StopFlag
  private var input: DecoderInput
  /// Whether the bits of each byte are in reverse order (TIFF 6.0 §8, FillOrder 2).
  private let isReversed: Bool

  init(_ source: any ByteSource, _ stop: StopFlag, isReversed: Bool) {
    (self.source, self.stop, self.isReversed) = (source, stop, isReversed)
    input = DecoderInput(cursor: SourceCursor(source: source, range: ByteRange(offset: 0, length: 0), stop: stop))
  }

  var readTime: Duration { input.readTime }

  func begin(_ range: ByteRange, skippedBytes: Int) -> Int {
    let skipped = min(skippedBytes, range.length)
    let rest = ByteRange(offset: range.offset + Int64(skipped), length: range.length - skipped)
    input.restart(SourceCursor(source: source, range: rest, stop: stop))
    return skippedBytes
  }

  func fill(_ row: UnsafeMutableRawBufferPointer) throws(CodecError) {
    var filled = 0
    while filled < row.count {
      try input.require(1)
      input.use { bytes in
        let count = min(bytes.count, row.count - filled)
        UnsafeMutableRawBufferPointer(rebasing: row[filled..<filled + count]).copyBytes(from: bytes.prefix(count))
        if isReversed { for i in filled..<filled + count { row[i] = row[i].bitReversed } }
        filled += count
        return count
      }
    }
  }
}

extension UInt8 {
  fileprivate var bitReversed: UInt8 {
    let halves = self << 4 | self >> 4
    let pairs = (halves & 0x33) << 2 | (halves & 0xCC) >> 2
    return (pairs & 0x55) << 1 | (pairs & 0xAA) >> 1
  }
}

/// PackBits (TIFF 6.0 §9): runs of one byte, and bytes that are copied.
final class TIFFPackBitsStream: TIFFStream {
  private let source: any ByteSource
  private let stop: StopFlag
  private var input: DecoderInput
  /// Bytes that are still to be copied, or times that a byte is still to be repeated.
  private var copied = 0
  private var repeated = 0
  private var byte: UInt8 = 0

  init(_ source: any ByteSource, _ stop: StopFlag) {
    (self.source, self.stop) = (source, stop)
    input = DecoderInput(cursor: SourceCursor(source: source, range: ByteRange(offset: 0, length: 0), stop: stop))
  }

  var readTime: Duration { input.readTime }

  func begin(_ range: ByteRange, skippedBytes: Int) -> Int {
    input.restart(SourceCursor(source: source, range: range, stop: stop))
    (copied, repeated) = (0, 0)
    return 0
  }

  func fill(_ row: UnsafeMutableRawBufferPointer) throws(CodecError) {
    var filled = 0
    while filled < row.count {
      if repeated > 0 {
        fillRun(row, &filled)
        continue
      }
      // A run has two bytes.
      let isCutRun = copied == 0 && input.available == 1 && input[0] > 128
      try input.require(isCutRun ? 2 : 1)
      input.use { decode($0, into: row, &filled) }
    }
  }

  private func fillRun(_ row: UnsafeMutableRawBufferPointer, _ filled: inout Int) {
    let count = min(repeated, row.count - filled)
    UnsafeMutableRawBufferPointer(rebasing: row[filled..<filled + count]).initializeMemory(
      as: UInt8.self, repeating: byte)
    repeated -= count
    filled += count
  }

  /// Decodes until the row is full or the bytes are used, except a run without its second byte. Returns how many bytes
  /// are used.
  private func decode(
    _ bytes: UnsafeBufferPointer<UInt8>, into row: UnsafeMutableRawBufferPointer, _ filled: inout Int
  ) -> Int {
    var position = 0
    while filled < row.count, position < bytes.count {
      if copied > 0 {
        let count = min(copied, row.count - filled, bytes.count - position)
        UnsafeMutableRawBufferPointer(rebasing: row[filled..<filled + count]).copyBytes(
          from: bytes[position..<position + count])
        copied -= count
        filled += count
        position += count
        continue
      }
      let code = Int(bytes[position])
      // 128 has no meaning and is skipped.
      if code <= 128 {
        copied = code == 128 ? 0 : code + 1
        position += 1
      } else {
        guard position + 1 < bytes.count else { break }
        (byte, repeated) = (bytes[position + 1], 257 - code)
        position += 2
        fillRun(row, &filled)
      }
    }
    return position
  }
}

extension CodecWarnings {
  /// The warnings of several readers of one picture: their number, and the first of them. `nil` without any.
  static func joined(_ all: [CodecWarnings]) -> CodecWarnings? {
    all.first.flatMap { first in
      CodecWarnings(library: first.library, count: all.reduce(0) { $0 + $1.count }, first: first.first)
    }
  }
}
