import PhotoModel

/// Why a store did not do what it was asked. No case holds a credential, a signed address or text of the store.
package enum ObjectStoreError: Error, Sendable, Hashable {
  /// There is no such object.
  case notFound
  /// The object is not in the state that the caller knows: it was replaced, before or during the read.
  case changed
  /// An object of this name exists, and the caller did not want to replace it.
  case exists
  /// The store refuses the credentials, or they do not allow this.
  case accessDenied(AccessProblem)
  /// The store can't do this at all: writing to an HTTP origin, or a key that it can't have.
  case unsupported
  /// The store asks for fewer requests, or is overloaded: 429, 503 and S3's `SlowDown`.
  case slowDown
  /// The store reports a failure of its own.
  case failed(status: Int)
  case unreachable(ConnectionProblem)
  /// No response, no byte for too long, or not complete in time.
  case timedOut
  /// The store's response is not what the protocol requires.
  case malformed(ResponseProblem)
  case limitExceeded(Limit)
  /// The address is private, link-local or otherwise not of the public Internet, and the settings do not allow it.
  case addressNotAllowed
  /// The host is not in the list of allowed hosts.
  case hostNotAllowed
  /// The store responds with a redirect. None is followed.
  case redirected(status: Int)
  /// The store failed repeatedly, and gets no request before this time has passed: see ``CircuitBreaker``.
  case suspended(retryAfter: Duration)
  /// The caller cancelled the operation.
  case cancelled
  /// A system call of this machine failed.
  case system(SystemError)

  package enum AccessProblem: Sendable, Hashable {
    case forbidden
    case unknownKey
    /// The signature is wrong: the secret is, or a proxy changed the request.
    case wrongSignature
    case expiredToken
    /// This machine's clock and the store's differ by more than 15 minutes.
    case clockSkew
  }

  package enum ConnectionProblem: Sendable, Hashable {
    case nameNotFound
    case notConnected
    /// The certificate is not valid for the host, or no common protocol.
    case tls
    /// The connection broke before the response was complete.
    case interrupted
  }

  package enum ResponseProblem: Sendable, Hashable {
    /// The message is not HTTP.
    case protocolError
    /// A 2xx status that this request can't have.
    case unexpectedStatus(Int)
    /// The response to a read is something else than the range: another range, more bytes, or another document.
    case wrongRange
    /// Fewer bytes than the range has, or another length announced.
    case wrongLength
    /// The response has no strong entity tag, so the state of the object is unknown.
    case noEntityTag
    /// A list, a manifest or an error document is not readable.
    case unreadableDocument
    /// A list has objects that were not requested, or does not advance: the store ignores a parameter of the request.
    case wrongList
    /// The bytes do not have the checksum that the store gave.
    case wrongChecksum
  }

  package enum Limit: Sendable, Hashable {
    /// Operations that wait for a connection.
    case pendingOperations
    case headerBytes
    /// A list, a manifest or an error document is longer than ``RemoteLimits/documentBytes``.
    case documentBytes
    /// An object is larger than the limit.
    case objectBytes
  }
}

extension ObjectStoreError {
  /// Whether the same request may succeed a little later.
  var isTransient: Bool {
    switch self {
    case .slowDown, .timedOut, .unreachable(.nameNotFound), .unreachable(.notConnected), .unreachable(.interrupted),
      .malformed(.wrongLength), .malformed(.protocolError):
      true
    case .failed(let status): status == 500 || status == 502 || status == 504 || status == 408
    default: false
    }
  }

  /// Whether the store itself did not work, so that other requests would fail too.
  package var isOutage: Bool {
    switch self {
    case .slowDown, .timedOut, .unreachable, .failed, .malformed(.protocolError): true
    default: false
    }
  }
}
