import ImageService
import PhotoModel

/// The outcome of content negotiation for an asset: the picture to send, and the form of the response.
struct NegotiatedImage: Sendable {
  let request: ImageRequest
  let form: DeliveryForm
  /// The picture to send; a smaller encoding may have replaced the one of `request`.
  var wanted: ResolvedRequest
  var headers: ImageHeaders
  /// The request for a smaller encoding that may replace the first response; `nil` if there is none.
  var upgrade: ResolvedRequest?
  let context: ImageManager.RequestContext
  /// Whether the request has conditions, which are evaluated if the response is cacheable.
  let hasConditions: Bool
  /// Whether the asset's saliency is not known yet and would change the picture.
  let awaitsSaliency: Bool

  /// Whether the response is one final frame.
  var isCacheable: Bool { form == .single && request.deliveryMode != .fastFormat }
  /// Whether caches may provide that frame.
  var isFromCaches: Bool { isCacheable && !context.bypassesCaches }
  var isConditional: Bool { isCacheable && hasConditions }
}
