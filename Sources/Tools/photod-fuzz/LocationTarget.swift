import ImageCodec
import MediaMetadata
import PhotoModel

/// Removes the locations from a file of any kind. The overlay must lie within the file, a second removal must find
/// nothing, and the metadata must have no location left and be readable as before.
enum LocationTarget {
  static func check(_ bytes: [UInt8]) {
    guard let overlay = try? LocationRemoval.overlay(of: MemoryByteSource(bytes)) else { return }
    var previous: Int64 = 0
    for patch in overlay.patches {
      precondition(patch.offset >= previous && !patch.range.isEmpty, "patches overlap")
      previous = patch.range.upperBound
    }
    precondition(previous <= bytes.count, "a patch after the end of the file")
    var edited = bytes
    overlay.apply(to: &edited)
    guard let again = try? LocationRemoval.overlay(of: MemoryByteSource(edited)) else {
      preconditionFailure("a file without locations is refused")
    }
    precondition(again.isEmpty, "the second removal found something")
    guard let before = try? header(bytes) else { return }
    guard let after = try? header(edited) else { preconditionFailure("the file became unreadable") }
    precondition(after.format == before.format && after.storedSize == before.storedSize, "another picture")
    precondition(after.exif.location == nil && after.facts.capture.location == nil, "a location is left")
  }

  /// Metadata blocks on their own.
  static func checkBlock(_ bytes: [UInt8]) {
    check(bytes) { try LocationBlocks.xmp($0) }
    check(bytes) { try LocationBlocks.iptc($0) }
    _ = try? LocationBlocks.exif(bytes[...])
    _ = try? LocationBlocks.exif(bytes[...], from: .gps)
    _ = try? LocationBlocks.exif(bytes[...], from: .canonNote)
    _ = try? LocationBlocks.imageResources(bytes[...])
    for type in PNGLocations.metadataTypes { _ = try? PNGLocations.change(of: type, bytes[...]) }
  }

  private static func check(_ block: [UInt8], _ remove: (ArraySlice<UInt8>) throws -> [BlockPatch]) {
    guard let patches = try? remove(block[...]) else { return }
    var edited = block
    for patch in patches {
      precondition(patch.offset + patch.bytes.count <= block.count, "a patch after the end of the block")
      edited.replaceSubrange(patch.offset..<patch.offset + patch.bytes.count, with: patch.bytes)
    }
    precondition((try? remove(edited[...]))?.isEmpty == true, "the second removal found something")
  }

  private static func header(_ bytes: [UInt8]) throws(CodecError) -> MediaHeader {
    try MediaHeader.read(from: MemoryByteSource(bytes), limits: CodecLimits().headerOnly)
  }
}
