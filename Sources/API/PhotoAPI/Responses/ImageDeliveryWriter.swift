// Writes the frames of an image task to the client in one of three forms (``DeliveryForm``).
//
// Parts are split into writes to suit the client's parser. A program's multipart parser ends a part at the delimiter
// that follows it, so the delimiter is sent with the part. Chromium paints a part of x-mixed-replace only when the
// header block of the next part is complete, so the delimiter and the next part's head are sent with the first frame.

import HTTPCore
import ImageService
import Logging
import PhotoModel
import Synchronization

/// Writes the deliveries of an image task. They come one after the other, from any thread.
final class ImageDeliveryWriter: Sendable {
  private let form: DeliveryForm
  private let headers: ImageHeaders
  private let head: RequestHead
  private let maximumRanges: Int
  private let requestID: String
  private let reply: Reply
  private let onFinalFrame: @Sendable (ImageFrame) -> Void
  private let logger: Logger
  private let writer = MultipartWriter(boundary: Boundary.make())
  private let hasStarted = Atomic<Bool>(false)
  /// The last degraded frame of an x-mixed-replace response: the content of its last part if the task fails.
  private let lastDegraded = Mutex<ImageFrame?>(nil)

  /// - Parameter onFinalFrame: called with the final frame before it is handed to the connection.
  init(
    form: DeliveryForm, headers: ImageHeaders, head: RequestHead, maximumRanges: Int, requestID: String, reply: Reply,
    logger: Logger,
    onFinalFrame: @escaping @Sendable (ImageFrame) -> Void
  ) {
    self.form = form
    self.headers = headers
    self.head = head
    self.maximumRanges = maximumRanges
    self.requestID = requestID
    self.reply = reply
    self.logger = logger
    self.onFinalFrame = onFinalFrame
  }

  func deliver(_ delivery: ImageDelivery) {
    switch delivery {
    case .progress(let share): progress(share)
    case .degraded(let frame): degraded(frame)
    case .final(let frame): final(frame)
    case .failed(let error): failed(error)
    }
  }

  /// Progress is sent in multipart/mixed only: browsers expect every part of x-mixed-replace to be an image.
  private func progress(_ share: Double) {
    guard form == .mixed else { return }
    let body = Array("{\"progress\":\((share * 1000).rounded(.down) / 1000)}".utf8)
    writePart(
      [("Content-Type", JSONBody.mediaType), ("Content-Length", String(body.count))], body, end: [writer.delimiter])
  }

  private func degraded(_ frame: ImageFrame) {
    guard form != .single, !hasOtherTypeThanItsHead(frame) else { return }
    if form == .replace { lastDegraded.withLock { $0 = frame } }
    writePart(
      headers.part(frame, isFinal: false), frame.bytes,
      end: form == .replace ? [writer.delimiter, nextReplacement] : [writer.delimiter], owner: frame.memoryOwner)
  }

  /// Whether a frame has another type than the head of its part: in `multipart/x-mixed-replace`, that head was already
  /// sent after the previous frame, with the type of the final frame.
  private func hasOtherTypeThanItsHead(_ frame: ImageFrame) -> Bool {
    form == .replace && hasStarted.load(ordering: .relaxed) && frame.format.mediaType != headers.mediaType
  }

  private func final(_ frame: ImageFrame) {
    // Before sending, so that a client that has this response and repeats the request finds it cached.
    onFinalFrame(frame)
    guard form != .single else { return reply.send(single(frame)) }
    writePart(headers.part(frame, isFinal: true), frame.bytes, end: [writer.closing], owner: frame.memoryOwner)
    reply.finish()
  }

  /// The response for one frame: all of it, the requested byte ranges, 304 or 412. Conditions are evaluated here
  /// because the entity tag of a frame, or whether it has one, may be known only after the render.
  private func single(_ frame: ImageFrame) -> HTTPResponse {
    if headers.mayHaveValidators {
      let derivation = headers.isStorable(frame) ? frame.derivation : nil
      switch Preconditions.evaluate(head, headers.validators(derivation)) {
      case .failed: return Problem.preconditionFailed.response
      case .notModified:
        if let derivation { return HTTPResponse(.notModified, headers.validatorFields(derivation)) }
      case .proceed: break
      }
    }
    let whole = HTTPResponse(.ok, headers.single(frame), body: frame.bytes, owner: frame.memoryOwner)
    guard whole.head["Accept-Ranges"] != nil else { return whole }
    return whole.applyingByteRanges(
      for: head, validators: headers.validators(frame.derivation), limit: maximumRanges, boundary: Boundary.make,
      unsatisfiable: { Problem.rangeNotSatisfiable(size: frame.bytes.count).response })
  }

  private func failed(_ error: ImageServiceError) {
    let problem = reply.problem(error, "image failed", logger)
    guard hasStarted.load(ordering: .relaxed) else { return reply.send(problem.response) }
    if form == .mixed {
      let body = problem.body
      writePart(headers.part(problem, body: body, requestID: requestID), body, end: [writer.closing])
    } else {
      // The browser has the head of a part that can't come. An empty picture could show as a broken one, and closing
      // the connection would blank the last frame: so that frame is sent once more, even if its type is not that of
      // the head.
      let frame = lastDegraded.withLock { $0.take() }
      reply.write([frame?.bytes ?? [], writer.closing], owner: frame?.memoryOwner)
    }
    reply.finish()
  }

  /// The head of the part that replaces the first one. Only its type is known before it is rendered.
  private var nextReplacement: [UInt8] { writer.partHead([("Content-Type", headers.mediaType)]) }

  /// Writes one part. Before the first one, sends the response's head and the opening. In `multipart/x-mixed-replace`,
  /// the head of every later part was already sent after the previous frame, so `fields` are not used.
  ///
  /// - Parameter end: what follows the part's content in the same write.
  private func writePart(
    _ fields: [(name: String, value: String)], _ body: [UInt8], end: [[UInt8]], owner: (any MemoryOwner)? = nil
  ) {
    let isFirst = start()
    var pieces: [[UInt8]] = isFirst ? [writer.opening] : []
    if isFirst || form == .mixed { pieces.append(writer.partHead(fields)) }
    pieces.append(body)
    reply.write(pieces + end, owner: owner)
  }

  /// Sends the response's head once, before the first part. True on the first call.
  private func start() -> Bool {
    guard !hasStarted.exchange(true, ordering: .relaxed) else { return false }
    reply.start(ResponseHead(.ok, headers.multipart(form, boundary: writer.boundary, requestID: requestID)))
    return true
  }
}
