// Prepared responses: the answer of ResponseCache to later equal requests.

import HTTPCore
import HTTPServer
import ImageService

extension ImageRoute {
  /// Stores a prepared response for later equal requests.
  func storeResponse(
    _ frame: CachedFrame, in form: DeliveryForm, headers: ImageHeaders, caller: Caller,
    generation: ResponseCache.Generation, _ head: RequestHead, _ reply: Reply
  ) {
    guard head.method == .get, let access = caller.accessClass else { return }
    // A response for a page that may not read it must not replace another response.
    let cors = reply.rules.cors
    if cors.isConfigured, let origin = head.value(of: .origin), cors.reach(of: origin) == .none {
      return
    }
    guard let (whole, notModified) = prepared(frame, form, headers, reply) else { return }
    responseCache.store(
      whole, notModified: notModified, entityTag: headers.validators(frame.derivation).entityTag ?? "",
      frame: frame, for: head, access: access, expires: caller.urlExpiry, variesByOrigin: cors.isConfigured,
      generation: generation)
    images.trimFrames()
  }

  /// The response with a final frame, and the 304 if there is one.
  private func prepared(
    _ cached: CachedFrame, _ form: DeliveryForm, _ headers: ImageHeaders, _ reply: Reply
  ) -> (whole: PreparedResponse, notModified: PreparedResponse?)? {
    let placeholder = PreparedResponse.requestIDPlaceholder
    let frame = ImageFrame(cached, requestID: placeholder)
    guard form != .single else {
      let fields = headers.validatorFields(cached.derivation)
      guard
        let whole = PreparedResponse(
          reply.addingCommonFields(to: HTTPResponse(.ok, headers.single(frame), body: cached.bytes)),
          makeMemoryOwner: { cached.hold() }),
        let notModified = PreparedResponse(reply.addingCommonFields(to: HTTPResponse(.notModified, fields)))
      else { return nil }
      return (whole, notModified)
    }
    // While the frame is cached, it is the first and the only part. No picture contains its random boundary.
    let writer = MultipartWriter(boundary: Boundary.make())
    let fields = headers.multipart(form, boundary: writer.boundary, requestID: placeholder)
    let whole = PreparedResponse(
      chunked: reply.addingCommonFields(to: HTTPResponse(.ok, fields)).head,
      opening: writer.opening + writer.partHead(headers.part(frame, isFinal: true)), body: cached.bytes,
      closing: writer.closing, makeMemoryOwner: { cached.hold() })
    return whole.map { ($0, nil) }
  }
}
