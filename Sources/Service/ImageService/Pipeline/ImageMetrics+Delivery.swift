import ImageCodec
import PhotoModel
import Telemetry

extension ImageMetrics {
  /// Counts a frame that is delivered to the waiting tasks.
  func delivered(_ frame: ImageFrame) {
    frameDelivered(Source(frame.result.source), frame.result.isDegraded ? .degraded : .final, timings: frame.timings)
  }

  /// Counts a task that ends without its final frame.
  func failed(_ error: ImageServiceError) {
    switch error {
    case .cancelled, .codec(.stopped): taskCancelled()
    // A caller error: no work was started.
    case .requestIDInUse: break
    default: if let reason = Failure(error) { taskFailed(reason) }
    }
  }
}

extension ImageMetrics.Source {
  init(_ source: ImageResult.Source) {
    self =
      switch source {
      case .memory: .memory
      case .disk: .disk
      case .derivative: .derivative
      case .embedded: .embedded
      case .preview: .preview
      case .original: .original
      case .network: .network
      }
  }
}

extension ImageMetrics.Failure {
  /// Returns `nil` for errors that are not failures of the service.
  init?(_ error: ImageServiceError) {
    switch error {
    case .originalMissing: self = .originalMissing
    case .originalChanged: self = .originalChanged
    case .downloadFailed: self = .downloadFailed
    case .overBudget: self = .imageTooLarge
    case .queueFull, .outOfDescriptors: self = .overloaded
    // A request that allows no network may find nothing that is local.
    case .cancelled, .codec(.stopped), .requestIDInUse, .inCloud: return nil
    case .deadlineExceeded: self = .deadlineExceeded
    case .failed, .codec(.readFailed), .codec(.outOfMemory), .codec(.decoderInterrupted): self = .originalUnreadable
    case .codec(.unsupported), .codec(.decoderUnavailable), .codec(.encoderUnavailable),
      .codec(.decoderFailed(_, .unsupported)):
      self = .formatUnsupported
    case .codec(.limitExceeded), .codec(.outputTooLarge): self = .imageTooLarge
    case .codec(.malformed), .codec(.truncated), .codec(.decoderFailed): self = .imageUnreadable
    case .codec(.encodingFailed), .codec(.encoderInterrupted): self = .encodingFailed
    }
  }
}
