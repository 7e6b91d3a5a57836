/// A box of an ISO base media file (ISO/IEC 14496-12 §4.2), which QuickTime calls an atom.
struct Box {
  let type: FourCC
  /// The position of the box's content in the file, after its size and type.
  let content: Range<Int64>
}

/// Walks boxes, one level at a time. The caller loops over each level, so nothing recurses.
struct BoxReader {
  var reader: HeaderReader
  private var count = 0
  /// Whether the file ended inside a box.
  private(set) var fileEndsInBox = false

  init(_ reader: HeaderReader) {
    self.reader = reader
  }

  var fileSize: Int64 { reader.size }

  /// The box at a position; the position then moves past it. `nil` at the end of the enclosing range. A box that
  /// extends past the end of the file is cut off there.
  mutating func next(_ position: inout Int64, before end: Int64) throws(CodecError) -> Box? {
    // QuickTime ends some lists of atoms with four zeros.
    guard end - position >= 8 else { return nil }
    count += 1
    if count > ContainerLimits.boxes {
      throw .limitExceeded("the number of boxes", limit: ContainerLimits.boxes, found: count)
    }
    let head = try reader.bytes(at: position, count: 16)
    guard head.count >= 8 else { throw .truncated(offset: reader.size) }
    var length = Int64(head.bigEndian(at: 0, bytes: 4))
    var headBytes: Int64 = 8
    if length == 1 {
      guard head.count == 16 else { throw .truncated(offset: reader.size) }
      guard head.bigEndian(at: 8, bytes: 1) < 0x80 else {
        throw .malformed("a box of an impossible size", offset: position)
      }
      length = Int64(head.bigEndian(at: 8, bytes: 8))
      headBytes = 16
    } else if length == 0 {
      // §4.2.2: the box extends to the end.
      length = end - position
    }
    guard length >= headBytes else { throw .malformed("a box shorter than its head", offset: position) }
    let start = position
    if length <= end - position {
      position += length
    } else if end == reader.size {
      position = end
      fileEndsInBox = true
    } else {
      throw .malformed("a box that is longer than what it is in", offset: position)
    }
    return Box(type: FourCC(head.dropFirst(4)), content: min(start + headBytes, position)..<position)
  }

  /// The first box of a type in a range.
  mutating func first(_ type: FourCC, in range: Range<Int64>) throws(CodecError) -> Box? {
    var position = range.lowerBound
    while let box = try next(&position, before: range.upperBound) {
      if box.type == type { return box }
    }
    return nil
  }

  /// The content of a box with a 16-byte type, after that type; `nil` if the box has another type.
  mutating func content(of box: Box, ofType type: [UInt8]) throws(CodecError) -> Range<Int64>? {
    guard box.type == "uuid", box.content.count >= type.count,
      try reader.bytes(at: box.content.lowerBound, count: type.count).elementsEqual(type)
    else { return nil }
    return box.content.lowerBound + Int64(type.count)..<box.content.upperBound
  }

  /// The content of a box, or its first `bytes` bytes.
  mutating func fields(of box: Box, atMost bytes: Int? = nil) throws(CodecError) -> BoxFields {
    let length = box.content.upperBound - box.content.lowerBound
    if bytes == nil, length > ContainerLimits.tableBytes {
      throw .limitExceeded(
        "the size of a box of type \(box.type)", limit: ContainerLimits.tableBytes, found: Int(length))
    }
    let wanted = min(Int(length), bytes ?? ContainerLimits.tableBytes)
    return BoxFields(
      try reader.wholeBytes(at: box.content.lowerBound, count: wanted), of: box)
  }
}

/// Reads the fields of a box in order, big-endian.
struct BoxFields {
  private let box: Box
  private var rest: ArraySlice<UInt8>

  init(_ bytes: ArraySlice<UInt8>, of box: Box) {
    self.box = box
    rest = bytes
  }

  var isAtEnd: Bool { rest.isEmpty }

  /// An unsigned number of at most eight bytes. A value too large for `Int` becomes `Int.max`; zero bytes give 0.
  mutating func number(_ bytes: Int) throws(CodecError) -> Int {
    let part = try take(bytes)
    return Int(clamping: part.reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
  }

  mutating func signed32() throws(CodecError) -> Int {
    Int(Int32(truncatingIfNeeded: try number(4)))
  }

  mutating func type() throws(CodecError) -> FourCC { FourCC(try take(4)) }

  /// A full box's version and the flags after it (§4.2.2).
  mutating func version() throws(CodecError) -> (version: Int, flags: Int) {
    (try number(1), try number(3))
  }

  mutating func take(_ bytes: Int) throws(CodecError) -> ArraySlice<UInt8> {
    guard bytes >= 0, bytes <= rest.count else {
      throw .malformed("a box of type \(box.type) that ends too early", offset: box.content.lowerBound)
    }
    defer { rest = rest.dropFirst(bytes) }
    return rest.prefix(bytes)
  }

  /// Text up to its NUL or the end.
  mutating func text() -> String {
    let bytes = rest.prefix { $0 != 0 }
    rest = rest.dropFirst(bytes.count + 1)
    return String(decoding: bytes, as: UTF8.self)
  }

  mutating func remaining() -> ArraySlice<UInt8> {
    defer { rest = [] }
    return rest
  }
}
