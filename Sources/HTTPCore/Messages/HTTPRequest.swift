/// A whole request: head, and the body with its framing taken off.
package struct HTTPRequest: Sendable {
  package let head: RequestHead
  package let body: [UInt8]

  package init(head: RequestHead, body: [UInt8] = []) {
    self.head = head
    self.body = body
  }

  package var method: HTTPMethod { head.method }

  /// What the request is about. Made anew each time, in time linear in its length: ask once.
  package var target: RequestTarget { head.parsedTarget }
}
