import PhotoModel
import Telemetry

/// One frame, encoded.
package struct ImageFrame: Sendable {
  package private(set) var bytes: [UInt8]
  package let format: OutputFormat
  package private(set) var result: ImageResult
  package let timings: StageTimings
  /// How its pixels were made of the original's: part of its entity tag.
  package private(set) var derivation: Derivation
  /// Where it is kept in memory, if it is.
  package var cached: CachedFrame?
  /// What holds the memory of the bytes, until the last of them has been sent.
  package var holding: (any AnyObject & Sendable)?

  package init(
    bytes: [UInt8], format: OutputFormat, result: ImageResult, timings: StageTimings, derivation: Derivation,
    cached: CachedFrame? = nil, holding: (any AnyObject & Sendable)? = nil
  ) {
    self.bytes = bytes
    self.format = format
    self.result = result
    self.timings = timings
    self.derivation = derivation
    self.cached = cached
    self.holding = holding
  }

  /// A frame that was there already: nothing was done for it.
  package init(_ frame: CachedFrame, requestID: String = "") {
    self.init(
      bytes: frame.bytes, format: frame.format,
      result: ImageResult(requestID: requestID, isDegraded: false, size: frame.size, source: .memory),
      timings: StageTimings(), derivation: frame.derivation, cached: frame, holding: frame.hold())
  }

  /// The same frame with the cache's bytes in the place of its own: what was there first counts.
  func kept(as cached: CachedFrame) -> ImageFrame {
    var frame = self
    frame.bytes = cached.bytes
    frame.derivation = cached.derivation
    frame.cached = cached
    frame.holding = cached.hold()
    return frame
  }

  /// The same frame for one of those who wait for it.
  package func addressed(to requestID: String) -> ImageFrame {
    var frame = self
    frame.result.requestID = requestID
    return frame
  }
}
