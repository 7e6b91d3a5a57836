import MediaMetadata
import PhotoModel

extension LocationRemoval {
  /// PNG: EXIF, XMP, text and all that is not part of the picture, also after the pixels (PNG third edition §5.3 and
  /// §11.3). The checksums of changed chunks are updated. Of the picture's chunks only the header is read.
  static func png(_ range: Range<Int64>, _ context: inout LocationRemovalContext) throws(LocationRemovalError) {
    var position = range.lowerBound + 8
    while position < range.upperBound {
      try context.countStructure()
      let head = try context.head(of: position..<range.upperBound, count: 8)
      // The file ends early; nothing follows.
      guard head.count == 8 else { return }
      let length = Int64(head.bigEndian(at: 0, bytes: 4))
      let type = String(decoding: head.dropFirst(4), as: UTF8.self)
      let content = position + 8..<position + 8 + length
      let end = content.upperBound + 4
      context.keep(position..<position + 4)
      if !PNGLocations.pictureTypes.contains(type) {
        guard end <= range.upperBound else {
          throw .malformed("a chunk that ends after the file", offset: position)
        }
        try chunk(type, content, &context)
      }
      if type == "IEND" { return try context.checkUnknown(end..<max(end, range.upperBound), "data after a PNG") }
      position = end
    }
  }

  private static func chunk(
    _ type: String, _ content: Range<Int64>, _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) {
    let old = try context.block(content)
    let facts = context.facts
    let change = try context.shifted(content.lowerBound) { () throws(LocationRemovalError) in
      try PNGLocations.change(of: type, old, removing: facts)
    }
    switch change {
    case .nothing: return
    case .removal: try removeChunk(old, content, &context)
    case .patches(let found):
      var new = Array(old)
      // A gain map of no known format can't be examined.
      let isExamined = found.pictures.allSatisfy { MediaFormat(firstBytes: new[$0].prefix(FileType.bytes)) != nil }
      guard isExamined else { return try removeChunk(old, content, &context) }
      for patch in found.patches {
        new.replaceSubrange(patch.offset..<patch.offset + patch.bytes.count, with: patch.bytes)
      }
      // The chunk has one checksum, so the pictures in it are examined as files in memory.
      for picture in found.pictures {
        let overlay = try context.overlay(ofInner: Array(new[picture]))
        var bytes = Array(new[picture])
        overlay.apply(to: &bytes)
        new.replaceSubrange(picture, with: bytes)
      }
      if !new.elementsEqual(old) {
        try context.replace(at: content.upperBound, with: PNGLocations.checksum(type: Array(type.utf8), new))
      }
      try context.replace(BlockPatch.differences(from: old, to: new), in: content.lowerBound)
    }
  }

  private static func removeChunk(
    _ old: ArraySlice<UInt8>, _ content: Range<Int64>, _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) {
    let checksum = PNGLocations.checksum(type: PNGLocations.privateType, zeros: old.count)
    try context.replace(at: content.lowerBound - 4, with: PNGLocations.privateType)
    try context.replace(at: content.upperBound, with: checksum)
    try context.zero(old, at: content.lowerBound)
  }
}
