/// The info dictionary of PHImageManager: the properties of a frame besides its pixels.
package struct ImageResult: Sendable, Hashable {
  /// Where a frame's pixels came from.
  package enum Source: String, Sendable, Hashable, CaseIterable {
    /// `embedded`: a JPEG that the camera embedded; `preview`: a smaller picture in the original's own codec.
    case memory, disk, derivative, embedded, preview, original, network
  }

  package var requestID: String
  package var isDegraded: Bool
  package var isInCloud: Bool
  package var isCancelled: Bool
  /// Whether the original is truncated and only its decodable part is shown.
  package var isIncomplete: Bool
  package var size: PixelSize
  package var source: Source
  /// Whether the frame has a gain map, or is a picture of high dynamic range itself.
  package var isHDR: Bool

  package init(
    requestID: String, isDegraded: Bool, isInCloud: Bool = false, isCancelled: Bool = false,
    isIncomplete: Bool = false, size: PixelSize, source: Source, isHDR: Bool = false
  ) {
    self.requestID = requestID
    self.isDegraded = isDegraded
    self.isInCloud = isInCloud
    self.isCancelled = isCancelled
    self.isIncomplete = isIncomplete
    self.size = size
    self.source = source
    self.isHDR = isHDR
  }
}
