import PhotoModel

/// Limits of one removal. Exceeding one is an error that names it.
package struct LocationRemovalLimits: Sendable, Hashable {
  /// Maximum bytes of all patches together: ``ByteOverlay/storedBytes``.
  package var patchBytes: Int
  /// Maximum bytes of all metadata blocks that are read. Structure between them is limited by `structures`.
  package var metadataBytes: Int
  /// Maximum bytes of one metadata block.
  package var blockBytes: Int
  /// Maximum number of segments, chunks, boxes and directories that are examined, over all levels.
  package var structures: Int
  /// Maximum depth of files inside of files.
  package var depth: Int

  package init(
    patchBytes: Int = ByteOverlay.maximumBytes, metadataBytes: Int = 64 << 20, blockBytes: Int = 16 << 20,
    structures: Int = 32_768, depth: Int = 6
  ) {
    self.patchBytes = patchBytes
    self.metadataBytes = metadataBytes
    self.blockBytes = blockBytes
    self.structures = structures
    self.depth = depth
  }
}
