/// The bytes that directories and their offsets refer to: a block in memory, or a part of a file that is read piece by
/// piece.
package protocol DirectoryBytes {
  var count: Int { get }

  /// Exactly these bytes; `nil` if they don't lie within the block.
  mutating func read(at offset: Int, count: Int) throws(LocationRemovalError) -> ArraySlice<UInt8>?
}

/// A block in memory.
package struct DirectoryBlock: DirectoryBytes {
  private let block: ArraySlice<UInt8>

  package init(_ block: ArraySlice<UInt8>) { self.block = block }

  package var count: Int { block.count }

  package func read(at offset: Int, count: Int) -> ArraySlice<UInt8>? {
    guard offset >= 0, count >= 0, offset <= block.count - count else { return nil }
    return block[block.startIndex + offset..<block.startIndex + offset + count]
  }
}
