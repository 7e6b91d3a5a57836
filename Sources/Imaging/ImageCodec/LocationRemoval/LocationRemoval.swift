// Removes locations from a file without changing its length: the result is an overlay of bytes, and the file stays as
// it is. This file detects the format; a file `LocationRemoval+FORMAT.swift` walks the structure of each container and
// gives its metadata blocks to `LocationRemovalContext`. Only structure, metadata and blocks of unknown kinds are read,
// never pictures or samples. A structure that can't be understood is an error: such a file can't be served without
// locations.

import MediaMetadata
import PhotoModel

package enum LocationRemoval {
  /// Changes when the same file gets another overlay, so that stored entity tags become invalid.
  package static let epoch = 4

  /// The patches that remove every location from a file, and every name of a person in it if asked; empty if there are
  /// none. The file's own name does not matter.
  package static func overlay(
    of source: any ByteSource, removing facts: PrivateFacts = .locations,
    limits: LocationRemovalLimits = LocationRemovalLimits()
  ) throws(LocationRemovalError) -> ByteOverlay {
    var context = LocationRemovalContext(source, removing: facts, limits: limits)
    try remove(from: 0..<source.size, &context)
    let overlay = try context.overlay()
    if !overlay.isEmpty { try check(overlay, of: source, removing: facts, limits) }
    return overlay
  }

  /// The patches that remove every location, or name, from an XMP sidecar. A file that is not readable XMP becomes
  /// white space.
  package static func overlay(
    ofXMP source: any ByteSource, removing facts: PrivateFacts = .locations,
    limits: LocationRemovalLimits = LocationRemovalLimits()
  ) throws(LocationRemovalError) -> ByteOverlay {
    var context = LocationRemovalContext(source, removing: facts, limits: limits)
    try context.removeXMP(in: 0..<source.size)
    return try context.overlay()
  }

  /// No patches, for Apple's adjustment data (`.aae`), which describe how a picture was edited.
  ///
  /// - Throws: `unsupported` for a file that is not a property list in XML, or holds metadata.
  package static func overlay(
    ofAdjustments source: any ByteSource, limits: LocationRemovalLimits = LocationRemovalLimits()
  ) throws(LocationRemovalError) -> ByteOverlay {
    var context = LocationRemovalContext(source, removing: .locations, limits: limits)
    let bytes = Array(try context.block(0..<source.size))
    func holds(_ text: String, in bytes: [UInt8]) -> Bool { LocationRemovalContext.find(Array(text.utf8), in: bytes) }
    let isPropertyList = holds("<plist", in: Array(bytes.prefix(512)))
    // Base64 contains any four letters by chance, but hardly longer words.
    guard isPropertyList, !["atitude", "<x:xmpmeta", "http://ns.adobe.com/"].contains(where: { holds($0, in: bytes) })
    else {
      throw .unsupported("adjustment data that hold something else")
    }
    return try context.overlay()
  }

  /// Removes the locations in a file, or in a file inside of another one.
  ///
  /// - Parameter range: the whole of the inner file.
  static func remove(
    from range: Range<Int64>, _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) {
    let start = try context.head(of: range, count: FileType.bytes)
    guard let format = MediaFormat(firstBytes: start) else {
      throw .unsupported("a file of an unknown kind")
    }
    try context.nested { context throws(LocationRemovalError) in
      switch format {
      case .jpeg: try jpeg(range, &context)
      case .png: try png(range, &context)
      case .tiff, .dng, .cr2, .nef, .arw, .pef: try tiff(range, &context)
      case .rw2: try context.removeDirectories(in: range, from: .panasonic)
      case .raf: try raf(range, &context)
      case .orf: try context.removeDirectories(in: range, from: .olympus)
      case .gif: try gif(range, &context)
      case .bmp: try bmp(range, &context)
      case .webp: try webp(range, &context)
      case .jxl: try jxl(range, &context)
      case .heic, .heif, .avif, .cr3, .quickTime, .mpeg4: try boxFile(range, &context)
      }
    }
  }
}
