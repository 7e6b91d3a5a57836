import PhotoModel

/// What a picture may ask for before it is refused by name.
package struct CodecLimits: Sendable, Hashable {
  /// Pixels of a source, width times height.
  package var sourcePixels: Int
  /// The longer side of a source, and so of an output: weights and rows are as long.
  package var sourceSide: Int
  /// Scans of a progressive JPEG.
  package var jpegScans: Int
  /// What an ICC profile may add up to or inflate to, and how long any chunk of a PNG beside the pixels may be.
  package var profileBytes: Int
  /// Marker segments or chunks before the pixels.
  package var headerSegments: Int
  /// What colour transforms that are kept for the next render may take together, in bytes.
  package var colorTransformBytes: Int

  package init(
    sourcePixels: Int = 250_000_000, sourceSide: Int = 65_500, jpegScans: Int = 100, profileBytes: Int = 8 << 20,
    headerSegments: Int = 4096, colorTransformBytes: Int = 16 << 20
  ) {
    self.sourcePixels = sourcePixels
    self.sourceSide = sourceSide
    self.jpegScans = jpegScans
    self.profileBytes = profileBytes
    self.headerSegments = headerSegments
    self.colorTransformBytes = colorTransformBytes
  }

  /// For finding out what a file is, not for showing it: nothing but its header is read, so how large the picture is
  /// and how long its chunks are does not matter.
  package var headerAlone: CodecLimits {
    var limits = self
    limits.sourcePixels = .max
    limits.sourceSide = .max
    limits.profileBytes = .max
    return limits
  }

  /// Refuses a picture by name that is larger than these allow, or has no pixels.
  func check(_ size: PixelSize) throws(CodecError) {
    guard size.width > 0, size.height > 0 else { throw .malformed("a picture without pixels", offset: nil) }
    let side = max(size.width, size.height)
    if side > sourceSide { throw .limitExceeded("the longer side", limit: sourceSide, found: side) }
    let (pixels, overflows) = size.width.multipliedReportingOverflow(by: size.height)
    if overflows || pixels > sourcePixels {
      throw .limitExceeded("the number of pixels", limit: sourcePixels, found: overflows ? .max : pixels)
    }
  }
}
