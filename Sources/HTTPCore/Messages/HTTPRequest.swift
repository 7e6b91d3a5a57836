/// A whole request: head, and the body with its framing taken off.
package struct HTTPRequest: Sendable {
  package let head: RequestHead
  package let target: RequestTarget
  package let body: [UInt8]

  package init(head: RequestHead, target: RequestTarget, body: [UInt8] = []) {
    self.head = head
    self.target = target
    self.body = body
  }

  package var method: HTTPMethod { head.method }
}
