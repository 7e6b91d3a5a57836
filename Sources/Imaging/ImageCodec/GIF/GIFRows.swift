/// Decodes the picture of a GIF into rows of indexes, in the order in which they are stored.
struct GIFRows {
  private var input: DecoderInput
  private var strings: LZWStrings
  /// Bytes of the current sub-block that are not read yet (GIF89a §15).
  private var blockBytes = 0
  /// Bits that are read but not used; the next one is the lowest.
  private var bits = 0
  private var bitCount = 0
  /// The current row, and how much of it is decoded.
  private(set) var row: [UInt8]
  private var filled = 0
  /// The string that continues in the next row: its bytes from `heldStart` on.
  private var held = [UInt8](repeating: 0, count: LZWStrings.maximumCodes)
  private var heldStart = LZWStrings.maximumCodes

  init(_ picture: GIFPicture, cursor: SourceCursor) {
    input = DecoderInput(cursor: cursor)
    strings = LZWStrings(indexBits: picture.indexBits)
    row = [UInt8](repeating: 0, count: picture.frame.width)
  }

  var readTime: Duration { input.readTime }

  /// Decodes the next row into ``row``.
  ///
  /// - Throws: `truncated` if the data end first, by the file's end or their own.
  mutating func next() throws(CodecError) {
    filled = 0
    takeHeld()
    while filled < row.count {
      let code = try nextCode()
      guard let length = strings.length(of: code) else {
        throw .malformed("a code without a string", offset: input.position)
      }
      if length == 0 { continue }
      if length <= row.count - filled {
        filled += length
        strings.write(code, to: &row, endingAt: filled)
      } else {
        strings.write(code, to: &held, endingAt: held.count)
        heldStart = held.count - length
        takeHeld()
      }
    }
  }

  /// Moves bytes of the string that is held to the row.
  private mutating func takeHeld() {
    let count = min(held.count - heldStart, row.count - filled)
    for i in 0..<count { row[filled + i] = held[heldStart + i] }
    filled += count
    heldStart += count
  }

  private mutating func nextCode() throws(CodecError) -> Int {
    while bitCount < strings.codeBits {
      while blockBytes == 0 {
        try input.require(1)
        blockBytes = Int(input.next())
        if blockBytes == 0 { throw .truncated(offset: input.position) }
      }
      try input.require(1)
      bits |= Int(input.next()) << bitCount
      bitCount += 8
      blockBytes -= 1
    }
    let code = bits & (1 << strings.codeBits - 1)
    bits >>= strings.codeBits
    bitCount -= strings.codeBits
    if code == strings.endCode { throw .truncated(offset: input.position) }
    return code
  }
}
