import ImageCodec
import PhotoModel

/// Why a request delivers no picture.
package enum ImageServiceError: Error, Sendable, Hashable {
  /// The asset's file is missing.
  case originalMissing
  /// The file has changed since the catalogue read it; the next scan updates the catalogue.
  case originalChanged
  /// The original is in a remote store, and the request does not allow downloading it.
  case inCloud
  /// The original is in a remote store, and could not be downloaded.
  case downloadFailed(OriginalDownloadError)
  /// The original is damaged, has no decoder, or exceeds a limit.
  case codec(CodecError)
  /// The render would need more memory than the budget of all renders together.
  case overBudget(needed: Int, budget: Int)
  /// The maximum number of jobs is already waiting.
  case queueFull
  /// No file descriptor is free, so the original could not be opened.
  case outOfDescriptors
  /// The picture was not ready within the deadline of a request.
  case deadlineExceeded
  /// The caller already has an active request with that ID.
  case requestIDInUse
  case cancelled
  /// The environment failed; the text is for the log.
  case failed(String)

  /// The text for the log.
  package var logText: String {
    switch self {
    case .failed(let text), .downloadFailed(.failed(let text)), .downloadFailed(.localStoreFailed(let text)): text
    default: "\(self)"
    }
  }

  package init(_ error: OriginalStoreError) {
    switch error {
    case .notFound: self = .originalMissing
    case .changed: self = .originalChanged
    case .inCloud: self = .inCloud
    case .failed(let error) where error.isOutOfDescriptors: self = .outOfDescriptors
    case .failed(let error): self = .failed("\(error)")
    }
  }

  package init(_ error: OriginalDownloadError) {
    switch error {
    case .notFound: self = .originalMissing
    case .changed: self = .originalChanged
    case .queueFull: self = .queueFull
    case .noSpace, .localStoreFailed, .timedOut, .suspended, .failed: self = .downloadFailed(error)
    }
  }
}
