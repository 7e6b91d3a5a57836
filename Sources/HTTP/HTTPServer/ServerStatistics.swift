/// Current values and totals of a server. The values are read one by one, so they are not a consistent snapshot.
package struct ServerStatistics: Sendable, Hashable {
  /// Status classes (RFC 9110 §15). 304 has its own class, because it shows how well client caches work. Interim
  /// responses are not counted.
  package enum StatusClass: String, Sendable, CaseIterable {
    case success = "2xx"
    case notModified = "304"
    /// All 3xx statuses except 304.
    case redirection = "3xx"
    case clientError = "4xx"
    case serverError = "5xx"
  }

  /// Open connections.
  package var connections = 0
  /// Connections that were closed at ``ServerLimits/connectionsPerAddress``.
  package var refusedConnections = 0
  /// Bytes of requests that are held by connections and handlers and counted against the request budget.
  package var requestBufferBytes = 0
  /// Bytes of responses without an owner that wait to be sent to their clients.
  package var responseBufferBytes = 0
  /// Responses that were started, including those to malformed messages.
  package var responses: [StatusClass: Int] = [:]
  /// The part of ``responses`` that came from a ``PreparedResponse``.
  package var preparedResponses = 0
  /// Bytes that the kernel accepted, including response heads.
  package var sentBytes = 0
}
