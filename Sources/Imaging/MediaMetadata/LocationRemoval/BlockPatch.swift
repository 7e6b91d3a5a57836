/// Bytes that replace as many bytes of a metadata block.
package struct BlockPatch: Sendable, Hashable {
  /// From the start of the block.
  package let offset: Int
  package let bytes: [UInt8]

  package init(offset: Int, bytes: [UInt8]) {
    self.offset = offset
    self.bytes = bytes
  }

  /// Differences that are closer together than this become one patch.
  private static let joinedGap = 16

  /// The patches that turn a block into another one of the same length.
  package static func differences(from old: ArraySlice<UInt8>, to new: [UInt8]) -> [BlockPatch] {
    precondition(old.count == new.count, "a block changed its length")
    var patches: [BlockPatch] = []
    var start: Int?
    var end = 0
    for (i, byte) in old.enumerated() where byte != new[i] {
      if let first = start, i - end > joinedGap {
        patches.append(BlockPatch(offset: first, bytes: Array(new[first..<end])))
        start = i
      }
      start = start ?? i
      end = i + 1
    }
    if let start { patches.append(BlockPatch(offset: start, bytes: Array(new[start..<end]))) }
    return patches
  }
}
