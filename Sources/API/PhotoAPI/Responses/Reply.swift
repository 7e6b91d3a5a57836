import HTTPCore
import HTTPServer
import ImageService
import Logging

/// A responder that adds the fields common to all responses: CORS and `Vary`.
struct Reply: Sendable {
  let responder: Responder
  /// The rules from which the common fields were made.
  let rules: OriginRules.Version
  private(set) var commonFields: [(name: String, value: String)]
  /// The caller's trace.
  var trace: TraceParent?

  var requestID: String { responder.requestID.description }

  /// Adds `Vary: Accept` to all responses.
  mutating func varyByAccept() { commonFields.insert((name: "Vary", value: "Accept"), at: 0) }

  func send(_ response: HTTPResponse) { responder.send(addingCommonFields(to: response)) }

  /// Evaluates the conditional fields of a request. Sends 304 with these fields if the client has the representation.
  ///
  /// - Returns: whether it was sent.
  /// - Throws: 412 if a condition failed.
  func sendNotModified(
    to head: RequestHead, _ validators: Validators, _ fields: [(name: String, value: String)]
  ) throws(Problem) -> Bool {
    switch Preconditions.evaluate(head, validators) {
    case .proceed: return false
    case .notModified:
      send(HTTPResponse(.notModified, fields))
      return true
    case .failed: throw .preconditionFailed
    }
  }

  /// Sends a response whose body is produced while it is sent: see ``Responder/send(_:body:submit:onFailure:)``. If the
  /// body fails later, the client sees only that the connection closes, so the cause is logged.
  func send(
    _ head: ResponseHead, body: any BodySource, logger: Logger,
    submit: @escaping @Sendable (@escaping @Sendable () -> Void) -> Bool
  ) throws(BodySourceError) {
    var head = head
    head.fields += commonFields
    let identifiers = logIdentifiers
    try responder.send(head, body: body, submit: submit) { error in
      var metadata = identifiers
      metadata["error"] = "\(ImageServiceError(error).logText)"
      logger.log(level: error == .fileChanged ? .notice : .error, "response ended early", metadata: metadata)
    }
  }

  func start(_ head: ResponseHead) {
    var head = head
    head.fields += commonFields
    responder.start(head)
  }

  /// - Parameters:
  ///   - owner: owns the memory of the pieces; kept until they have been sent.
  ///   - whenWritable: called when most of the written bytes have been sent.
  func write(
    _ pieces: [[UInt8]], owner: (any MemoryOwner)? = nil, whenWritable: (@Sendable () -> Void)? = nil
  ) { responder.write(pieces, owner: owner, whenWritable: whenWritable) }
  func finish() { responder.finish() }
  func onClose(_ handler: @escaping @Sendable () -> Void) { responder.onClose(handler) }

  /// Returns the problem that reports an error to the client. Logs the cause if this machine or the remote store has
  /// failed.
  func problem(_ error: ImageServiceError, _ event: Logger.Message, _ logger: Logger) -> Problem {
    let problem = Problem(error)
    if problem.isServerFailure {
      var metadata = logIdentifiers
      metadata["error"] = "\(error.logText)"
      logger.error(event, metadata: metadata)
    }
    return problem
  }

  /// Returns the problem that reports why a body can't be sent. Logs the cause if a read failed.
  func problem(_ error: BodySourceError, _ event: Logger.Message, _ logger: Logger) -> Problem {
    error == .overloaded ? .responseBufferFull : problem(ImageServiceError(error), event, logger)
  }

  /// The identifiers that the request's line in the access log has too.
  private var logIdentifiers: Logger.Metadata {
    var metadata: Logger.Metadata = ["id": "\(requestID)"]
    if let trace { metadata["traceID"] = "\(trace.traceID)" }
    return metadata
  }

  /// The response with the common fields added.
  func addingCommonFields(to response: HTTPResponse) -> HTTPResponse {
    var response = response
    response.head.fields += commonFields
    return response
  }
}
