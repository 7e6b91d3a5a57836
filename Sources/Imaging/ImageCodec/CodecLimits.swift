import PhotoModel

/// Limits of a picture; exceeding one gives an error that names it.
package struct CodecLimits: Sendable, Hashable {
  /// Maximum pixels of a source, width times height.
  package var sourcePixels: Int
  /// Maximum longer side of a source, and so of an output: the lengths of weights and rows depend on it.
  package var sourceSide: Int
  /// Maximum number of scans of a progressive JPEG.
  package var jpegScans: Int
  /// Maximum bytes of an ICC profile, assembled or inflated, and of any PNG chunk other than the pixels.
  package var profileBytes: Int
  /// Maximum number of marker segments or chunks before the pixels.
  package var headerSegments: Int
  /// Maximum total bytes that are skipped between the marker segments before a JPEG's pixels. libjpeg has no such
  /// limit.
  var headerSkippedBytes: Int
  /// Maximum frames of an animation, and pixels that they paint: of each frame, and of the canvas each time.
  package var animationFrames: Int
  package var animationPixels: Int
  /// Maximum total bytes of cached colour transforms.
  package var colorTransformBytes: Int
  /// Maximum total bytes of kept resampling weights.
  package var resampleAxisBytes: Int

  package init(
    sourcePixels: Int = 250_000_000, sourceSide: Int = 65_500, jpegScans: Int = 100, profileBytes: Int = 8 << 20,
    headerSegments: Int = 4096, headerSkippedBytes: Int = 16 << 20, animationFrames: Int = 1000,
    animationPixels: Int = 500_000_000, colorTransformBytes: Int = 16 << 20,
    resampleAxisBytes: Int = 4 << 20
  ) {
    self.sourcePixels = sourcePixels
    self.sourceSide = sourceSide
    self.jpegScans = jpegScans
    self.profileBytes = profileBytes
    self.headerSegments = headerSegments
    self.headerSkippedBytes = headerSkippedBytes
    self.animationFrames = animationFrames
    self.animationPixels = animationPixels
    self.colorTransformBytes = colorTransformBytes
    self.resampleAxisBytes = resampleAxisBytes
  }

  /// Limits for identifying a file, not for rendering it: only the header is read, so the size of the picture and the
  /// length of its chunks do not matter.
  package var headerOnly: CodecLimits {
    var limits = self
    limits.sourcePixels = .max
    // The product of two sides must fit into an Int.
    limits.sourceSide = Int(Int32.max)
    limits.profileBytes = .max
    return limits
  }

  /// Throws a specific error if the picture is larger than the limits or has no pixels.
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
