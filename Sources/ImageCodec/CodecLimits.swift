/// What a picture may ask for before it is refused by name.
package struct CodecLimits: Sendable, Hashable {
  /// Pixels of a source, width times height.
  package var sourcePixels: Int
  /// The longer side of a source, and so of an output: weights and rows are as long.
  package var sourceSide: Int
  /// Scans of a progressive JPEG.
  package var jpegScans: Int
  /// What one text or profile chunk of a PNG may inflate to, and what a JPEG's ICC profile may add up to.
  package var profileBytes: Int
  /// Marker segments or chunks before the pixels.
  package var headerSegments: Int
  /// What colour transforms that are kept for the next render may take together, in bytes.
  package var colorTransformBytes: Int

  package init(
    sourcePixels: Int = 250_000_000, sourceSide: Int = 65_500, jpegScans: Int = 200, profileBytes: Int = 8 << 20,
    headerSegments: Int = 4096, colorTransformBytes: Int = 16 << 20
  ) {
    self.sourcePixels = sourcePixels
    self.sourceSide = sourceSide
    self.jpegScans = jpegScans
    self.profileBytes = profileBytes
    self.headerSegments = headerSegments
    self.colorTransformBytes = colorTransformBytes
  }
}
