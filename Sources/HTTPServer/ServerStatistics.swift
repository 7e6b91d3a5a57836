/// What a server is doing and has done, read at one moment, each number on its own.
package struct ServerStatistics: Sendable, Hashable {
  /// Statuses by what they mean (RFC 9110 §15); 304 alone, since it is what caches live on. Interim ones are not counted.
  package enum StatusClass: String, Sendable, CaseIterable {
    case success = "2xx"
    case notModified = "304"
    /// The others of 3xx.
    case redirection = "3xx"
    case clientError = "4xx"
    case serverError = "5xx"
  }

  /// Connections that are open.
  package var connections = 0
  /// Bytes of requests that are held and counted, by connections and by whoever handles requests.
  package var receivedBytes = 0
  /// Bytes of answers that nobody else answers for and that wait for their clients.
  package var answerBytes = 0
  /// Answers that were begun, to requests and to what was none.
  package var answers: [StatusClass: Int] = [:]
  /// Those of them that were prepared.
  package var preparedAnswers = 0
  /// Bytes that the kernel took, heads and all.
  package var sentBytes = 0
}
