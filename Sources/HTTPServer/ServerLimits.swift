import HTTPCore

/// What clients may take of the server, and for how long they may keep it waiting.
package struct ServerLimits: Sendable {
  package var parser: ParserLimits
  /// Bytes of requests that all connections may hold together, beside ``RequestParser/freeBytes`` each: large heads, and
  /// bodies from the moment that they are announced. What does not fit is refused (503).
  package var receivedBytes: Int
  /// Bytes of answers that may wait for their clients, of all connections together and where an answer has no owner of its
  /// own: counted are whole bodies of more than two kilobytes until their last byte was handed to the kernel. An answer that
  /// does not fit is refused (503), so one that is larger than this always is.
  package var answerBytes: Int
  /// Open connections in all; at the limit, accepting pauses until one closes.
  package var connections: Int
  /// Open connections from one address, or one IPv6 network of 64 bits; one more is closed at once. Socket files have no
  /// address, and proxies have no limit.
  package var connectionsPerAddress: Int
  /// Requests on one connection before it is closed.
  package var requestsPerConnection: Int
  /// From a connection's first byte of a head to its last.
  package var headerDeadline: Duration
  /// From the end of the head to the end of the body. Of a body that is taken in pieces: without one byte of it coming.
  package var bodyDeadline: Duration
  /// What a sender of such a body sends a second, in the long run and after that deadline; 0: any.
  package var bodyBytesPerSecond: Int
  /// Bytes of such a body that are held for a handler that does not keep up; then nothing more is read. Counted among
  /// `receivedBytes` from its beginning, with what one read of the socket gives.
  package var bodyWindowBytes: Int
  /// Between two requests.
  package var idleDeadline: Duration
  /// Without one byte of a waiting answer being taken.
  package var writeDeadline: Duration
  /// What a reader that lags takes a second, in the long run and after the write deadline; 0: any.
  package var writeBytesPerSecond: Int
  /// What may wait for a client when one more piece of its answer is written; beyond it the connection closes.
  package var queuedBytes: Int
  /// How long a refused client may go on sending after it was told.
  package var lingerDeadline: Duration
  /// Connections that the kernel holds before they are accepted.
  package var backlog: Int32
  /// Bytes of records that wait for the access log's writer; what comes beyond is dropped and counted.
  package var accessLogBytes: Int

  package init(
    parser: ParserLimits = ParserLimits(), receivedBytes: Int = 32 << 20, answerBytes: Int = 16 << 20,
    connections: Int = 16_384, connectionsPerAddress: Int = 1024, requestsPerConnection: Int = 100_000,
    headerDeadline: Duration = .seconds(15), bodyDeadline: Duration = .seconds(60),
    bodyBytesPerSecond: Int = 1024, bodyWindowBytes: Int = 256 << 10,
    idleDeadline: Duration = .seconds(75), writeDeadline: Duration = .seconds(30),
    writeBytesPerSecond: Int = 1024, queuedBytes: Int = 8 << 20, lingerDeadline: Duration = .seconds(2),
    backlog: Int32 = 1024, accessLogBytes: Int = 4 << 20
  ) {
    self.parser = parser
    self.receivedBytes = receivedBytes
    self.answerBytes = answerBytes
    self.connections = connections
    self.connectionsPerAddress = connectionsPerAddress
    self.requestsPerConnection = requestsPerConnection
    self.headerDeadline = headerDeadline
    self.bodyDeadline = bodyDeadline
    self.bodyBytesPerSecond = bodyBytesPerSecond
    self.bodyWindowBytes = bodyWindowBytes
    self.idleDeadline = idleDeadline
    self.writeDeadline = writeDeadline
    self.writeBytesPerSecond = writeBytesPerSecond
    self.queuedBytes = queuedBytes
    self.lingerDeadline = lingerDeadline
    self.backlog = backlog
    self.accessLogBytes = accessLogBytes
  }
}
