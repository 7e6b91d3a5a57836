// Frames become bytes on the wire here, in one of three forms.
//
// What travels together is chosen for the reader at the other end. A program's multipart parser ends a part at the
// delimiter behind it, so that goes with the part. Chromium paints a part of x-mixed-replace only once the header block
// of the next one is complete, so the delimiter and the next part's head go out with the first frame.

import HTTPCore
import HTTPServer
import ImageService
import Logging
import PhotoModel
import Synchronization

/// Writes what an image task delivers. Deliveries come one after the other, from any thread.
final class ImageDeliveryWriter: Sendable {
  private let form: DeliveryForm
  private let headers: ImageHeaders
  private let head: RequestHead
  private let maximumRanges: Int
  private let requestID: String
  private let reply: Reply
  private let delivered: @Sendable (ImageFrame) -> Void
  private let logger: Logger
  private let writer = MultipartWriter(boundary: Boundary.make())
  private let hasStarted = Atomic<Bool>(false)

  /// - Parameter delivered: called with the final frame before it is handed to the connection.
  init(
    form: DeliveryForm, headers: ImageHeaders, head: RequestHead, maximumRanges: Int, requestID: String, reply: Reply,
    logger: Logger,
    delivered: @escaping @Sendable (ImageFrame) -> Void
  ) {
    self.form = form
    self.headers = headers
    self.head = head
    self.maximumRanges = maximumRanges
    self.requestID = requestID
    self.reply = reply
    self.logger = logger
    self.delivered = delivered
  }

  func deliver(_ delivery: ImageDelivery) {
    switch delivery {
    case .degraded(let frame): degraded(frame)
    case .final(let frame): final(frame)
    case .failed(let error): failed(error)
    }
  }

  private func degraded(_ frame: ImageFrame) {
    guard form != .single else { return }
    let isFirst = start()
    let head = writer.partHead(headers.part(frame, isFinal: false))
    switch (isFirst, form) {
    case (_, .single): break
    case (true, .mixed): reply.write([writer.opening, head, frame.bytes, writer.delimiter], owner: frame.holding)
    case (false, .mixed): reply.write([head, frame.bytes, writer.delimiter], owner: frame.holding)
    case (true, .replace):
      reply.write([writer.opening, head, frame.bytes, writer.delimiter, nextReplacement], owner: frame.holding)
    // The head of this part went out with the frame before it.
    case (false, .replace): reply.write([frame.bytes, writer.delimiter, nextReplacement], owner: frame.holding)
    }
  }

  private func final(_ frame: ImageFrame) {
    guard form != .single else {
      // First, so that whoever has this answer and asks again finds it.
      delivered(frame)
      return reply.send(single(frame))
    }
    let isFirst = start()
    let head = writer.partHead(headers.part(frame, isFinal: true))
    switch (isFirst, form) {
    case (true, _): reply.write([writer.opening, head, frame.bytes, writer.closing], owner: frame.holding)
    // The head of this part went out with the frame before it.
    case (false, .replace): reply.write([frame.bytes, writer.closing], owner: frame.holding)
    case (false, _): reply.write([head, frame.bytes, writer.closing], owner: frame.holding)
    }
    reply.finish()
  }

  /// The answer that is this one frame, or the parts of it that were asked for.
  private func single(_ frame: ImageFrame) -> HTTPResponse {
    let whole = HTTPResponse(.ok, headers.single(frame), body: frame.bytes, owner: frame.holding)
    guard whole.head["Accept-Ranges"] != nil else { return whole }
    return whole.ranged(
      for: head, validators: headers.validators(frame.derivation), limit: maximumRanges, boundary: Boundary.make,
      unsatisfiable: { Problem.rangeNotSatisfiable(size: frame.bytes.count).response })
  }

  private func failed(_ error: ImageServiceError) {
    let problem = Problem(error)
    if problem.status == 500 { logger.error("an image could not be made", metadata: ["error": "\(error)"]) }
    guard hasStarted.load(ordering: .relaxed) else { return reply.send(problem.response) }
    if form == .mixed {
      let body = problem.body
      let head = writer.partHead(headers.part(problem, body: body, requestID: requestID))
      reply.write([head, body, writer.closing])
    } else {
      // The frame that is shown stays; cutting the connection would blank it.
      reply.write([writer.closing])
    }
    reply.finish()
  }

  /// The head of the part that will take the first one's place: its type, which is all that can be known of it yet.
  private var nextReplacement: [UInt8] { writer.partHead([("Content-Type", headers.mediaType)]) }

  /// Sends the response's head before the first part. True for the first.
  @discardableResult
  private func start() -> Bool {
    guard !hasStarted.exchange(true, ordering: .relaxed) else { return false }
    reply.start(ResponseHead(.ok, headers.multipart(form, boundary: writer.boundary)))
    return true
  }
}
