import ImageCodec
import PhotoModel
import Telemetry

extension ImageMetrics {
  /// Counts what a task tells its caller.
  package func delivered(_ delivery: ImageDelivery) {
    switch delivery {
    case .degraded(let frame), .final(let frame):
      frameDelivered(
        Source(frame.result.source), frame.result.isDegraded ? .degraded : .final, timings: frame.timings)
    case .failed(let error):
      if let reason = Failure(error) { taskFailed(reason) } else { taskCancelled() }
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
      case .original: .original
      case .network: .network
      }
  }
}

extension ImageMetrics.Failure {
  /// `nil`: it is none, nobody wanted the picture any more.
  init?(_ error: ImageServiceError) {
    switch error {
    case .originalMissing: self = .originalMissing
    case .originalChanged: self = .originalChanged
    case .overBudget: self = .imageTooLarge
    case .queueFull: self = .overloaded
    case .cancelled, .codec(.stopped): return nil
    case .failed, .codec(.readFailed), .codec(.outOfMemory): self = .originalUnreadable
    case .codec(.unsupported): self = .formatUnsupported
    case .codec(.limitExceeded): self = .imageTooLarge
    case .codec(.malformed), .codec(.truncated): self = .imageUnreadable
    case .codec(.encodingFailed): self = .encodingFailed
    }
  }
}
