/// A whole request: head, and the body with its framing taken off.
package struct HTTPRequest: Sendable {
  package let head: RequestHead
  /// Counted for as long as a copy of the request is here: who keeps the bytes keeps the request.
  package let body: [UInt8]
  private let reservation: ByteBudget.Reservation?

  init(head: RequestHead, body: [UInt8], reservation: ByteBudget.Reservation? = nil) {
    self.head = head
    self.body = body
    self.reservation = reservation
  }

  package var method: HTTPMethod { head.method }

  /// What the request is about. Made anew each time, in time linear in its length: ask once.
  package var target: RequestTarget { head.parsedTarget }
}
