import PhotoModel

/// What the catalogue wants to know of a file beyond its EXIF summary, out of any of its metadata blocks.
package struct MediaFacts: Sendable, Hashable {
  package var subtypes: MediaSubtypes = []
  /// Apple's BurstUUID: the same for all pictures of one burst.
  package var burstIdentifier: String?
  /// Apple's ContentIdentifier: the same for a live photo's picture and its video.
  package var contentIdentifier: String?
  /// `xmp:Rating`, -1 (rejected) to 5.
  package var rating: Int?

  package init() {}

  /// Reads what the catalogue wants to know, and stops there.
  ///
  /// - Parameters:
  ///   - exifBlock: from its TIFF header on.
  ///   - xmpPacket: the packet as it lies in the file.
  package init(exifBlock: ArraySlice<UInt8>?, xmpPacket: ArraySlice<UInt8>?) {
    self.init()
  }
}
