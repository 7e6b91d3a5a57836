import HTTPCore

/// Limits on the resources that clients can use and on how long they can keep the server waiting.
package struct ServerLimits: Sendable {
  package var parser: ParserLimits
  /// Bytes of requests that all connections together may hold, in addition to less than 3 KiB each: large heads, and
  /// bodies from the moment they are announced. A request that exceeds it gets 503.
  package var requestBufferBytes: Int
  /// Bytes of responses without an owner that may wait for their clients, over all connections. A complete body of more
  /// than two kilobytes counts until its last byte has been handed to the kernel. Of a ``BodySource``, the segments in
  /// memory that may wait at a time count, and all sources together leave a quarter of the limit to complete bodies. A
  /// response that does not fit is replaced by 503, so a complete body larger than this limit is never sent.
  package var responseBufferBytes: Int
  /// Total of open connections. At the limit, accepting pauses until a connection closes.
  package var connections: Int
  /// Open connections from one IPv4 address or one IPv6 /64 network. A further connection is closed at once. Socket
  /// files and proxies are not limited.
  package var connectionsPerAddress: Int
  /// Requests on one connection before it is closed.
  package var requestsPerConnection: Int
  /// Time from the first byte of a request head to its last.
  package var headerTimeout: Duration
  /// Time from the end of the head to the end of the body. For a streamed body: maximum time without a received byte.
  package var bodyTimeout: Duration
  /// Minimum average rate at which a streamed body must arrive, after `bodyTimeout`; 0 disables the check.
  package var minimumBodyBytesPerSecond: Int
  /// Bytes of a streamed body that are buffered while the handler does not read; at this limit nothing more is read
  /// from the client. The window and one socket read are reserved from `requestBufferBytes` when the body begins.
  package var bodyWindowBytes: Int
  /// Maximum idle time between two requests.
  package var keepAliveTimeout: Duration
  /// Maximum time in which the client takes no byte of a waiting response.
  package var sendTimeout: Duration
  /// Minimum average rate at which a blocked client must take a response, after `sendTimeout`; 0 disables the check.
  package var minimumSendBytesPerSecond: Int
  /// Bytes that may be queued for a client when the next piece of its response is written. Beyond it the connection
  /// closes.
  package var outputQueueBytes: Int
  /// How long a rejected client may continue to send after the response.
  package var lingeringTime: Duration
  /// After a drain begins, the time in which a new connection may still send its first request.
  package var drainGrace: Duration
  /// Length of the kernel's accept queue.
  package var backlog: Int32
  /// Bytes of records that may wait for the access log's writer. Further records are dropped and counted.
  package var accessLogBufferBytes: Int

  package init(
    parser: ParserLimits = ParserLimits(), requestBufferBytes: Int = 32 << 20, responseBufferBytes: Int = 16 << 20,
    connections: Int = 16_384, connectionsPerAddress: Int = 1024, requestsPerConnection: Int = 100_000,
    headerTimeout: Duration = .seconds(15), bodyTimeout: Duration = .seconds(60),
    minimumBodyBytesPerSecond: Int = 1024, bodyWindowBytes: Int = 256 << 10,
    keepAliveTimeout: Duration = .seconds(75), sendTimeout: Duration = .seconds(30),
    minimumSendBytesPerSecond: Int = 1024, outputQueueBytes: Int = 8 << 20, lingeringTime: Duration = .seconds(2),
    drainGrace: Duration = .seconds(1), backlog: Int32 = 1024, accessLogBufferBytes: Int = 4 << 20
  ) {
    self.parser = parser
    self.requestBufferBytes = requestBufferBytes
    self.responseBufferBytes = responseBufferBytes
    self.connections = connections
    self.connectionsPerAddress = connectionsPerAddress
    self.requestsPerConnection = requestsPerConnection
    self.headerTimeout = headerTimeout
    self.bodyTimeout = bodyTimeout
    self.minimumBodyBytesPerSecond = minimumBodyBytesPerSecond
    self.bodyWindowBytes = bodyWindowBytes
    self.keepAliveTimeout = keepAliveTimeout
    self.sendTimeout = sendTimeout
    self.minimumSendBytesPerSecond = minimumSendBytesPerSecond
    self.outputQueueBytes = outputQueueBytes
    self.lingeringTime = lingeringTime
    self.drainGrace = drainGrace
    self.backlog = backlog
    self.accessLogBufferBytes = accessLogBufferBytes
  }
}
