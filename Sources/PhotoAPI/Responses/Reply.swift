import HTTPCore
import HTTPServer

/// A responder that says on every answer what pages of other origins may make of it, and whom it is for.
struct Reply: Sendable {
  let responder: Responder
  let standing: [(name: String, value: String)]

  var requestID: String { responder.requestID.description }

  func send(_ response: HTTPResponse) { responder.send(complete(response)) }

  func start(_ head: ResponseHead) {
    var head = head
    head.fields += standing
    responder.start(head)
  }

  /// - Parameters:
  ///   - owner: what holds the memory of the pieces; kept until they have been sent.
  ///   - whenRoom: called when little of what was written still waits.
  func write(
    _ pieces: [[UInt8]], owner: (any MemoryOwner)? = nil, whenRoom: (@Sendable () -> Void)? = nil
  ) { responder.write(pieces, owner: owner, whenRoom: whenRoom) }
  func finish() { responder.finish() }
  func onClose(_ handler: @escaping @Sendable () -> Void) { responder.onClose(handler) }

  /// An answer with all that is said on every answer.
  func complete(_ response: HTTPResponse) -> HTTPResponse {
    var response = response
    response.head.fields += standing
    return response
  }
}
