import PhotoModel

/// Rows that are compressed by LZW (TIFF 6.0 §13): codes of 9 to 12 bits, the highest bit first. They grow one code
/// earlier than those of GIF.
final class TIFFLZWStream: TIFFStream {
  private static let clearCode = 256
  private static let endCode = 257
  private static let maximumCodes = 4096
  /// Strings that are decoded at once, and one more: the longest has fewer bytes than there are codes. Eight bytes are
  /// written at once.
  private static let windowBytes = 8192 + maximumCodes + 8

  private let source: any ByteSource
  private let stop: StopFlag
  private var input: DecoderInput
  /// Decoded bytes: those in `start..<end` are not taken yet.
  private let window = UnsafeMutablePointer<UInt8>.allocate(capacity: windowBytes)
  private var start = 0
  private var end = 0
  /// The string of a code: that of the smaller code `prefix`, and a last byte.
  private struct Entry {
    /// The first eight bytes, the first one lowest, and zeros after a shorter string. Most strings are that short, and
    /// are written at once.
    var head: UInt64
    var prefix: UInt16
    var length: UInt16
    var last: UInt8

    var first: UInt8 { UInt8(truncatingIfNeeded: head) }

    /// The entry of this string and another byte.
    func appending(_ byte: UInt8, to code: Int) -> Entry {
      Entry(
        head: length < 8 ? head | UInt64(byte) << UInt64(length * 8) : head, prefix: UInt16(truncatingIfNeeded: code),
        length: length &+ 1, last: byte)
    }
  }

  /// Codes below 256 are bytes; those from 258 to `count - 1` are defined.
  private let entries = UnsafeMutablePointer<Entry>.allocate(capacity: maximumCodes)
  private var count = endCode + 1
  private var codeBits = 9
  /// The code before; `nil` at the start and after a clear code.
  private var previous: Int?
  /// Bits that are read but not used: the lowest `bitCount`, less than 8 between two calls.
  private var bits: UInt64 = 0
  private var bitCount = 0
  private var isFirstCode = true
  private var hasEnded = false

  init(_ source: any ByteSource, _ stop: StopFlag) {
    (self.source, self.stop) = (source, stop)
    input = DecoderInput(cursor: SourceCursor(source: source, range: ByteRange(offset: 0, length: 0), stop: stop))
    for code in 0..<Self.maximumCodes {
      let byte = UInt8(truncatingIfNeeded: code)
      (entries + code).initialize(to: Entry(head: UInt64(byte), prefix: 0, length: 1, last: byte))
    }
    window.initialize(repeating: 0, count: Self.windowBytes)
  }

  deinit {
    window.deallocate()
    entries.deallocate()
  }

  var readTime: Duration { input.readTime }

  func begin(_ range: ByteRange, skippedBytes: Int) -> Int {
    input.restart(SourceCursor(source: source, range: range, stop: stop))
    (start, end, bits, bitCount, isFirstCode, hasEnded) = (0, 0, 0, 0, true, false)
    clear()
    return 0
  }

  private func clear() {
    (count, codeBits, previous) = (Self.endCode + 1, 9, nil)
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
      // A code; at first, the two bytes that show the order of the bits.
      let needed = isFirstCode ? 2 : (codeBits - bitCount + 7) / 8
      try input.require(needed)
      try decode()
    }
  }

  /// Fills the empty window with the strings of the available codes. All available bytes are used, unless the window is
  /// full.
  private func decode() throws(CodecError) {
    if isFirstCode {
      // Before TIFF 6.0, codes started at the lowest bit: the clear code comes first either way.
      if input[0] == 0 && input[1] & 1 == 1 {
        throw .unsupported("a TIFF picture with old-style LZW compression")
      }
      isFirstCode = false
    }
    (start, end) = (0, 0)
    var isMalformed = false
    input.use { bytes in
      var position = 0
      // Local copies: the loop runs for each code of the picture.
      var (bits, bitCount, end, count, codeBits) = (self.bits, self.bitCount, 0, self.count, self.codeBits)
      var previous = self.previous ?? -1
      let (window, entries) = (window, entries)
      decoding: while end < Self.windowBytes - Self.maximumCodes - 8 {
        if bitCount < codeBits {
          if position + 4 <= bytes.count, let next = bytes.baseAddress {
            let word = UnsafeRawPointer(next + position).loadUnaligned(as: UInt32.self)
            bits = bits << 32 | UInt64(UInt32(bigEndian: word))
            bitCount += 32
            position += 4
          } else {
            while bitCount < codeBits {
              guard position < bytes.count else { break decoding }
              bits = bits << 8 | UInt64(bytes[position])
              bitCount += 8
              position += 1
            }
          }
        }
        bitCount -= codeBits
        let code = Int(truncatingIfNeeded: bits >> UInt64(bitCount)) & (1 << codeBits - 1)
        if code == Self.clearCode {
          (count, codeBits, previous) = (Self.endCode + 1, 9, -1)
          continue
        }
        if code == Self.endCode {
          hasEnded = true
          break
        }
        if previous < 0 {
          // The table has only bytes.
          guard code < Self.clearCode else {
            isMalformed = true
            break
          }
          window[end] = UInt8(truncatingIfNeeded: code)
          end += 1
          previous = code
          continue
        }
        guard code <= count, code < Self.maximumCodes else {
          isMalformed = true
          break
        }
        // Each code adds a string: the previous string and the first byte of the current one. If the current code
        // is that of the added string, both strings begin with the same byte.
        let before = entries[previous]
        let first = code == count ? before.first : entries[code].first
        if count < Self.maximumCodes {
          entries[count] = before.appending(first, to: previous)
          count += 1
          if count >= 1 << codeBits - 1 && codeBits < 12 { codeBits += 1 }
        }
        var entry = entries[code]
        UnsafeMutableRawPointer(window + end).storeBytes(of: entry.head.littleEndian, as: UInt64.self)
        end += Int(entry.length)
        // The bytes after the eighth are written from the end backwards: each prefix is one byte shorter.
        var place = end - 1
        while entry.length > 8 {
          window[place] = entry.last
          entry = entries[Int(entry.prefix)]
          place -= 1
        }
        previous = code
      }
      // Whole bytes are not buffered: the input knows whether more bytes follow.
      while bitCount >= 8 {
        bits >>= 8
        bitCount -= 8
        position -= 1
      }
      (self.bits, self.bitCount, self.end, self.count, self.codeBits) = (bits, bitCount, end, count, codeBits)
      self.previous = previous < 0 ? nil : previous
      return position
    }
    if isMalformed { throw .malformed("a code without a string", offset: input.position) }
  }
}
