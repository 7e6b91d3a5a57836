import PhotoModel
import Telemetry

/// One frame, encoded.
package struct ImageFrame: Sendable {
  package let bytes: [UInt8]
  package let format: OutputFormat
  package let result: ImageResult
  package let timings: StageTimings
  /// Where it is kept in memory, if it is.
  package var cached: CachedFrame?

  package init(
    bytes: [UInt8], format: OutputFormat, result: ImageResult, timings: StageTimings, cached: CachedFrame? = nil
  ) {
    self.bytes = bytes
    self.format = format
    self.result = result
    self.timings = timings
    self.cached = cached
  }
}

extension ImageFrame {
  /// A frame that was there already: nothing was done for it.
  package init(_ frame: CachedFrame, requestID: String) {
    self.init(
      bytes: frame.bytes, format: frame.format,
      result: ImageResult(requestID: requestID, isDegraded: false, size: frame.size, source: .memory),
      timings: StageTimings(), cached: frame)
  }
}

/// What a task tells its caller: any number of degraded frames, then one of the others.
package enum ImageDelivery: Sendable {
  case degraded(ImageFrame)
  case final(ImageFrame)
  case failed(ImageServiceError)
}

/// One caller waiting for a picture.
package final class ImageTask: Sendable {
  package let requestID: String
  package let asset: Asset
  package let request: ImageRequest
  /// Neither looks for the frame in a cache nor puts it there.
  let bypassesCaches: Bool
  let stop = StopFlag()
  let created = ContinuousClock.now

  init(requestID: String, asset: Asset, request: ImageRequest, bypassesCaches: Bool) {
    self.bypassesCaches = bypassesCaches
    self.requestID = requestID
    self.asset = asset
    self.request = request
  }

  /// The caller has no more use for the picture: work on it stops soon.
  package func cancel() { stop.raise() }
}
