import MediaMetadata

/// A box of an ISO base media file (ISO/IEC 14496-12 §4.2) and its position.
struct PlacedBox {
  let type: FourCC
  /// With its size and type.
  let whole: Range<Int64>
  /// After its size and type.
  let content: Range<Int64>
}

extension LocationRemovalContext {
  /// The boxes of one level, in order.
  ///
  /// - Throws: `malformed` if a box does not fit into the range.
  mutating func boxes(in range: Range<Int64>) throws(LocationRemovalError) -> [PlacedBox] {
    var boxes: [PlacedBox] = []
    var position = range.lowerBound
    while let box = try box(at: position, before: range.upperBound) {
      guard box.whole.upperBound <= range.upperBound else {
        throw .malformed("a box that is longer than what it is in", offset: position)
      }
      boxes.append(box)
      position = box.whole.upperBound
    }
    return boxes
  }

  /// The box at a position; `nil` if fewer than eight bytes are left. The box may end after `end`.
  mutating func box(at position: Int64, before end: Int64) throws(LocationRemovalError) -> PlacedBox? {
    guard end - position >= 8 else { return nil }
    try countStructure()
    let head = try head(of: position..<end, count: 16)
    guard head.count >= 8 else { throw .malformed("a file that ends too early", offset: position) }
    var length = Int64(head.bigEndian(at: 0, bytes: 4))
    var headBytes: Int64 = 8
    if length == 1 {
      // The box may end after the file: a length of 2^62 or more could overflow the position of that end.
      guard head.count == 16, head.bigEndian(at: 8, bytes: 1) < 0x40 else {
        throw .malformed("a box of an impossible size", offset: position)
      }
      length = Int64(head.bigEndian(at: 8, bytes: 8))
      headBytes = 16
    } else if length == 0 {
      // §4.2.2: the box extends to the end.
      length = end - position
    }
    guard length >= headBytes else { throw .malformed("a box shorter than its head", offset: position) }
    return PlacedBox(
      type: FourCC(head.dropFirst(4)), whole: position..<position + length,
      content: position + headBytes..<position + length)
  }

  /// Turns a box into a free one of the same length that holds zeros.
  mutating func erase(_ box: PlacedBox) throws(LocationRemovalError) {
    if box.type != "free" { try replace(at: box.whole.lowerBound + 4, with: Array("free".utf8)) }
    try zero(box.content)
  }

  /// All bytes of a metadata block that is stored in parts, in order.
  mutating func joined(_ parts: [Range<Int64>]) throws(LocationRemovalError) -> JoinedBlock {
    var block = JoinedBlock()
    for part in parts {
      block.append(try self.block(part), at: part.lowerBound)
      if block.bytes.count > limits.blockBytes {
        throw .limitExceeded("the size of a metadata block", limit: limits.blockBytes, found: block.bytes.count)
      }
    }
    return block
  }

  /// Turns a block into another one of the same length.
  mutating func replace(_ old: ArraySlice<UInt8>, at offset: Int64, by new: [UInt8]) throws(LocationRemovalError) {
    try replace(BlockPatch.differences(from: old, to: new), in: offset)
  }
}
