// Removes locations from metadata blocks in memory: nothing here reads a file. `LocationRemoval` in ImageCodec finds
// the blocks of a file, and turns these patches into an overlay of the file. Patches keep a block's length and
// structure.

/// Finds the locations in metadata blocks. Which entries are locations is `LocationFilter`'s rule.
package enum LocationBlocks {
  /// The changes in a TIFF structure, and the blocks in it that must be examined too.
  package struct Directories: Sendable, Hashable {
    package var patches: [BlockPatch] = []
    /// The positions of embedded pictures that start like a JPEG: thumbnails and previews. They may hold metadata.
    package var pictures: [Range<Int>] = []
  }

  /// - Parameters:
  ///   - block: a TIFF structure from its header: EXIF, or one of the directories that Canon stores separately. A block
  ///     without that header, which nothing can read, becomes zeros.
  ///   - root: the kind of its first directory.
  package static func exif(
    _ block: ArraySlice<UInt8>, from root: DirectoryLocations<DirectoryBlock>.Root = .picture,
    removing facts: PrivateFacts = .locations
  ) throws(LocationRemovalError) -> Directories {
    guard TIFFBlock(block) != nil else {
      return Directories(
        patches: BlockPatch.differences(from: block, to: [UInt8](repeating: 0, count: block.count)))
    }
    return try DirectoryLocations.find(in: DirectoryBlock(block), from: root, removing: facts)
  }

  /// - Parameter packet: an XMP packet, or a whole extended packet. One that can't be edited becomes spaces as a whole.
  package static func xmp(
    _ packet: ArraySlice<UInt8>, removing facts: PrivateFacts = .locations
  ) throws(LocationRemovalError) -> [BlockPatch] {
    XMPLocations.patches(packet, removing: facts)
  }

  /// - Parameter datasets: IPTC-IIM datasets without their container, possibly followed by padding.
  package static func iptc(_ datasets: ArraySlice<UInt8>) throws(LocationRemovalError) -> [BlockPatch] {
    IPTCLocations.patches(datasets)
  }

  /// - Parameter resources: Photoshop's image resources without the signature of a JPEG's segment.
  package static func imageResources(
    _ resources: ArraySlice<UInt8>, removing facts: PrivateFacts = .locations
  ) throws(LocationRemovalError) -> Directories {
    try ImageResourceLocations.find(in: resources, removing: facts)
  }
}
