import ImageCodec
import ImageRender
import PhotoModel
import Synchronization

/// A preview of a picture with given operations.
package struct PreviewRequest: Sendable {
  /// The principal's name, and the name that its client gives itself.
  var owner: String
  var client: String
  /// Without its adjustments.
  package var asset: Asset
  var adjustments: Adjustments
  var targetSize: TargetSize

  package init(owner: String, client: String, asset: Asset, adjustments: Adjustments, targetSize: TargetSize) {
    self.owner = owner
    self.client = client
    self.asset = asset.unadjusted
    self.adjustments = adjustments
    self.targetSize = targetSize
  }
}

/// A request that waits for its preview.
package final class PreviewTask: Sendable {
  let created: ContinuousClock.Instant
  /// The render of this preview.
  let work: PreviewWork
  private let deliver: Mutex<(@Sendable (Result<RenderedImage, ImageServiceError>) -> Void)?>

  init(
    _ work: PreviewWork, created: ContinuousClock.Instant,
    _ deliver: @escaping @Sendable (Result<RenderedImage, ImageServiceError>) -> Void
  ) {
    self.work = work
    self.created = created
    self.deliver = Mutex(deliver)
  }

  /// Whether the result was delivered.
  var hasEnded: Bool { deliver.withLock { $0 == nil } }

  /// The first result is delivered, later ones are dropped.
  func finish(_ result: Result<RenderedImage, ImageServiceError>) { deliver.withLock { $0.take() }?(result) }

  package func cancel() { end(.cancelled) }

  /// Cancels the render and delivers an error.
  func end(_ error: ImageServiceError) {
    work.cancel()
    finish(.failure(error))
  }
}
