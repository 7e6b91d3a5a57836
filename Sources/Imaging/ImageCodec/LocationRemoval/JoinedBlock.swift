import MediaMetadata
import PhotoModel

/// A metadata block that a JPEG stores in several segments.
struct JoinedBlock {
  private(set) var bytes: [UInt8] = []
  /// The position in the file of each part, and its first byte in the block.
  private var parts: [(file: Int64, start: Int)] = []

  mutating func append(_ part: ArraySlice<UInt8>, at file: Int64) {
    parts.append((file, bytes.count))
    bytes += part
  }

  /// Replaces bytes of the block in the file, part by part.
  func replace(_ patches: [BlockPatch], _ context: inout LocationRemovalContext) throws(LocationRemovalError) {
    for patch in patches {
      for (i, part) in parts.enumerated() {
        let end = i + 1 < parts.count ? parts[i + 1].start : bytes.count
        let common = (patch.offset..<patch.offset + patch.bytes.count).clamped(to: part.start..<end)
        guard !common.isEmpty else { continue }
        let new = patch.bytes[common.lowerBound - patch.offset..<common.upperBound - patch.offset]
        try context.replace(at: part.file + Int64(common.lowerBound - part.start), with: Array(new))
      }
    }
  }

  /// Replaces the patches of a TIFF structure, and the locations of the pictures in it.
  func replace(
    _ found: LocationBlocks.Directories, _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) {
    try replace(found.patches, &context)
    for picture in found.pictures where !parts.isEmpty {
      if parts.count == 1 {
        try context.removePictures([picture], in: parts[0].file)
        continue
      }
      // The picture may be spread over several parts, so it is examined in memory.
      let overlay = try context.overlay(ofInner: Array(bytes[picture]))
      let patches = overlay.patches.map { BlockPatch(offset: Int($0.offset) + picture.lowerBound, bytes: $0.bytes) }
      try replace(patches, &context)
    }
  }
}
