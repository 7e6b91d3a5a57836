import PhotoModel
import Telemetry

/// One frame, encoded.
package struct ImageFrame: Sendable {
  package let bytes: [UInt8]
  package let format: OutputFormat
  package let result: ImageResult
  package let timings: StageTimings
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
  let stop = StopFlag()
  let created = ContinuousClock.now

  init(requestID: String, asset: Asset, request: ImageRequest) {
    self.requestID = requestID
    self.asset = asset
    self.request = request
  }

  /// The caller has no more use for the picture: work on it stops soon.
  package func cancel() { stop.raise() }
}
