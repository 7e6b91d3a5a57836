import PhotoModel
import Telemetry

/// One encoded frame.
package struct ImageFrame: Sendable {
  package private(set) var bytes: [UInt8]
  package let format: OutputFormat
  package private(set) var result: ImageResult
  package let timings: StageTimings
  /// How the pixels were made from the original: part of the frame's entity tag.
  package private(set) var derivation: Derivation
  /// The frame's entry in the memory cache, if it has one.
  package var cached: CachedFrame?
  /// Owns the memory of the bytes until the last byte has been sent.
  package var memoryOwner: (any AnyObject & Sendable)?

  package init(
    bytes: [UInt8], format: OutputFormat, result: ImageResult, timings: StageTimings, derivation: Derivation,
    cached: CachedFrame? = nil, memoryOwner: (any AnyObject & Sendable)? = nil
  ) {
    self.bytes = bytes
    self.format = format
    self.result = result
    self.timings = timings
    self.derivation = derivation
    self.cached = cached
    self.memoryOwner = memoryOwner
  }

  /// A frame from the memory cache: no render work was done for it.
  package init(_ frame: CachedFrame, requestID: String = "") {
    self.init(
      bytes: frame.bytes, format: frame.format,
      result: ImageResult(
        requestID: requestID, isDegraded: frame.derivation.isSmallPreview, size: frame.size, source: .memory,
        isHDR: frame.isHDR),
      timings: StageTimings(), derivation: frame.derivation, cached: frame, memoryOwner: frame.hold())
  }

  /// The same frame with the cache's bytes instead of its own: the frame that was cached first wins.
  func usingBytes(of cached: CachedFrame) -> ImageFrame {
    var frame = self
    frame.bytes = cached.bytes
    frame.derivation = cached.derivation
    frame.cached = cached
    frame.memoryOwner = cached.hold()
    return frame
  }

  /// The same frame, labelled as made without an original that is in the cloud.
  var inCloud: ImageFrame {
    var frame = self
    frame.result.isInCloud = true
    return frame
  }

  /// The same frame, labelled for one of the waiting tasks.
  package func withRequestID(_ requestID: String) -> ImageFrame {
    var frame = self
    frame.result.requestID = requestID
    return frame
  }
}
