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

  /// Sends a response whose body is produced while it is sent: see ``Responder/send(_:body:submit:)``.
  func send(
    _ head: ResponseHead, body: any BodySource,
    submit: @escaping @Sendable (@escaping @Sendable () -> Void) -> Bool
  ) throws(BodySourceError) {
    var head = head
    head.fields += commonFields
    try responder.send(head, body: body, submit: submit)
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

  /// Logs why this request failed, with the identifiers that its line in the access log has too.
  func logFailure(_ message: Logger.Message, _ error: ImageServiceError, to logger: Logger) {
    var metadata: Logger.Metadata = ["id": "\(requestID)", "error": "\(error.logText)"]
    if let trace { metadata["traceID"] = "\(trace.traceID)" }
    logger.error(message, metadata: metadata)
  }

  /// The response with the common fields added.
  func addingCommonFields(to response: HTTPResponse) -> HTTPResponse {
    var response = response
    response.head.fields += commonFields
    return response
  }
}
