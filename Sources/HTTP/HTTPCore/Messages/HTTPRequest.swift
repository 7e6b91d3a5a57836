import Primitives

/// A complete request: the head, and the body without its framing.
package struct HTTPRequest: Sendable {
  package let head: RequestHead
  /// Empty if the body is streamed. The budget counts these bytes only while a copy of the request exists, so keep the
  /// request, not only its body.
  package let body: [UInt8]
  private let reservation: ByteBudget.Reservation?

  package init(head: RequestHead, body: [UInt8], reservation: ByteBudget.Reservation? = nil) {
    self.head = head
    self.body = body
    self.reservation = reservation
  }

  package var method: HTTPMethod { head.method }
}
