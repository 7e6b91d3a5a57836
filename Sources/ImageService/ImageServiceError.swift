import ImageCodec
import OriginalStore

/// Why there is no picture.
package enum ImageServiceError: Error, Sendable, Hashable {
  /// The file behind the asset is gone.
  case originalMissing
  /// The file is no longer what the catalogue knew; a scan will bring it up to date.
  case originalChanged
  /// The original is damaged, or of a kind without a decoder, or over a limit.
  case codec(CodecError)
  /// The render would need more memory than all renders together may have.
  case overBudget(needed: Int, budget: Int)
  /// As many jobs wait as may.
  case queueFull
  /// It was not ready within the time that a request may take.
  case deadlineExceeded
  /// The caller has an active request of that name.
  case requestIDInUse
  case cancelled
  /// The environment failed; the text is for the log.
  case failed(String)

  package init(_ error: OriginalStoreError) {
    switch error {
    case .notFound: self = .originalMissing
    case .changed: self = .originalChanged
    case .failed(let error): self = .failed("\(error)")
    }
  }
}
